"""A desk that lends things: people, shelves, and things that are on a shelf or with somebody.

The smallest office that still asks for some thought: seven tools, three tables. Names are looked up, numbers
are passed on.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, NoReturn

from fastapi import Body, FastAPI, HTTPException, Query
from sqlalchemy import Connection, create_engine, text

engine = create_engine("sqlite:///world.db")
app = FastAPI(title="The desk")

Record = dict[str, Any]
Name = Annotated[str, Query(description="The name, as it is written.", min_length=1)]
Number = Annotated[int, Body(description="A number, as the finding tools show it.", embed=True)]


@contextmanager
def transaction() -> Iterator[Connection]:
    with engine.begin() as db:
        yield db


def refuse(reason: str, status: int = 409) -> NoReturn:
    raise HTTPException(status, reason)


def find(db: Connection, what: str, sql: str, **values: Any) -> Record:
    found = db.execute(text(sql), values).mappings().first()
    return dict(found) if found else refuse(f"no such {what}", 404)


def find_by_number(db: Connection, thing: int) -> Record:
    return find(db, "thing", "SELECT * FROM things WHERE id = :id", id=thing)


# ---------------------------------------------------------------- reads


@app.get("/person", operation_id="find_person")
def find_person(name: Name) -> Record:
    """A person's number."""
    with transaction() as db:
        return find(db, "person", "SELECT id AS person FROM people WHERE name = :name", name=name)


@app.get("/thing", operation_id="find_thing")
def find_thing(name: Name) -> Record:
    """A thing's number, its shelf's, and its holder's."""
    with transaction() as db:
        shown = "SELECT id AS thing, shelf_id AS shelf, holder_id AS holder FROM things WHERE name = :name"
        return find(db, "thing", shown, name=name)


@app.get("/shelf", operation_id="find_shelf")
def find_shelf(name: Name) -> Record:
    """A shelf's number."""
    with transaction() as db:
        return find(db, "shelf", "SELECT id AS shelf FROM shelves WHERE name = :name", name=name)


@app.get("/name", operation_id="get_name")
def get_name(person: Annotated[int, Query(description="The person's number.")]) -> Record:
    """A person's name."""
    with transaction() as db:
        return find(db, "person", "SELECT name FROM people WHERE id = :id", id=person)


# ---------------------------------------------------------------- writes


@app.post("/lend", operation_id="lend")
def lend(thing: Number, person: Number) -> Record:
    """Lend a thing that nobody has."""
    with transaction() as db:
        find(db, "person", "SELECT id FROM people WHERE id = :id", id=person)
        if find_by_number(db, thing)["holder_id"] is not None:
            refuse("somebody has it")
        db.execute(
            text("UPDATE things SET holder_id = :person WHERE id = :id"), {"person": person, "id": thing}
        )
    return {"ok": True}


@app.post("/take_back", operation_id="take_back")
def take_back(thing: Number) -> Record:
    """Take back a thing that somebody has."""
    with transaction() as db:
        if find_by_number(db, thing)["holder_id"] is None:
            refuse("nobody has it")
        db.execute(text("UPDATE things SET holder_id = NULL WHERE id = :id"), {"id": thing})
    return {"ok": True}


@app.post("/move", operation_id="move")
def move(thing: Number, shelf: Number) -> Record:
    """Give a thing another shelf."""
    with transaction() as db:
        find_by_number(db, thing)
        find(db, "shelf", "SELECT id FROM shelves WHERE id = :id", id=shelf)
        db.execute(text("UPDATE things SET shelf_id = :shelf WHERE id = :id"), {"shelf": shelf, "id": thing})
    return {"ok": True}
