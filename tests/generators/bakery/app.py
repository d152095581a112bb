"""The world that the tests of generation play in."""

from typing import Annotated, Any

from fastapi import FastAPI, HTTPException, Query
from sqlalchemy import create_engine, text

engine = create_engine("sqlite:///bakery.db")
app = FastAPI(title="bakery")


@app.get("/customers", operation_id="search_customers", description="Customers by name.")
def search_customers(query: Annotated[str, Query(description="Part of the name")]) -> list[dict[str, Any]]:
    sql = "SELECT id AS customer_id, name, since FROM customers WHERE name LIKE '%' || :query || '%' ORDER BY id"
    with engine.connect() as db:
        return [dict(row) for row in db.execute(text(sql), {"query": query}).mappings()]


@app.get("/orders", operation_id="list_orders", description="A customer's orders.")
def list_orders(customer_id: Annotated[int, Query(description="Whose")]) -> list[dict[str, Any]]:
    sql = 'SELECT id AS order_id, "order" AS bread, loaves, cancelled FROM orders WHERE customer_id = :id ORDER BY id'
    with engine.connect() as db:
        return [dict(row) for row in db.execute(text(sql), {"id": customer_id}).mappings()]


@app.post("/orders/{order_id}/cancellation", operation_id="cancel_order", description="Cancel an order.")
def cancel_order(order_id: int) -> dict[str, Any]:
    with engine.begin() as db:
        changed = db.execute(text("UPDATE orders SET cancelled = 1 WHERE id = :id AND cancelled = 0"), {"id": order_id})
        if not changed.rowcount:
            raise HTTPException(409, "there is no such order, or it was cancelled")
    return {"order_id": order_id, "cancelled": 1}
