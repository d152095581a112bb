"""The warehouses: goods are ordered, received into bins, moved, picked, counted and written off.

Reading order: the rules of the house, the tables, the plumbing, what the tools are given and show, the
rules at work, then the tools themselves, reads before writes. The database counts cents, the tools speak
of euros.
"""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any, Literal, NoReturn, TypeAlias, TypeVar

from fastapi import Body, FastAPI, HTTPException, Path, Query
from pydantic import Field
from sqlalchemy import ColumnElement, ForeignKey, Select, and_, create_engine, event, func, or_, select
from sqlalchemy.orm import (
    DeclarativeBase,
    InstrumentedAttribute,
    Mapped,
    Session,
    mapped_column,
    relationship,
    sessionmaker,
)

# ---------------------------------------------------------------- the rules of the house

MOST_DAYS_AHEAD = 120

# ---------------------------------------------------------------- tables


class Table(DeclarativeBase):
    """What all tables share: an integer key."""

    id: Mapped[int] = mapped_column(primary_key=True)


class Policy(Table):
    __tablename__ = "policy"
    section: Mapped[str]
    text: Mapped[str]


class Site(Table):
    __tablename__ = "sites"
    name: Mapped[str]
    town: Mapped[str]


class Worker(Table):
    __tablename__ = "staff"
    name: Mapped[str]
    role: Mapped[str]
    site_id: Mapped[int] = mapped_column(ForeignKey("sites.id"))
    site: Mapped[Site] = relationship(lazy="joined", innerjoin=True)


class Bin(Table):
    __tablename__ = "bins"
    site_id: Mapped[int] = mapped_column(ForeignKey("sites.id"))
    code: Mapped[str]
    zone: Mapped[str]
    capacity: Mapped[int]
    site: Mapped[Site] = relationship(lazy="joined", innerjoin=True)


class Supplier(Table):
    __tablename__ = "suppliers"
    name: Mapped[str]
    email: Mapped[str]
    lead_days: Mapped[int]
    on_hold: Mapped[bool]


class Item(Table):
    __tablename__ = "items"
    sku: Mapped[str]
    name: Mapped[str]
    storage: Mapped[str]
    unit_cost_cents: Mapped[int]
    reorder_point: Mapped[int]
    reorder_quantity: Mapped[int]
    supplier_id: Mapped[int] = mapped_column(ForeignKey("suppliers.id"))
    discontinued: Mapped[bool]
    supplier: Mapped[Supplier] = relationship(lazy="joined", innerjoin=True)


class Stock(Table):
    __tablename__ = "stock"
    bin_id: Mapped[int] = mapped_column(ForeignKey("bins.id"))
    item_id: Mapped[int] = mapped_column(ForeignKey("items.id"))
    quantity: Mapped[int]
    bin: Mapped[Bin] = relationship(lazy="joined", innerjoin=True)
    item: Mapped[Item] = relationship(lazy="joined", innerjoin=True)


class PurchaseOrder(Table):
    __tablename__ = "purchase_orders"
    number: Mapped[str]
    supplier_id: Mapped[int] = mapped_column(ForeignKey("suppliers.id"))
    site_id: Mapped[int] = mapped_column(ForeignKey("sites.id"))
    status: Mapped[str] = mapped_column(default="draft")
    created_on: Mapped[date]
    expected_on: Mapped[date | None]
    supplier: Mapped[Supplier] = relationship(lazy="joined", innerjoin=True)
    site: Mapped[Site] = relationship(lazy="joined", innerjoin=True)
    lines: Mapped[list["OrderLine"]] = relationship(back_populates="order", order_by="OrderLine.id")


class OrderLine(Table):
    __tablename__ = "order_lines"
    purchase_order_id: Mapped[int] = mapped_column(ForeignKey("purchase_orders.id"))
    item_id: Mapped[int] = mapped_column(ForeignKey("items.id"))
    quantity: Mapped[int]
    received: Mapped[int] = mapped_column(default=0)
    order: Mapped[PurchaseOrder] = relationship(back_populates="lines")
    item: Mapped[Item] = relationship(lazy="joined", innerjoin=True)


class Receipt(Table):
    __tablename__ = "receipts"
    order_line_id: Mapped[int] = mapped_column(ForeignKey("order_lines.id"))
    bin_id: Mapped[int] = mapped_column(ForeignKey("bins.id"))
    quantity: Mapped[int]
    received_at: Mapped[str]
    line: Mapped[OrderLine] = relationship()
    bin: Mapped[Bin] = relationship()


class Transfer(Table):
    __tablename__ = "transfers"
    number: Mapped[str]
    item_id: Mapped[int] = mapped_column(ForeignKey("items.id"))
    quantity: Mapped[int]
    from_bin_id: Mapped[int] = mapped_column(ForeignKey("bins.id"))
    to_site_id: Mapped[int] = mapped_column(ForeignKey("sites.id"))
    status: Mapped[str] = mapped_column(default="requested")
    requested_on: Mapped[date]
    item: Mapped[Item] = relationship(lazy="joined", innerjoin=True)
    from_bin: Mapped[Bin] = relationship(lazy="joined", innerjoin=True)
    to_site: Mapped[Site] = relationship(lazy="joined", innerjoin=True)


class CustomerOrder(Table):
    __tablename__ = "customer_orders"
    number: Mapped[str]
    customer: Mapped[str]
    site_id: Mapped[int] = mapped_column(ForeignKey("sites.id"))
    due_on: Mapped[date]
    status: Mapped[str] = mapped_column(default="open")
    site: Mapped[Site] = relationship(lazy="joined", innerjoin=True)
    lines: Mapped[list["PickLine"]] = relationship(back_populates="order", order_by="PickLine.id")


