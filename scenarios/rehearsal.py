"""A tiny world of our own, played once in the zygote: every fork inherits what first use initialises."""

import asyncio
from typing import Annotated, Any

import sqlalchemy
from fastapi import Body, FastAPI, Path, Query
from pydantic import BaseModel, Field
from sqlalchemy import ForeignKey, func, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship

from .exchange import read_response, request
from .toolset import endpoints_of


class _Base(DeclarativeBase):
    pass


class _Shelf(_Base):
    __tablename__ = "shelves"
    id: Mapped[int] = mapped_column(primary_key=True)
    items: Mapped[list["_Item"]] = relationship(back_populates="shelf")


class _Item(_Base):
    __tablename__ = "items"
    id: Mapped[int] = mapped_column(primary_key=True)
    shelf_id: Mapped[int] = mapped_column(ForeignKey("shelves.id"))
    name: Mapped[str]
    shelf: Mapped[_Shelf] = relationship(back_populates="items")


class _NewItem(BaseModel):
    name: str = Field(description="Name of the item")
    tags: list[str] = []


class _Stored(BaseModel):
    shelf: int
    names: list[str]
    count: int


def rehearse() -> None:
    """Create a database in memory, store two items through an app, and list the tools."""
    app = FastAPI()
    engine = sqlalchemy.create_engine("sqlite:///rehearsal.db")
    _Base.metadata.create_all(engine)

    @app.post("/shelves/{shelf}/items", operation_id="add_item")
    async def add_item(
        shelf: Annotated[int, Path()],
        item: Annotated[_NewItem, Body()],
        note: Annotated[str | None, Query()] = None,
    ) -> _Stored:
        with Session(engine) as session, session.begin():
            owner = session.get(_Shelf, shelf) or _Shelf(id=shelf)
            owner.items.append(_Item(name=item.name))
            session.add(owner)
            session.flush()
            names = session.scalars(select(_Item.name).where(_Item.name.like("%s%")).order_by(_Item.id)).all()
            count = session.execute(select(func.count(_Item.id))).scalar_one()
            session.query(_Item).filter(_Item.shelf_id == shelf).order_by(_Item.name.desc()).limit(3).all()
        return _Stored(shelf=shelf, names=[*names, note or ""], count=count)

    endpoints, _, _ = endpoints_of(app, "rehearsal")
    loop = asyncio.new_event_loop()
    for name in ("first", "second"):
        arguments: dict[str, Any] = {"shelf": 1, "name": name, "note": "x"}
        read_response(loop.run_until_complete(request(app, endpoints["add_item"], arguments, {})))
    loop.close()
