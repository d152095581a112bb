"""The app of the toy world: one tool for each way in which a tool can behave."""

import asyncio
import os
import random
import secrets
import signal
import sqlite3
import time
import uuid
from datetime import date, datetime
from typing import Annotated, Any, Literal

from fastapi import BackgroundTasks, Body, Depends, FastAPI, HTTPException, Query, Response
from pydantic import BaseModel, Field
from sqlalchemy import DateTime, ForeignKey, create_engine, func, select, text
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, sessionmaker

engine = create_engine("sqlite:///somewhere/else.db", connect_args={"check_same_thread": False})
SessionLocal = sessionmaker(bind=engine)
app = FastAPI()

IN_SQLITE = (
    "random()",
    "hex(randomblob(8))",
    "CURRENT_TIMESTAMP",
    "CURRENT_DATE",
    "CURRENT_TIME",
    "datetime('now', '-1 day')",
    "date()",
    "time('now')",
    "strftime('%s', 'now')",
    "julianday('now')",
)
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"

imported_at = datetime.now()
shared_dice = random.Random()
bumps = 0


class Base(DeclarativeBase):
    pass


class Note(Base):
    __tablename__ = "notes"
    id: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str]
    made_at: Mapped[str | None] = mapped_column(server_default=func.current_timestamp())


class Stamp(Base):
    __tablename__ = "stamps"
    id: Mapped[int] = mapped_column(primary_key=True)
    source: Mapped[str]
    value: Mapped[str | None]


class Tag(Base):
    """A table that only the app knows of: `create_all` adds it."""

    __tablename__ = "tags"
    id: Mapped[int] = mapped_column(primary_key=True)
    note_id: Mapped[int] = mapped_column(ForeignKey("notes.id"))
    name: Mapped[str]
    made_at: Mapped[datetime] = mapped_column(DateTime, default=func.now())


Base.metadata.create_all(engine)


class NewNote(BaseModel):
    text: str = Field(min_length=1, description="What to remember")
    tags: list[str] = []


class Branch(BaseModel):
    name: str
    color: Literal["red", "green"] = "red"
    branches: list["Branch"] = []


def get_session() -> Any:
    session = SessionLocal()
    try:
        yield session
    finally:
        session.close()


Database = Annotated[Session, Depends(get_session)]


@app.get("/notes", operation_id="list_notes", summary="List notes", description="All of them, oldest first.")
async def list_notes(limit: Annotated[int | None, Query(ge=1)] = None) -> list[dict[str, Any]]:
    with SessionLocal() as session:
        notes = session.scalars(select(Note).order_by(Note.id).limit(limit)).all()
        return [{"id": note.id, "text": note.text} for note in notes]


@app.post("/notes", operation_id="add_note")
async def add_note(note: NewNote, session: Database) -> dict[str, int]:
    row = Note(text=note.text)
    session.add(row)
    session.flush()
    session.add_all(Tag(note_id=row.id, name=name) for name in note.tags)
    session.commit()
    return {"id": row.id}


@app.get("/notes/{id}", operation_id="read_note")
def read_note(id: int, session: Database) -> dict[str, Any]:
    note = session.get(Note, id)
    if note is None:
        raise HTTPException(404, f"there is no note {id}")
    return {"id": note.id, "text": note.text}


@app.patch("/notes/{id}", operation_id="rewrite_note")
def rewrite_note(id: int, note: NewNote, shout: bool = False) -> dict[str, Any]:
    with SessionLocal.begin() as session:
        session.get_one(Note, id).text = note.text.upper() if shout else note.text
    return {"id": id, "shout": shout}


@app.post("/notes/batch", operation_id="add_notes")
def add_notes(notes: list[NewNote]) -> int:
    with SessionLocal.begin() as session:
        session.add_all(Note(text=note.text) for note in notes)
    return len(notes)


@app.post("/tree", operation_id="draw_tree")
def draw_tree(root: Branch, season: Literal["summer", "winter"] = "summer") -> str:
    return f"{root.name} ({root.color}) with {len(root.branches)} branches in {season}"