class PickLine(Table):
    __tablename__ = "pick_lines"
    customer_order_id: Mapped[int] = mapped_column(ForeignKey("customer_orders.id"))
    item_id: Mapped[int] = mapped_column(ForeignKey("items.id"))
    quantity: Mapped[int]
    picked: Mapped[int] = mapped_column(default=0)
    order: Mapped[CustomerOrder] = relationship(back_populates="lines")
    item: Mapped[Item] = relationship(lazy="joined", innerjoin=True)


class Count(Table):
    __tablename__ = "counts"
    bin_id: Mapped[int] = mapped_column(ForeignKey("bins.id"))
    item_id: Mapped[int] = mapped_column(ForeignKey("items.id"))
    booked: Mapped[int]
    counted: Mapped[int]
    counted_by_id: Mapped[int] = mapped_column(ForeignKey("staff.id"))
    counted_on: Mapped[date]
    status: Mapped[str] = mapped_column(default="open")
    bin: Mapped[Bin] = relationship(lazy="joined", innerjoin=True)
    item: Mapped[Item] = relationship(lazy="joined", innerjoin=True)
    counted_by: Mapped[Worker] = relationship(lazy="joined", innerjoin=True)


class WriteOff(Table):
    __tablename__ = "write_offs"
    number: Mapped[str]
    bin_id: Mapped[int] = mapped_column(ForeignKey("bins.id"))
    item_id: Mapped[int] = mapped_column(ForeignKey("items.id"))
    quantity: Mapped[int]
    reason: Mapped[str]
    value_cents: Mapped[int]
    requested_by_id: Mapped[int] = mapped_column(ForeignKey("staff.id"))
    approved_by_id: Mapped[int | None] = mapped_column(ForeignKey("staff.id"))
    status: Mapped[str] = mapped_column(default="requested")
    requested_on: Mapped[date]
    bin: Mapped[Bin] = relationship(lazy="joined", innerjoin=True)
    item: Mapped[Item] = relationship(lazy="joined", innerjoin=True)
    requested_by: Mapped[Worker] = relationship(foreign_keys=[requested_by_id], lazy="joined", innerjoin=True)
    approved_by: Mapped[Worker | None] = relationship(foreign_keys=[approved_by_id], lazy="joined")


# ---------------------------------------------------------------- plumbing

Record: TypeAlias = dict[str, Any]
Row = TypeVar("Row", bound=Table)

app = FastAPI(title="Fenwick & Hale Warehousing")
engine = create_engine("sqlite:///world.db")
transaction = sessionmaker(engine).begin


@event.listens_for(engine, "connect")
def enforce_foreign_keys(connection: Any, _record: Any) -> None:
    connection.execute("PRAGMA foreign_keys=ON")


def refuse(reason: str, status: int = 409) -> NoReturn:
    """Answer with an error. The open transaction is rolled back."""
    raise HTTPException(status, reason)


def find(db: Session, table: type[Row], key: int) -> Row:
    return db.get(table, key) or refuse(
        f"No {plain(table.__tablename__)} with id {key}: look it up first.", 404
    )


def save(db: Session, row: Row) -> Row:
    """Add a new row and give it its id."""
    db.add(row)
    db.flush()
    return row


def next_number(db: Session, table: type[Row], series: str) -> str:
    """The number that papers carry: the series and the id that the row will get."""
    return f"{series}-{(db.scalar(select(func.max(table.id))) or 0) + 1}"


def page(db: Session, query: Select[Row], show: Callable[[Row], Record], limit: int) -> Record:
    """Show the first results and say how many there are in all."""
    total = db.scalar(select(func.count()).select_from(query.order_by(None).subquery()))
    return {"total": total, "results": [show(row) for row in db.scalars(query.limit(limit))]}


def narrow(query: Select[Row], *wanted: tuple[InstrumentedAttribute[Any], Any]) -> Select[Row]:
    """Keep the rows whose columns have the wanted values. None means that any value will do."""
    return query.where(*(column == value for column, value in wanted if value is not None))


def mentions(text: str, *columns: InstrumentedAttribute[str]) -> ColumnElement[bool]:
    """Every word occurs in at least one of the columns."""
    return and_(
        True,
        *(or_(*(column.icontains(word, autoescape=True) for column in columns)) for word in text.split()),
    )


def plain(name: str) -> str:
    return name.replace("_", " ")


def now() -> datetime:
    return datetime.now(UTC)


def today() -> date:
    return now().date()


def euros(cents: int) -> float:
    return cents / 100


# ---------------------------------------------------------------- what the tools are given

Id: TypeAlias = Annotated[int, Field(ge=1, le=2**31)]
ItemId: TypeAlias = Annotated[Id, Path(description="The item's id, from search_items.")]
OrderId: TypeAlias = Annotated[Id, Path(description="The purchase order's id, from list_purchase_orders.")]
OrderLineId: TypeAlias = Annotated[Id, Path(description="The line's id, from get_purchase_order.")]
CustomerOrderId: TypeAlias = Annotated[
    Id, Path(description="The customer order's id, from list_customer_orders.")
]
PickLineId: TypeAlias = Annotated[Id, Path(description="The line's id, from get_customer_order.")]
TransferId: TypeAlias = Annotated[Id, Path(description="The transfer's id, from list_transfers.")]
CountId: TypeAlias = Annotated[Id, Path(description="The count's id, from list_counts.")]
WriteOffId: TypeAlias = Annotated[Id, Path(description="The write-off's id, from list_write_offs.")]
Limit: TypeAlias = Annotated[int, Query(ge=1, le=50, description="How many results to show at most.")]
SiteFilter: TypeAlias = Annotated[Id | None, Query(description="Only at this site, from list_sites.")]
ItemFilter: TypeAlias = Annotated[Id | None, Query(description="Only this item, from search_items.")]
NumberFilter: TypeAlias = Annotated[str | None, Query(description="Only the one with this number.")]
Zone: TypeAlias = Literal["ambient", "cold", "hazardous", "quarantine"]
Quantity: TypeAlias = Annotated[int, Field(ge=1, le=100_000)]


