"""A depot: small, with rules, timestamps and rows that refer to each other."""

from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

from fastapi import FastAPI, HTTPException, Query
from pydantic import BaseModel, Field
from sqlalchemy import create_engine, text

engine = create_engine("sqlite:///depot.db")
app = FastAPI(title="depot")


class Move(BaseModel):
    part_id: int = Field(description="Which part")
    shelf_id: int = Field(description="Where it goes")


class Order(BaseModel):
    part_id: int = Field(description="Which part")
    quantity: int = Field(ge=1, description="How many")
    days: int = Field(14, ge=1, le=60, description="In how many days it is due")
    status: Literal["open", "urgent"] = Field("open", description="How pressing it is")


class Cancellation(BaseModel):
    order_id: int = Field(description="Which order")


class Note(BaseModel):
    part_id: int = Field(description="Which part")
    note: str = Field(description="What to write there")


def rows(query: str, **values: Any) -> list[dict[str, Any]]:
    with engine.connect() as connection:
        return [dict(row) for row in connection.execute(text(query), values).mappings()]


def write(query: str, missing: str, **values: Any) -> None:
    """Run a statement that must change a row."""
    with engine.begin() as connection:
        if not connection.execute(text(query), values).rowcount:
            raise HTTPException(404, missing)


@app.get("/shelves", operation_id="list_shelves", description="All shelves.")
def list_shelves() -> list[dict[str, Any]]:
    return rows("SELECT * FROM shelves ORDER BY id")


@app.get("/parts", operation_id="list_parts", description="All parts, or those on one shelf.")
def list_parts(shelf_id: Annotated[int | None, Query(description="Only this shelf")] = None) -> list[dict[str, Any]]:
    return rows("SELECT * FROM parts WHERE :shelf IS NULL OR shelf_id = :shelf ORDER BY id", shelf=shelf_id)


@app.get("/orders", operation_id="list_orders", description="All orders.")
def list_orders() -> list[dict[str, Any]]:
    return rows("SELECT * FROM orders ORDER BY id")


@app.post("/moves", operation_id="move_part", description="Put a part on another shelf.")
def move_part(move: Move) -> dict[str, Any]:
    if not rows("SELECT 1 FROM shelves WHERE id = :id", id=move.shelf_id):
        raise HTTPException(404, f"there is no shelf {move.shelf_id}")
    query = "UPDATE parts SET shelf_id = :shelf WHERE id = :part AND shelf_id != :shelf"
    write(query, "the part is not there, or lies on that shelf already", shelf=move.shelf_id, part=move.part_id)
    return {"moved": move.part_id}


@app.post("/orders", operation_id="order_part", description="Order more of a part.")
def order_part(order: Order) -> dict[str, Any]:
    if not rows("SELECT 1 FROM parts WHERE id = :id", id=order.part_id):
        raise HTTPException(404, f"there is no part {order.part_id}")
    now = datetime.now().replace(microsecond=0)
    values = {
        "part": order.part_id,
        "quantity": order.quantity,
        "status": order.status,
        "now": now.isoformat(),
        "due": (now + timedelta(days=order.days)).isoformat(),
    }
    query = (
        "INSERT INTO orders (part_id, quantity, status, placed_at, due_at) "
        "VALUES (:part, :quantity, :status, :now, :due) RETURNING id"
    )
    with engine.begin() as connection:
        return {"order_id": connection.execute(text(query), values).scalar()}


@app.post("/cancellations", operation_id="cancel_order", description="Cancel an order that is not cancelled yet.")
def cancel_order(cancellation: Cancellation) -> dict[str, Any]:
    query = "UPDATE orders SET status = 'cancelled' WHERE id = :id AND status != 'cancelled'"
    write(query, "there is no such order to cancel", id=cancellation.order_id)
    return {"cancelled": cancellation.order_id}


@app.post("/notes", operation_id="set_note", description="Write a note on a part.")
def set_note(note: Note) -> dict[str, Any]:
    write("UPDATE parts SET note = :note WHERE id = :id", "there is no such part", note=note.note, id=note.part_id)
    return {"noted": note.part_id}