@app.get("/now", operation_id="tell_time")
def tell_time() -> dict[str, str]:
    with SessionLocal() as session:
        in_sqlite = session.execute(text("SELECT CURRENT_TIMESTAMP")).scalar_one()
    return {"import": imported_at.isoformat(), "python": datetime.now().isoformat(), "sqlite": in_sqlite}


@app.post("/stamps", operation_id="stamp")
def stamp() -> None:
    """Write down the time and a random value from every source there is."""
    random.seed()
    values: dict[str, Any] = {
        "datetime.now": datetime.now(),
        "datetime.utcnow": datetime.utcnow(),  # pyright: ignore[reportDeprecated] - worlds use it
        "date.today": date.today(),
        "time.time": time.time(),
        "random, seeded anew": random.random(),
        "random.Random": random.Random().random(),
        "older random.Random": shared_dice.random(),
        "random.SystemRandom": random.SystemRandom().random(),
        "secrets": secrets.token_hex(8),
        "uuid1": uuid.uuid1(),
        "uuid4": uuid.uuid4(),
        "urandom": os.urandom(8).hex(),
        "set order": list({"apple", "pear", "plum", "fig"}),
    }
    with SessionLocal.begin() as session:
        session.add_all(Stamp(source=source, value=str(value)) for source, value in values.items())
        for expression in IN_SQLITE:
            insert = text(f"INSERT INTO stamps (source, value) VALUES (:source, {expression})")
            session.execute(insert, {"source": expression})


@app.post("/bump", operation_id="bump")
def bump() -> int:
    global bumps
    bumps += 1
    return bumps


@app.get("/raw", operation_id="count_raw")
def count_raw() -> int:
    connection = sqlite3.connect("anything.db")
    return int(connection.execute("SELECT count(*) FROM notes").fetchone()[0])


@app.post("/crash", operation_id="fall_over")
def fall_over() -> None:
    raise RuntimeError("the shelf fell over")


@app.post("/leak", operation_id="leak_session")
def leak_session() -> None:
    session = SessionLocal()
    session.add(Note(text="never committed"))
    session.flush()
    raise RuntimeError("and nobody closes the session")


@app.post("/exit", operation_id="exit_process")
def exit_process(how: Literal["sys.exit", "os._exit"]) -> None:
    if how == "sys.exit":
        raise SystemExit(3)
    os._exit(3)


@app.post("/wait", operation_id="wait")
async def wait(how: Literal["spin", "sleep", "await", "sql", "stubborn", "deaf"]) -> None:
    if how == "deaf":
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    if how == "sleep":
        time.sleep(3600)
    if how == "await":
        await asyncio.sleep(3600)
    if how == "sql":
        with SessionLocal() as session:
            session.execute(text(ENDLESS))
    while True:
        try:
            while True:
                pass
        except BaseException:
            if how != "stubborn":
                raise


@app.get("/recite", operation_id="recite")
def recite(length: int) -> str:
    return "x" * length


@app.get("/picture", operation_id="picture")
def picture() -> Response:
    return Response(b"\x89PNG\xff\xfe", media_type="image/png")


@app.get("/poem", operation_id="poem")
def poem() -> Response:
    return Response("roses are red", media_type="text/plain")


@app.post("/later", operation_id="add_note_later")
def add_note_later(text: Annotated[str, Body(embed=True)], tasks: BackgroundTasks) -> str:
    def add() -> None:
        with SessionLocal.begin() as session:
            session.add(Note(text=text))

    tasks.add_task(add)
    return "soon"


@app.get("/twins", operation_id="elder_twin")
def elder_twin() -> str:
    return "elder"


@app.get("/twins", operation_id="younger_twin")
def younger_twin() -> str:
    return "younger"


@app.get("/done", operation_id="done")
def done() -> str:
    return "a tool by this name is left out"


@app.get("/recite/again", operation_id="recite")
def recite_again() -> str:
    return "a second tool of the same name is left out"


if __name__ == "__main__":
    import uvicorn

    uvicorn.run(app)