def given(description: str, **limits: Any) -> Any:
    """Describe one field of a request's body."""
    return Body(embed=True, description=description, **limits)


# ---------------------------------------------------------------- what the tools show


def show_site(site: Site) -> Record:
    return {"site_id": site.id, "name": site.name, "town": site.town}


def show_worker(worker: Worker) -> Record:
    return {"staff_id": worker.id, "name": worker.name, "role": worker.role, "site": worker.site.name}


def show_supplier(supplier: Supplier) -> Record:
    return {
        "supplier_id": supplier.id,
        "name": supplier.name,
        "email": supplier.email,
        "lead_days": supplier.lead_days,
        "on_hold": supplier.on_hold,
    }


def show_item(item: Item) -> Record:
    return {
        "item_id": item.id,
        "sku": item.sku,
        "name": item.name,
        "storage": item.storage,
        "unit_cost": euros(item.unit_cost_cents),
        "reorder_point": item.reorder_point,
        "reorder_quantity": item.reorder_quantity,
        "supplier_id": item.supplier_id,
        "supplier": item.supplier.name,
        "discontinued": item.discontinued,
    }


def show_stock(stock: Stock) -> Record:
    return {
        "item_id": stock.item_id,
        "item": stock.item.name,
        "bin_id": stock.bin_id,
        "bin": stock.bin.code,
        "zone": stock.bin.zone,
        "site_id": stock.bin.site_id,
        "site": stock.bin.site.name,
        "quantity": stock.quantity,
    }


def show_order(order: PurchaseOrder) -> Record:
    return {
        "purchase_order_id": order.id,
        "number": order.number,
        "supplier_id": order.supplier_id,
        "supplier": order.supplier.name,
        "site_id": order.site_id,
        "site": order.site.name,
        "status": order.status,
        "created_on": order.created_on,
        "expected_on": order.expected_on,
    }


def show_order_line(line: OrderLine) -> Record:
    return {
        "line_id": line.id,
        "item_id": line.item_id,
        "item": line.item.name,
        "quantity": line.quantity,
        "received": line.received,
    }


def show_whole_order(order: PurchaseOrder) -> Record:
    return {**show_order(order), "lines": [show_order_line(line) for line in order.lines]}


def show_customer_order(order: CustomerOrder) -> Record:
    return {
        "customer_order_id": order.id,
        "number": order.number,
        "customer": order.customer,
        "site_id": order.site_id,
        "site": order.site.name,
        "due_on": order.due_on,
        "status": order.status,
    }


def show_pick_line(line: PickLine) -> Record:
    return {
        "line_id": line.id,
        "item_id": line.item_id,
        "item": line.item.name,
        "quantity": line.quantity,
        "picked": line.picked,
    }


def show_transfer(transfer: Transfer) -> Record:
    return {
        "transfer_id": transfer.id,
        "number": transfer.number,
        "item": transfer.item.name,
        "quantity": transfer.quantity,
        "from_site": transfer.from_bin.site.name,
        "from_bin": transfer.from_bin.code,
        "to_site_id": transfer.to_site_id,
        "to_site": transfer.to_site.name,
        "status": transfer.status,
        "requested_on": transfer.requested_on,
    }


def show_count(count: Count) -> Record:
    return {
        "count_id": count.id,
        "item": count.item.name,
        "bin": count.bin.code,
        "site": count.bin.site.name,
        "booked": count.booked,
        "counted": count.counted,
        "counted_by": count.counted_by.name,
        "counted_on": count.counted_on,
        "status": count.status,
    }


def show_write_off(write_off: WriteOff) -> Record:
    return {
        "write_off_id": write_off.id,
        "number": write_off.number,
        "item": write_off.item.name,
        "bin": write_off.bin.code,
        "site_id": write_off.bin.site_id,
        "site": write_off.bin.site.name,
        "quantity": write_off.quantity,
        "reason": write_off.reason,
        "value": euros(write_off.value_cents),
        "requested_by": write_off.requested_by.name,
        "approved_by": write_off.approved_by.name if write_off.approved_by else None,
        "status": write_off.status,
        "requested_on": write_off.requested_on,
    }


# ---------------------------------------------------------------- the rules at work


def on_order(item: Item) -> Select[Any]:
    """How much of an item is still to come on orders that were sent."""
    missing = select(func.coalesce(func.sum(OrderLine.quantity - OrderLine.received), 0))
    return missing.join(OrderLine.order).where(OrderLine.item_id == item.id, PurchaseOrder.status == "sent")


def filled(db: Session, place: Bin) -> int:
    held = select(func.coalesce(func.sum(Stock.quantity), 0)).where(Stock.bin_id == place.id)
    return db.scalars(held).one()


def stock_of(db: Session, place: Bin, item: Item) -> Stock | None:
    return db.scalars(select(Stock).where(Stock.bin_id == place.id, Stock.item_id == item.id)).first()


def require_fit(db: Session, place: Bin, item: Item, quantity: int) -> None:
    if place.zone not in (item.storage, "quarantine"):
        refuse(f"{item.name} needs {item.storage} storage; bin {place.code} is {place.zone}. See list_bins.")
    if (room := place.capacity - filled(db, place)) < quantity:
        refuse(f"Bin {place.code} has room for {room} more, not {quantity}. See list_bins for free room.")


def put(db: Session, place: Bin, item: Item, quantity: int) -> None:
    """Put units into a bin. Refuses bins of the wrong zone and bins that are too full."""
    require_fit(db, place, item, quantity)
    if stock := stock_of(db, place, item):
        stock.quantity += quantity
    else:
        save(db, Stock(bin=place, item=item, quantity=quantity))


