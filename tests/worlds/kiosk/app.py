"""The world that the tests play in: a few tools that work, and one for each way to go wrong."""

import os
import time
from typing import Annotated, Any

from fastapi import FastAPI, HTTPException, Query
from pydantic import BaseModel, Field
from sqlalchemy import create_engine, text

engine = create_engine("sqlite:///kiosk.db")
app = FastAPI(title="kiosk")


class Sale(BaseModel):
    good_id: int = Field(description="Which good")
    quantity: int = Field(1, ge=1, description="How many")


@app.get("/goods", operation_id="list_goods", description="All goods with price and stock.")
def list_goods(at_most_cents: Annotated[int | None, Query(description="Highest price")] = None) -> list[dict[str, Any]]:
    query = "SELECT id, name, price_cents, stock FROM goods WHERE price_cents <= :most ORDER BY id"
    with engine.connect() as connection:
        return [dict(row) for row in connection.execute(text(query), {"most": at_most_cents or 1_000_000}).mappings()]


@app.post("/sales", operation_id="sell", description="Sell a good. Refuses what is out of stock.")
def sell(sale: Sale) -> dict[str, Any]:
    with engine.begin() as connection:
        stock = connection.execute(text("SELECT stock FROM goods WHERE id = :id"), {"id": sale.good_id}).scalar()
        if stock is None:
            raise HTTPException(404, f"there is no good {sale.good_id}")
        if stock < sale.quantity:
            raise HTTPException(409, f"only {stock} left")
        connection.execute(
            text("UPDATE goods SET stock = stock - :quantity WHERE id = :id"),
            {"quantity": sale.quantity, "id": sale.good_id},
        )
        sold = connection.execute(
            text("INSERT INTO sales (good_id, quantity) VALUES (:id, :quantity) RETURNING id"),
            {"quantity": sale.quantity, "id": sale.good_id},
        ).scalar()
    return {"sale_id": sold}


@app.get("/price/{good_id}", operation_id="get_price", description="Price of a good in cents.")
async def get_price(good_id: int) -> int:
    with engine.connect() as connection:
        return int(connection.execute(text("SELECT price_cents FROM goods WHERE id = :id"), {"id": good_id}).scalar_one())


@app.post("/bug", operation_id="trip", description="Raises.")
def trip() -> None:
    raise RuntimeError("tripped")


@app.get("/novel", operation_id="recite", description="Answers with a long text.")
def recite(characters: int = 200_000) -> str:
    return "x" * characters


@app.post("/nap", operation_id="nap", description="Sleeps.")
def nap(seconds: float) -> str:
    time.sleep(seconds)
    return "awake"


@app.post("/crash", operation_id="crash", description="Ends the process.")
def crash() -> None:
    os._exit(1)