def take(db: Session, place: Bin, item: Item, quantity: int) -> None:
    """Take units out of a bin. Refuses to take more than it holds."""
    stock = stock_of(db, place, item)
    held = stock.quantity if stock else 0
    if stock is None or held < quantity:
        refuse(f"Bin {place.code} holds {held} of {item.name}, not {quantity}. See list_stock.")
    if held == quantity:
        db.delete(stock)
    else:
        stock.quantity -= quantity


def require_site(place: Bin, site: Site) -> None:
    if place.site_id != site.id:
        refuse(f"Bin {place.code} is at {place.site.name}, not at {site.name}. See list_bins.")


def require_status(what: str, status: str, *allowed: str) -> None:
    if status not in allowed:
        refuse(f"{what} is {plain(status)}, not {' or '.join(map(plain, allowed))}.")


def require_trade(supplier: Supplier) -> None:
    if supplier.on_hold:
        refuse(f"{supplier.name} is on hold: nothing may be ordered there until the hold is lifted.")


# ---------------------------------------------------------------- reads


@app.get("/policy", operation_id="read_policy")
async def read_policy() -> Record:
    """Read the house rules that staff must follow, section by section; not all are enforced by the tools."""
    with transaction() as db:
        rules = db.scalars(select(Policy).order_by(Policy.id))
        return {"sections": [{"section": rule.section, "text": rule.text} for rule in rules]}


@app.get("/sites", operation_id="list_sites")
async def list_sites() -> Record:
    """List the warehouses with their ids and towns, ordered by name."""
    with transaction() as db:
        return page(db, select(Site).order_by(Site.name), show_site, limit=50)


@app.get("/staff", operation_id="list_staff")
async def list_staff(
    query: Annotated[str, Query(description="Words from the name. Leave empty for all.")] = "",
    role: Annotated[
        Literal["clerk", "supervisor", "manager"] | None, Query(description="Only in this role.")
    ] = None,
    site_id: SiteFilter = None,
    limit: Limit = 20,
) -> Record:
    """List staff by name, role and site: who they are, what they are and where they work."""
    with transaction() as db:
        found = select(Worker).where(mentions(query, Worker.name))
        found = narrow(found, (Worker.role, role), (Worker.site_id, site_id))
        return page(db, found.order_by(Worker.name, Worker.id), show_worker, limit)


@app.get("/suppliers", operation_id="search_suppliers")
async def search_suppliers(
    query: Annotated[str, Query(description="Words from the supplier's name. Leave empty for all.")] = "",
    on_hold: Annotated[bool | None, Query(description="Only suppliers that are on hold, or are not.")] = None,
    limit: Limit = 20,
) -> Record:
    """Find suppliers by name: ids, email addresses, lead times in days, and whether they are on hold."""
    with transaction() as db:
        found = narrow(select(Supplier).where(mentions(query, Supplier.name)), (Supplier.on_hold, on_hold))
        return page(db, found.order_by(Supplier.name), show_supplier, limit)


@app.get("/items", operation_id="search_items")
async def search_items(
    query: Annotated[
        str, Query(description="Words from the item's name, or its SKU. Leave empty for all.")
    ] = "",
    storage: Annotated[
        Literal["ambient", "cold", "hazardous"] | None, Query(description="Only items stored like this.")
    ] = None,
    supplier_id: Annotated[Id | None, Query(description="Only items of this supplier.")] = None,
    limit: Limit = 10,
) -> Record:
    """Find items by name, SKU, storage or supplier, ordered by name. get_item shows how much there is."""
    with transaction() as db:
        found = select(Item).where(mentions(query, Item.name, Item.sku))
        found = narrow(found, (Item.storage, storage), (Item.supplier_id, supplier_id))
        return page(db, found.order_by(Item.name), show_item, limit)


@app.get("/items/{item_id}", operation_id="get_item")
async def get_item(item_id: ItemId) -> Record:
    """Show one item: its supplier, the bins it lies in, how much is usable (outside quarantine) at all
    sites together, and how much is still to come on purchase orders that were sent."""
    with transaction() as db:
        item = find(db, Item, item_id)
        stock = db.scalars(select(Stock).where(Stock.item_id == item.id).order_by(Stock.bin_id)).all()
        return {
            **show_item(item),
            "usable": sum(one.quantity for one in stock if one.bin.zone != "quarantine"),
            "on_order": db.scalar(on_order(item)),
            "stock": [show_stock(one) for one in stock],
        }


@app.get("/bins", operation_id="list_bins")
async def list_bins(
    site_id: SiteFilter = None,
    zone: Annotated[Zone | None, Query(description="Only bins of this zone.")] = None,
    code: Annotated[str | None, Query(description="Only the bin with this code.")] = None,
    limit: Limit = 30,
) -> Record:
    """List bins by site, zone or code, ordered by code, with their capacity and free room in units."""
    with transaction() as db:
        held = select(Stock.bin_id, func.sum(Stock.quantity).label("units")).group_by(Stock.bin_id).subquery()
        found = narrow(select(Bin), (Bin.site_id, site_id), (Bin.zone, zone), (Bin.code, code))
        loads = found.add_columns(func.coalesce(held.c.units, 0)).outerjoin(held, held.c.bin_id == Bin.id)
        return {
            "results": [
                {
                    "bin_id": place.id,
                    "code": place.code,
                    "site": place.site.name,
                    "zone": place.zone,
                    "capacity": place.capacity,
                    "free": place.capacity - units,
                }
                for place, units in db.execute(loads.order_by(Bin.code).limit(limit))
            ]
        }


@app.get("/stock", operation_id="list_stock")
async def list_stock(
    site_id: SiteFilter = None,
    item_id: ItemFilter = None,
    bin_code: Annotated[str | None, Query(description="Only in the bin with this code.")] = None,
    zone: Annotated[Zone | None, Query(description="Only in bins of this zone.")] = None,
    limit: Limit = 20,
) -> Record:
    """List what lies where, by site, item, bin or zone, ordered by bin, and how many entries there are."""
    with transaction() as db:
        wanted = ((Bin.site_id, site_id), (Stock.item_id, item_id), (Bin.code, bin_code), (Bin.zone, zone))
        found = narrow(select(Stock).join(Stock.bin), *wanted)
        return page(db, found.order_by(Bin.code, Stock.id), show_stock, limit)


@app.get("/purchase-orders", operation_id="list_purchase_orders")
async def list_purchase_orders(
    number: NumberFilter = None,
    supplier_id: Annotated[Id | None, Query(description="Only to this supplier.")] = None,
    site_id: SiteFilter = None,
    status: Annotated[
        Literal["draft", "sent", "late", "received", "cancelled"] | None,
        Query(description="Only in this status. Late orders were sent, and their expected day has passed."),
    ] = None,
    limit: Limit = 20,
) -> Record:
    """List purchase orders by number, supplier, site or status, soonest expected first."""
    with transaction() as db:
        order = PurchaseOrder
        found = narrow(select(order), (order.number, number), (order.supplier_id, supplier_id))
        found = narrow(
            found, (order.site_id, site_id), (order.status, "sent" if status == "late" else status)
        )
        if status == "late":
            found = found.where(order.expected_on < today())
        return page(db, found.order_by(order.expected_on, order.id), show_order, limit)


@app.get("/purchase-orders/{purchase_order_id}", operation_id="get_purchase_order")
async def get_purchase_order(purchase_order_id: OrderId) -> Record:
    """Show one purchase order with its lines: what was ordered and how much of it has been received."""
    with transaction() as db:
        return show_whole_order(find(db, PurchaseOrder, purchase_order_id))


@app.get("/customer-orders", operation_id="list_customer_orders")
async def list_customer_orders(
    number: NumberFilter = None,
    customer: Annotated[str, Query(description="Words from the customer's name. Leave empty for all.")] = "",
    site_id: SiteFilter = None,
    status: Annotated[
        Literal["open", "on_hold", "shipped", "cancelled"] | None,
        Query(description="Only in this status."),
    ] = None,
    limit: Limit = 20,
) -> Record:
    """List customers' orders by number, customer, site or status, soonest due first."""
    with transaction() as db:
        order = CustomerOrder
        found = narrow(select(order).where(mentions(customer, order.customer)), (order.number, number))
        found = narrow(found, (order.site_id, site_id), (order.status, status))
        return page(db, found.order_by(order.due_on, order.id), show_customer_order, limit)


@app.get("/customer-orders/{customer_order_id}", operation_id="get_customer_order")
async def get_customer_order(customer_order_id: CustomerOrderId) -> Record:
    """Show one customer's order with its lines: what is wanted and how much of it has been picked."""
    with transaction() as db:
        order = find(db, CustomerOrder, customer_order_id)
        return {**show_customer_order(order), "lines": [show_pick_line(line) for line in order.lines]}


@app.get("/transfers", operation_id="list_transfers")
async def list_transfers(
    number: NumberFilter = None,
    item_id: ItemFilter = None,
    to_site_id: Annotated[Id | None, Query(description="Only to this site, from list_sites.")] = None,
    status: Annotated[
        Literal["requested", "in_transit", "completed", "cancelled"] | None,
        Query(description="Only in this status."),
    ] = None,
    limit: Limit = 20,
) -> Record:
    """List transfers between sites by number, item, destination or status, the oldest first."""
    with transaction() as db:
        wanted = ((Transfer.number, number), (Transfer.item_id, item_id))
        also = ((Transfer.to_site_id, to_site_id), (Transfer.status, status))
        found = narrow(select(Transfer), *wanted, *also)
        return page(db, found.order_by(Transfer.requested_on, Transfer.id), show_transfer, limit)


@app.get("/counts", operation_id="list_counts")
async def list_counts(
    site_id: SiteFilter = None,
    item_id: ItemFilter = None,
    bin_code: Annotated[str | None, Query(description="Only of the bin with this code.")] = None,
    status: Annotated[
        Literal["open", "accepted", "rejected"] | None, Query(description="Only in this status.")
    ] = None,
    limit: Limit = 20,
) -> Record:
    """List stock counts, the oldest first: what the books said, what was counted, by whom and when."""
    with transaction() as db:
        wanted = ((Bin.site_id, site_id), (Count.item_id, item_id), (Bin.code, bin_code))
        found = narrow(select(Count).join(Count.bin), *wanted, (Count.status, status))
        return page(db, found.order_by(Count.counted_on, Count.id), show_count, limit)


@app.get("/write-offs", operation_id="list_write_offs")
async def list_write_offs(
    number: NumberFilter = None,
    site_id: SiteFilter = None,
    status: Annotated[
        Literal["requested", "approved", "rejected"] | None, Query(description="Only in this status.")
    ] = None,
    limit: Limit = 20,
) -> Record:
    """List write-offs with their value in euros, the oldest first: who asked for them and who approved."""
    with transaction() as db:
        wanted = ((WriteOff.number, number), (Bin.site_id, site_id), (WriteOff.status, status))
        found = narrow(select(WriteOff).join(WriteOff.bin), *wanted)
        return page(db, found.order_by(WriteOff.requested_on, WriteOff.id), show_write_off, limit)


# ---------------------------------------------------------------- writes


@app.post("/purchase-orders", operation_id="create_purchase_order")
async def create_purchase_order(
    supplier_id: Annotated[Id, given("Who is to deliver, from search_suppliers or get_item.")],
    site_id: Annotated[Id, given("Where it is to be delivered, from list_sites.")],
) -> Record:
    """Start a draft of a purchase order; add_order_line fills it. Refuses suppliers that are on hold."""
    with transaction() as db:
        supplier, site = find(db, Supplier, supplier_id), find(db, Site, site_id)
        require_trade(supplier)
        number = next_number(db, PurchaseOrder, "PO")
        order = PurchaseOrder(number=number, supplier=supplier, site=site, created_on=today())
        return show_whole_order(save(db, order))


@app.post("/purchase-orders/{purchase_order_id}/lines", operation_id="add_order_line")
async def add_order_line(
    purchase_order_id: OrderId,
    item_id: Annotated[Id, given("What to order, from search_items.")],
    quantity: Annotated[Quantity, given("How many units.")],
) -> Record:
    """Add an item to a draft of a purchase order. Refuses items of other suppliers, discontinued items and
    items that the order has already."""
    with transaction() as db:
        order, item = find(db, PurchaseOrder, purchase_order_id), find(db, Item, item_id)
        require_status(order.number, order.status, "draft")
        if item.supplier_id != order.supplier_id:
            refuse(f"{item.name} comes from {item.supplier.name}, not from {order.supplier.name}.")
        if item.discontinued:
            refuse(f"{item.name} is discontinued and can no longer be ordered.")
        if any(line.item_id == item.id for line in order.lines):
            refuse(f"{order.number} has a line for {item.name}: change its quantity with change_order_line.")
        save(db, OrderLine(order=order, item=item, quantity=quantity))
        return show_whole_order(order)


@app.patch("/order-lines/{line_id}", operation_id="change_order_line")
async def change_order_line(
    line_id: OrderLineId,
    quantity: Annotated[int, given("How many units in all; 0 takes the line out.", ge=0, le=100_000)],
) -> Record:
    """Change how much is ordered on a line of a draft, or take the line out. Refuses sent orders."""
    with transaction() as db:
        line = find(db, OrderLine, line_id)
        order = line.order
        require_status(order.number, order.status, "draft")
        if quantity:
            line.quantity = quantity
        else:
            db.delete(line)
        db.flush()
        db.expire(order, ["lines"])
        return show_whole_order(order)


@app.post("/purchase-orders/{purchase_order_id}/sending", operation_id="send_purchase_order")
async def send_purchase_order(purchase_order_id: OrderId) -> Record:
    """Send a draft to its supplier; it is expected after the supplier's lead time. Refuses empty drafts."""
    with transaction() as db:
        order = find(db, PurchaseOrder, purchase_order_id)
        require_status(order.number, order.status, "draft")
        require_trade(order.supplier)
        if not order.lines:
            refuse(f"{order.number} has no lines: add some with add_order_line first.")
        order.status = "sent"
        order.expected_on = today() + timedelta(days=order.supplier.lead_days)
        return show_whole_order(order)


@app.post("/purchase-orders/{purchase_order_id}/expectation", operation_id="change_expected_date")
async def change_expected_date(
    purchase_order_id: OrderId,
    expected_on: Annotated[date, given("The new day, YYYY-MM-DD: today or later.")],
) -> Record:
    """Note the day on which an order that was sent is now expected. Refuses days that have passed."""
    with transaction() as db:
        order = find(db, PurchaseOrder, purchase_order_id)
        require_status(order.number, order.status, "sent")
        if not today() <= expected_on <= today() + timedelta(days=MOST_DAYS_AHEAD):
            refuse(f"The day must lie between {today()} and {MOST_DAYS_AHEAD} days later.", 422)
        order.expected_on = expected_on
        return show_order(order)


@app.post("/purchase-orders/{purchase_order_id}/cancellation", operation_id="cancel_purchase_order")
async def cancel_purchase_order(purchase_order_id: OrderId) -> Record:
    """Cancel a draft or an order that was sent. Refuses orders of which something has been received."""
    with transaction() as db:
        order = find(db, PurchaseOrder, purchase_order_id)
        require_status(order.number, order.status, "draft", "sent")
        if any(line.received for line in order.lines):
            refuse(f"Part of {order.number} has been received: it can no longer be cancelled.")
        order.status = "cancelled"
        return show_order(order)


@app.post("/order-lines/{line_id}/receipts", operation_id="receive_goods")
async def receive_goods(
    line_id: OrderLineId,
    bin_id: Annotated[Id, given("The bin that they go to, from list_bins.")],
    quantity: Annotated[Quantity, given("How many units arrived.")],
) -> Record:
    """Book units of an order's line into a bin of its site. With its last unit the order is received.

    Refuses more units than are still to come, bins at other sites, of the wrong zone or without the room."""
    with transaction() as db:
        line, place = find(db, OrderLine, line_id), find(db, Bin, bin_id)
        order = line.order
        require_status(order.number, order.status, "sent")
        if quantity > (missing := line.quantity - line.received):
            refuse(f"Only {missing} of {line.item.name} are still to come on {order.number}.")
        require_site(place, order.site)
        put(db, place, line.item, quantity)
        line.received += quantity
        at = now().isoformat(timespec="seconds")
        save(db, Receipt(line=line, bin=place, quantity=quantity, received_at=at))
        if all(one.received == one.quantity for one in order.lines):
            order.status = "received"
        return show_whole_order(order)


@app.patch("/items/{item_id}", operation_id="change_reorder_levels")
async def change_reorder_levels(
    item_id: ItemId,
    reorder_point: Annotated[int | None, given("The new reorder point.", ge=0, le=10_000)] = None,
    reorder_quantity: Annotated[int | None, given("The new reorder quantity.", ge=1, le=10_000)] = None,
) -> Record:
    """Change the stock at which an item is ordered again, how much is ordered then, or both."""
    if reorder_point is None and reorder_quantity is None:
        refuse("Say what to change: reorder_point, reorder_quantity or both.", 422)
    with transaction() as db:
        item = find(db, Item, item_id)
        if reorder_point is not None:
            item.reorder_point = reorder_point
        if reorder_quantity is not None:
            item.reorder_quantity = reorder_quantity
        return show_item(item)


@app.post("/moves", operation_id="move_stock")
async def move_stock(
    item_id: Annotated[Id, given("What to move, from search_items or list_stock.")],
    from_bin_id: Annotated[Id, given("The bin it lies in, from list_stock.")],
    to_bin_id: Annotated[Id, given("The bin it goes to, from list_bins.")],
    quantity: Annotated[Quantity, given("How many units.")],
) -> Record:
    """Move units from bin to bin within one site. Refuses bins of the wrong zone or without the room;
    between sites use request_transfer."""
    with transaction() as db:
        item, source, target = find(db, Item, item_id), find(db, Bin, from_bin_id), find(db, Bin, to_bin_id)
        if source.id == target.id:
            refuse(f"{item.name} would stay in bin {source.code}: name another bin.", 422)
        require_site(target, source.site)
        take(db, source, item, quantity)
        put(db, target, item, quantity)
        return {"item": item.name, "quantity": quantity, "from_bin": source.code, "to_bin": target.code}


@app.post("/transfers", operation_id="request_transfer")
async def request_transfer(
    item_id: Annotated[Id, given("What to send, from search_items.")],
    from_bin_id: Annotated[Id, given("The bin it lies in, from list_stock.")],
    to_site_id: Annotated[Id, given("The site it goes to, from list_sites.")],
    quantity: Annotated[Quantity, given("How many units.")],
) -> Record:
    """Ask for units to be sent to another site; they stay in their bin until the transfer is dispatched.

    Refuses more than the bin holds and anything in quarantine."""
    with transaction() as db:
        item, place, site = find(db, Item, item_id), find(db, Bin, from_bin_id), find(db, Site, to_site_id)
        if place.site_id == site.id:
            refuse(f"Bin {place.code} is at {site.name} already: use move_stock within a site.")
        if place.zone == "quarantine":
            refuse(f"Bin {place.code} is a quarantine bin: nothing leaves the site from there.")
        stock = stock_of(db, place, item)
        if stock is None or stock.quantity < quantity:
            refuse(f"Bin {place.code} does not hold {quantity} of {item.name}. See list_stock.")
        number = next_number(db, Transfer, "TR")
        parts = {"item": item, "from_bin": place, "to_site": site, "quantity": quantity}
        return show_transfer(save(db, Transfer(number=number, requested_on=today(), **parts)))


@app.post("/transfers/{transfer_id}/dispatch", operation_id="dispatch_transfer")
async def dispatch_transfer(transfer_id: TransferId) -> Record:
    """Send a requested transfer off: its units leave their bin. Refuses if they are no longer there."""
    with transaction() as db:
        transfer = find(db, Transfer, transfer_id)
        require_status(transfer.number, transfer.status, "requested")
        take(db, transfer.from_bin, transfer.item, transfer.quantity)
        transfer.status = "in_transit"
        return show_transfer(transfer)


@app.post("/transfers/{transfer_id}/arrival", operation_id="complete_transfer")
async def complete_transfer(
    transfer_id: TransferId,
    bin_id: Annotated[Id, given("The bin at the destination, from list_bins.")],
) -> Record:
    """Put a transfer in transit away into a bin of its destination. Refuses bins that do not suit."""
    with transaction() as db:
        transfer, place = find(db, Transfer, transfer_id), find(db, Bin, bin_id)
        require_status(transfer.number, transfer.status, "in_transit")
        require_site(place, transfer.to_site)
        put(db, place, transfer.item, transfer.quantity)
        transfer.status = "completed"
        return show_transfer(transfer)


@app.post("/transfers/{transfer_id}/cancellation", operation_id="cancel_transfer")
async def cancel_transfer(transfer_id: TransferId) -> Record:
    """Cancel a transfer that was requested. Refuses transfers that were dispatched."""
    with transaction() as db:
        transfer = find(db, Transfer, transfer_id)
        require_status(transfer.number, transfer.status, "requested")
        transfer.status = "cancelled"
        return show_transfer(transfer)


@app.post("/pick-lines/{line_id}/picks", operation_id="pick_goods")
async def pick_goods(
    line_id: PickLineId,
    bin_id: Annotated[Id, given("The bin to take them from, from list_stock.")],
    quantity: Annotated[Quantity, given("How many units to take.")],
) -> Record:
    """Take units for a line of an open customer's order out of a bin of its site.

    Refuses quarantine bins, bins that hold too little, and more units than the line still needs."""
    with transaction() as db:
        line, place = find(db, PickLine, line_id), find(db, Bin, bin_id)
        order = line.order
        require_status(order.number, order.status, "open")
        require_site(place, order.site)
        if place.zone == "quarantine":
            refuse(f"Bin {place.code} is a quarantine bin: nothing is picked from there.")
        if quantity > (missing := line.quantity - line.picked):
            refuse(f"The line still needs {missing} of {line.item.name}, not {quantity}.")
        take(db, place, line.item, quantity)
        line.picked += quantity
        return {"order": order.number, **show_pick_line(line)}


@app.post("/customer-orders/{customer_order_id}/shipment", operation_id="ship_order")
async def ship_order(customer_order_id: CustomerOrderId) -> Record:
    """Ship an open customer's order. Refuses orders with lines that are not fully picked, and names them."""
    with transaction() as db:
        order = find(db, CustomerOrder, customer_order_id)
        require_status(order.number, order.status, "open")
        if missing := [line.item.name for line in order.lines if line.picked < line.quantity]:
            refuse(f"Not fully picked yet: {', '.join(missing)}. Pick these first with pick_goods.")
        order.status = "shipped"
        return show_customer_order(order)


@app.post("/customer-orders/{customer_order_id}/hold", operation_id="hold_order")
async def hold_order(customer_order_id: CustomerOrderId) -> Record:
    """Put an open customer's order on hold, so that nothing more is picked for it."""
    with transaction() as db:
        order = find(db, CustomerOrder, customer_order_id)
        require_status(order.number, order.status, "open")
        order.status = "on_hold"
        return show_customer_order(order)


@app.post("/customer-orders/{customer_order_id}/release", operation_id="release_order")
async def release_order(customer_order_id: CustomerOrderId) -> Record:
    """Open a customer's order again that was on hold. Refuses orders in any other status."""
    with transaction() as db:
        order = find(db, CustomerOrder, customer_order_id)
        require_status(order.number, order.status, "on_hold")
        order.status = "open"
        return show_customer_order(order)


@app.post("/counts", operation_id="record_count")
async def record_count(
    item_id: Annotated[Id, given("What was counted, from search_items.")],
    bin_id: Annotated[Id, given("Where it was counted, from list_bins.")],
    counted: Annotated[int, given("How many units are really there.", ge=0, le=100_000)],
    staff_id: Annotated[Id, given("Who counted, from list_staff.")],
) -> Record:
    """Record a stock count; the books change only when it is accepted. Refuses a second open count."""
    with transaction() as db:
        item, place, worker = find(db, Item, item_id), find(db, Bin, bin_id), find(db, Worker, staff_id)
        same = (Count.item_id == item.id, Count.bin_id == place.id, Count.status == "open")
        if db.scalars(select(Count).where(*same)).first():
            refuse(f"A count of {item.name} in bin {place.code} is open: accept or reject it first.")
        stock = stock_of(db, place, item)
        found = {"booked": stock.quantity if stock else 0, "counted": counted, "counted_on": today()}
        return show_count(save(db, Count(bin=place, item=item, counted_by=worker, **found)))


@app.post("/counts/{count_id}/acceptance", operation_id="accept_count")
async def accept_count(count_id: CountId) -> Record:
    """Accept an open count: the books take over what was counted. Refuses if the books have changed since."""
    with transaction() as db:
        count = find(db, Count, count_id)
        require_status("This count", count.status, "open")
        stock = stock_of(db, count.bin, count.item)
        if (held := stock.quantity if stock else 0) != count.booked:
            refuse(f"The books say {held} now, not {count.booked} as when it was counted: reject this count.")
        if count.counted < held:
            take(db, count.bin, count.item, held - count.counted)
        elif count.counted > held:
            put(db, count.bin, count.item, count.counted - held)
        count.status = "accepted"
        return show_count(count)


@app.post("/counts/{count_id}/rejection", operation_id="reject_count")
async def reject_count(count_id: CountId) -> Record:
    """Reject an open count, so that it is counted again. The books stay as they are."""
    with transaction() as db:
        count = find(db, Count, count_id)
        require_status("This count", count.status, "open")
        count.status = "rejected"
        return show_count(count)


@app.post("/write-offs", operation_id="request_write_off")
async def request_write_off(
    item_id: Annotated[Id, given("What to write off, from search_items.")],
    bin_id: Annotated[Id, given("The bin it lies in, from list_stock.")],
    quantity: Annotated[Quantity, given("How many units.")],
    reason: Annotated[Literal["damaged", "expired", "lost"], given("Why.")],
    staff_id: Annotated[Id, given("Who asks for it, from list_staff.")],
) -> Record:
    """Ask for units to be written off at cost; they stay on the books until it is approved."""
    with transaction() as db:
        item, place, worker = find(db, Item, item_id), find(db, Bin, bin_id), find(db, Worker, staff_id)
        stock = stock_of(db, place, item)
        if stock is None or stock.quantity < quantity:
            refuse(f"Bin {place.code} does not hold {quantity} of {item.name}. See list_stock.")
        loss = {"quantity": quantity, "reason": reason, "value_cents": quantity * item.unit_cost_cents}
        paper = {"number": next_number(db, WriteOff, "WO"), "requested_on": today(), "requested_by": worker}
        return show_write_off(save(db, WriteOff(bin=place, item=item, **loss, **paper)))


@app.post("/write-offs/{write_off_id}/approval", operation_id="approve_write_off")
async def approve_write_off(
    write_off_id: WriteOffId,
    staff_id: Annotated[Id, given("Who approves it, from list_staff: see the house rules.")],
) -> Record:
    """Approve a write-off in somebody's name: the units leave the books.

    Refuses clerks and the person who asked for it."""
    with transaction() as db:
        write_off, worker = find(db, WriteOff, write_off_id), find(db, Worker, staff_id)
        require_status(write_off.number, write_off.status, "requested")
        if worker.role == "clerk":
            refuse(f"{worker.name} is a clerk: write-offs are approved by supervisors and managers.")
        if worker.id == write_off.requested_by_id:
            refuse(f"{worker.name} asked for this write-off: somebody else must approve it.")
        take(db, write_off.bin, write_off.item, write_off.quantity)
        write_off.status, write_off.approved_by = "approved", worker
        return show_write_off(write_off)


@app.post("/write-offs/{write_off_id}/rejection", operation_id="reject_write_off")
async def reject_write_off(write_off_id: WriteOffId) -> Record:
    """Reject a write-off that was asked for. The units stay on the books."""
    with transaction() as db:
        write_off = find(db, WriteOff, write_off_id)
        require_status(write_off.number, write_off.status, "requested")
        write_off.status = "rejected"
        return show_write_off(write_off)


@app.patch("/suppliers/{supplier_id}", operation_id="set_supplier_hold")
async def set_supplier_hold(
    supplier_id: Annotated[Id, Path(description="The supplier's id, from search_suppliers.")],
    on_hold: Annotated[bool, given("Whether nothing may be ordered there.")],
) -> Record:
    """Put a supplier on hold, so that nothing can be ordered there, or lift the hold."""
    with transaction() as db:
        supplier = find(db, Supplier, supplier_id)
        if supplier.on_hold == on_hold:
            refuse(f"{supplier.name} is {'on hold' if on_hold else 'not on hold'} already.")
        supplier.on_hold = on_hold
        return show_supplier(supplier)
