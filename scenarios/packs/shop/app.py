"""The shop's back office: orders are changed, shipped and cancelled, returns refunded, stock bought.

Reading order: the rules of the house, the tables, the plumbing, what the tools are given and show, the
rules at work, then the tools themselves, reads before writes. The database counts cents, the tools speak
of dollars.
"""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any, Literal, NoReturn, TypeAlias, TypeVar

from fastapi import Body, FastAPI, HTTPException, Path, Query
from pydantic import BaseModel, Field
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

SHIPPING_CENTS = {"standard": 600, "express": 1500}
FREE_SHIPPING_CENTS = 7500
RETURN_PERIOD = timedelta(days=30)
RESTOCKING_PERCENT = 10
MOST_CREDIT_CENTS = 5000
MOST_PRICE_CHANGE_PERCENT = 50

# ---------------------------------------------------------------- tables


class Table(DeclarativeBase):
    """What all tables share: an integer key."""

    id: Mapped[int] = mapped_column(primary_key=True)


class Customer(Table):
    __tablename__ = "customers"
    name: Mapped[str]
    email: Mapped[str]
    tier: Mapped[str]
    credit_cents: Mapped[int]
    joined_on: Mapped[date]


class Address(Table):
    __tablename__ = "addresses"
    customer_id: Mapped[int] = mapped_column(ForeignKey("customers.id"))
    label: Mapped[str]
    street: Mapped[str]
    city: Mapped[str]
    postcode: Mapped[str]
    customer: Mapped[Customer] = relationship()


class Supplier(Table):
    __tablename__ = "suppliers"
    name: Mapped[str]
    lead_days: Mapped[int]
    minimum_quantity: Mapped[int]


class Product(Table):
    __tablename__ = "products"
    sku: Mapped[str]
    name: Mapped[str]
    category: Mapped[str]
    supplier_id: Mapped[int] = mapped_column(ForeignKey("suppliers.id"))
    price_cents: Mapped[int]
    on_hand: Mapped[int]
    reorder_level: Mapped[int]
    status: Mapped[str]
    supplier: Mapped[Supplier] = relationship()


class Coupon(Table):
    __tablename__ = "coupons"
    code: Mapped[str]
    percent_off: Mapped[int]
    min_subtotal_cents: Mapped[int]
    gold_only: Mapped[bool]
    starts_on: Mapped[date]
    ends_on: Mapped[date]


class Order(Table):
    __tablename__ = "orders"
    customer_id: Mapped[int] = mapped_column(ForeignKey("customers.id"))
    address_id: Mapped[int] = mapped_column(ForeignKey("addresses.id"))
    coupon_id: Mapped[int | None] = mapped_column(ForeignKey("coupons.id"))
    shipping: Mapped[str]
    status: Mapped[str] = mapped_column(default="placed")
    placed_on: Mapped[date]
    shipped_on: Mapped[date | None]
    delivered_on: Mapped[date | None]
    updated_at: Mapped[str]
    customer: Mapped[Customer] = relationship()
    address: Mapped[Address] = relationship()
    coupon: Mapped[Coupon | None] = relationship()
    items: Mapped[list["OrderItem"]] = relationship(
        back_populates="order", cascade="all, delete-orphan", order_by="OrderItem.id"
    )


class OrderItem(Table):
    __tablename__ = "order_items"
    order_id: Mapped[int] = mapped_column(ForeignKey("orders.id"))
    product_id: Mapped[int] = mapped_column(ForeignKey("products.id"))
    quantity: Mapped[int]
    unit_price_cents: Mapped[int]
    order: Mapped[Order] = relationship(back_populates="items")
    product: Mapped[Product] = relationship()


class Return(Table):
    __tablename__ = "returns"
    order_item_id: Mapped[int] = mapped_column(ForeignKey("order_items.id"))
    quantity: Mapped[int]
    reason: Mapped[str]
    status: Mapped[str] = mapped_column(default="requested")
    requested_on: Mapped[date]
    item: Mapped[OrderItem] = relationship()


class Refund(Table):
    __tablename__ = "refunds"
    return_id: Mapped[int] = mapped_column(ForeignKey("returns.id"))
    amount_cents: Mapped[int]
    method: Mapped[str]
    issued_on: Mapped[date]


class PurchaseOrder(Table):
    __tablename__ = "purchase_orders"
    product_id: Mapped[int] = mapped_column(ForeignKey("products.id"))
    quantity: Mapped[int]
    status: Mapped[str] = mapped_column(default="open")
    ordered_on: Mapped[date]
    expected_on: Mapped[date]
    product: Mapped[Product] = relationship()


class Policy(Table):
    __tablename__ = "policy"
    section: Mapped[str]
    text: Mapped[str]


# ---------------------------------------------------------------- plumbing

Record: TypeAlias = dict[str, Any]
Row = TypeVar("Row", bound=Table)

app = FastAPI(title="Harbour & Pine")
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


def dollars(cents: int) -> float:
    return cents / 100


def cents(amount: float) -> int:
    return round(amount * 100)


def price(cents: int) -> str:
    return f"${dollars(cents):.2f}"


# ---------------------------------------------------------------- what the tools are given

Id: TypeAlias = Annotated[int, Field(ge=1, le=2**31)]
Quantity: TypeAlias = Annotated[int, Field(ge=1, le=1000)]
Dollars: TypeAlias = Annotated[float, Field(ge=0.01, le=10_000)]
Shipping: TypeAlias = Literal["standard", "express"]
CustomerId: TypeAlias = Annotated[Id, Path(description="The customer's id, from search_customers.")]
ProductId: TypeAlias = Annotated[Id, Path(description="The product's id, from search_products.")]
OrderId: TypeAlias = Annotated[Id, Path(description="The order's id, from list_orders.")]
ReturnId: TypeAlias = Annotated[Id, Path(description="The return's id, from list_returns.")]
PurchaseOrderId: TypeAlias = Annotated[
    Id, Path(description="The purchase order's id, from list_purchase_orders.")
]
Limit: TypeAlias = Annotated[int, Query(ge=1, le=50, description="How many results to show at most.")]


class OrderLine(BaseModel):
    """One product of a new order."""

    product_id: Annotated[Id, Field(description="The product's id, from search_products.")]
    quantity: Annotated[Quantity, Field(description="How many of it.")]


def given(description: str, **limits: Any) -> Any:
    """Describe one field of a request's body."""
    return Body(embed=True, description=description, **limits)


# ---------------------------------------------------------------- what the tools show


def show_customer(customer: Customer) -> Record:
    return {
        "customer_id": customer.id,
        "name": customer.name,
        "email": customer.email,
        "tier": customer.tier,
        "store_credit": dollars(customer.credit_cents),
        "joined_on": customer.joined_on,
    }


def show_address(address: Address) -> Record:
    return {
        "address_id": address.id,
        "label": address.label,
        "street": address.street,
        "city": address.city,
        "postcode": address.postcode,
    }


def show_product(product: Product) -> Record:
    return {
        "product_id": product.id,
        "sku": product.sku,
        "name": product.name,
        "category": product.category,
        "price": dollars(product.price_cents),
        "on_hand": product.on_hand,
        "status": product.status,
    }


def show_coupon(coupon: Coupon) -> Record:
    return {
        "code": coupon.code,
        "percent_off": coupon.percent_off,
        "min_subtotal": dollars(coupon.min_subtotal_cents),
        "gold_only": coupon.gold_only,
        "starts_on": coupon.starts_on,
        "ends_on": coupon.ends_on,
    }


def show_order(order: Order) -> Record:
    return {
        "order_id": order.id,
        "customer_id": order.customer_id,
        "customer": order.customer.name,
        "status": order.status,
        "placed_on": order.placed_on,
        "items": [f"{item.quantity} x {item.product.name}" for item in order.items],
        "total": dollars(total_cents(order)),
    }


def show_item(item: OrderItem) -> Record:
    return {
        "order_item_id": item.id,
        "product_id": item.product_id,
        "product": item.product.name,
        "quantity": item.quantity,
        "unit_price": dollars(item.unit_price_cents),
    }


def show_whole_order(order: Order) -> Record:
    return {
        **show_order(order),
        "items": [show_item(item) for item in order.items],
        "subtotal": dollars(subtotal_cents(order)),
        "coupon": order.coupon.code if order.coupon else None,
        "discount": dollars(discount_cents(order)),
        "shipping": order.shipping,
        "shipping_fee": dollars(shipping_cents(order)),
        "total": dollars(total_cents(order)),
        "address": show_address(order.address),
        "shipped_on": order.shipped_on,
        "delivered_on": order.delivered_on,
    }


def show_return(returned: Return) -> Record:
    return {
        "return_id": returned.id,
        "order_id": returned.item.order_id,
        "customer": returned.item.order.customer.name,
        "product": returned.item.product.name,
        "quantity": returned.quantity,
        "reason": returned.reason,
        "status": returned.status,
        "requested_on": returned.requested_on,
    }


def show_purchase_order(purchase: PurchaseOrder) -> Record:
    return {
        "purchase_order_id": purchase.id,
        "product_id": purchase.product_id,
        "product": purchase.product.name,
        "supplier": purchase.product.supplier.name,
        "quantity": purchase.quantity,
        "status": purchase.status,
        "ordered_on": purchase.ordered_on,
        "expected_on": purchase.expected_on,
    }


# ---------------------------------------------------------------- the rules at work


def subtotal_cents(order: Order) -> int:
    return sum(item.quantity * item.unit_price_cents for item in order.items)


def discount_cents(order: Order) -> int:
    return subtotal_cents(order) * (order.coupon.percent_off if order.coupon else 0) // 100


def shipping_cents(order: Order) -> int:
    """Standard shipping is free for gold customers and for large orders."""
    large = subtotal_cents(order) - discount_cents(order) >= FREE_SHIPPING_CENTS
    free = order.shipping == "standard" and (large or order.customer.tier == "gold")
    return 0 if free else SHIPPING_CENTS[order.shipping]


def total_cents(order: Order) -> int:
    return subtotal_cents(order) - discount_cents(order) + shipping_cents(order)


def refund_cents(returned: Return) -> int:
    """What was paid for the returned pieces; a tenth less if the customer only changed their mind."""
    item, coupon = returned.item, returned.item.order.coupon
    paid = returned.quantity * item.unit_price_cents * (100 - (coupon.percent_off if coupon else 0)) // 100
    return paid * (100 - RESTOCKING_PERCENT) // 100 if returned.reason == "changed_mind" else paid


def pieces_returned(db: Session, item: OrderItem) -> int:
    """How many pieces of an item are in returns that were not rejected."""
    counted = (Return.order_item_id == item.id, Return.status != "rejected")
    return db.scalars(select(func.coalesce(func.sum(Return.quantity), 0)).where(*counted)).one()


def open_purchase_order(db: Session, product: Product) -> PurchaseOrder | None:
    is_open = (PurchaseOrder.product_id == product.id, PurchaseOrder.status == "open")
    return db.scalars(select(PurchaseOrder).where(*is_open)).one_or_none()


def require_changeable(order: Order) -> None:
    if order.status != "placed":
        refuse(
            f"This order is {order.status}. Only orders that are placed and not yet shipped can be changed."
        )


def require_address_of(customer: Customer, address: Address) -> None:
    if address.customer_id != customer.id:
        refuse(f"This address is not one of {customer.name}'s. See get_customer, or add_address first.")


def require_coupon_fits(order: Order, coupon: Coupon) -> None:
    if not coupon.starts_on <= today() <= coupon.ends_on:
        refuse(f"{coupon.code} is valid from {coupon.starts_on} to {coupon.ends_on}, not today.")
    if coupon.gold_only and order.customer.tier != "gold":
        refuse(f"{coupon.code} is for gold customers only.")
    if subtotal_cents(order) < coupon.min_subtotal_cents:
        refuse(f"{coupon.code} needs a subtotal of {price(coupon.min_subtotal_cents)} or more.")


def take_stock(product: Product, quantity: int) -> None:
    """Take pieces out of stock, or put them back where the quantity is negative."""
    if quantity > 0 and product.status == "discontinued":
        refuse(f"{product.name} is discontinued.")
    if quantity > product.on_hand:
        refuse(f"Only {product.on_hand} of {product.name} on hand, {quantity} needed.")
    product.on_hand -= quantity


def touch(order: Order) -> None:
    order.updated_at = now().isoformat(timespec="seconds")


# ---------------------------------------------------------------- reads


@app.get("/customers", operation_id="search_customers")
async def search_customers(
    query: Annotated[
        str, Query(min_length=2, description="Words from the customer's name or email address.")
    ],
    limit: Limit = 10,
) -> Record:
    """Find customers by name or email address. Returns their ids, tiers and store credit in dollars."""
    with transaction() as db:
        found = select(Customer).where(mentions(query, Customer.name, Customer.email))
        return page(db, found.order_by(Customer.name, Customer.id), show_customer, limit)


@app.get("/customers/{customer_id}", operation_id="get_customer")
async def get_customer(customer_id: CustomerId) -> Record:
    """Show one customer with all addresses. list_orders shows the orders."""
    with transaction() as db:
        customer = find(db, Customer, customer_id)
        addresses = db.scalars(select(Address).where(Address.customer_id == customer.id).order_by(Address.id))
        return {**show_customer(customer), "addresses": [show_address(address) for address in addresses]}


@app.get("/products", operation_id="search_products")
async def search_products(
    query: Annotated[
        str, Query(description="Words from the product's name or its SKU. Leave empty for all.")
    ] = "",
    category: Annotated[
        Literal["tents", "sleeping", "cooking", "lights", "clothing", "packs"] | None,
        Query(description="Only this category."),
    ] = None,
    max_price: Annotated[
        Dollars | None, Query(description="Only products that cost at most so many dollars.")
    ] = None,
    in_stock: Annotated[
        bool, Query(description="Only active products with at least one piece on hand.")
    ] = False,
    limit: Limit = 10,
) -> Record:
    """Find products by name, SKU, category or price, ordered by name. Shows prices and stock."""
    with transaction() as db:
        found = narrow(
            select(Product).where(mentions(query, Product.name, Product.sku)), (Product.category, category)
        )
        if max_price is not None:
            found = found.where(Product.price_cents <= cents(max_price))
        if in_stock:
            found = found.where(Product.status == "active", Product.on_hand > 0)
        return page(db, found.order_by(Product.name, Product.id), show_product, limit)


@app.get("/products/{product_id}", operation_id="get_product")
async def get_product(product_id: ProductId) -> Record:
    """Show one product with its reorder level, its supplier's terms and its open purchase order, if any."""
    with transaction() as db:
        product = find(db, Product, product_id)
        purchase = open_purchase_order(db, product)
        return {
            **show_product(product),
            "reorder_level": product.reorder_level,
            "supplier": product.supplier.name,
            "supplier_lead_days": product.supplier.lead_days,
            "supplier_minimum_quantity": product.supplier.minimum_quantity,
            "open_purchase_order": show_purchase_order(purchase) if purchase else None,
        }


@app.get("/low-stock", operation_id="list_low_stock")
async def list_low_stock(limit: Limit = 20) -> Record:
    """List active products with fewer pieces on hand than their reorder level, ordered by name.

    get_product shows the supplier and whether a purchase order is open."""
    with transaction() as db:
        low = select(Product).where(Product.status == "active", Product.on_hand < Product.reorder_level)
        return page(db, low.order_by(Product.name, Product.id), show_product, limit)


@app.get("/orders", operation_id="list_orders")
async def list_orders(
    customer_id: Annotated[Id | None, Query(description="Only this customer's orders.")] = None,
    product_id: Annotated[Id | None, Query(description="Only orders that contain this product.")] = None,
    status: Annotated[
        Literal["placed", "shipped", "delivered", "cancelled"] | None,
        Query(description="Only orders in this status."),
    ] = None,
    placed_from: Annotated[date | None, Query(description="Only orders placed on this day or later.")] = None,
    placed_to: Annotated[date | None, Query(description="Only orders placed on this day or earlier.")] = None,
    limit: Limit = 10,
) -> Record:
    """List orders by customer, product, status and day, the newest first, and how many there are in all."""
    with transaction() as db:
        found = narrow(select(Order), (Order.customer_id, customer_id), (Order.status, status))
        if product_id is not None:
            found = found.where(Order.items.any(OrderItem.product_id == product_id))
        if placed_from is not None:
            found = found.where(Order.placed_on >= placed_from)
        if placed_to is not None:
            found = found.where(Order.placed_on <= placed_to)
        return page(db, found.order_by(Order.placed_on.desc(), Order.id.desc()), show_order, limit)


@app.get("/orders/{order_id}", operation_id="get_order")
async def get_order(order_id: OrderId) -> Record:
    """Show one order with its items, coupon, shipping, address and how its total comes about."""
    with transaction() as db:
        return show_whole_order(find(db, Order, order_id))


@app.get("/coupons", operation_id="list_coupons")
async def list_coupons(limit: Limit = 20) -> Record:
    """List all coupons, also those not valid today, with their terms, ordered by code."""
    with transaction() as db:
        return page(db, select(Coupon).order_by(Coupon.code), show_coupon, limit)


@app.get("/returns", operation_id="list_returns")
async def list_returns(
    status: Annotated[
        Literal["requested", "approved", "rejected", "refunded"] | None,
        Query(description="Only returns in this status."),
    ] = None,
    customer_id: Annotated[Id | None, Query(description="Only this customer's returns.")] = None,
    limit: Limit = 20,
) -> Record:
    """List returns by status and customer, the oldest first, and how many there are in all."""
    with transaction() as db:
        found = select(Return).join(Return.item).join(OrderItem.order)
        found = narrow(found, (Return.status, status), (Order.customer_id, customer_id))
        return page(db, found.order_by(Return.requested_on, Return.id), show_return, limit)


@app.get("/purchase-orders", operation_id="list_purchase_orders")
async def list_purchase_orders(
    status: Annotated[
        Literal["open", "received", "cancelled"] | None,
        Query(description="Only purchase orders in this status."),
    ] = None,
    product_id: Annotated[Id | None, Query(description="Only purchase orders for this product.")] = None,
    limit: Limit = 20,
) -> Record:
    """List purchase orders to suppliers, soonest expected first, and how many there are in all."""
    with transaction() as db:
        wanted = ((PurchaseOrder.status, status), (PurchaseOrder.product_id, product_id))
        found = narrow(select(PurchaseOrder), *wanted).order_by(PurchaseOrder.expected_on, PurchaseOrder.id)
        return page(db, found, show_purchase_order, limit)


@app.get("/policy", operation_id="read_policy")
async def read_policy() -> Record:
    """Read the house rules that staff must follow, section by section; the tools do not enforce all of them."""
    with transaction() as db:
        rules = db.scalars(select(Policy).order_by(Policy.id))
        return {
            "today": today(),
            "sections": [{"section": rule.section, "text": rule.text} for rule in rules],
        }


# ---------------------------------------------------------------- writes


@app.patch("/customers/{customer_id}", operation_id="update_customer")
async def update_customer(
    customer_id: CustomerId,
    email: Annotated[str, given("The new email address.", pattern=r"^\S+@\S+$")],
) -> Record:
    """Change a customer's email address. Refuses an address that is already in use."""
    with transaction() as db:
        customer = find(db, Customer, customer_id)
        if holder := db.scalars(select(Customer).where(func.lower(Customer.email) == email.lower())).first():
            refuse(f"{email} already belongs to {holder.name} (customer {holder.id}).")
        customer.email = email
        return show_customer(customer)


@app.post("/customers/{customer_id}/addresses", operation_id="add_address")
async def add_address(
    customer_id: CustomerId,
    label: Annotated[
        str, given("A short name that the customer has no other address under, such as home.", min_length=1)
    ],
    street: Annotated[str, given("Street and house number.", min_length=2)],
    city: Annotated[str, given("City.", min_length=2)],
    postcode: Annotated[str, given("Postcode.", min_length=2)],
) -> Record:
    """Add an address to a customer. Orders keep the addresses they have: see change_delivery.

    Refuses a label that the customer already uses."""
    with transaction() as db:
        customer = find(db, Customer, customer_id)
        same = (Address.customer_id == customer.id, func.lower(Address.label) == label.lower())
        if db.scalars(select(Address).where(*same)).first():
            refuse(f"{customer.name} already has an address labelled {label!r}. Choose another label.")
        place = {"label": label, "street": street, "city": city, "postcode": postcode}
        return show_address(save(db, Address(customer=customer, **place)))


@app.post("/customers/{customer_id}/credit", operation_id="grant_store_credit")
async def grant_store_credit(
    customer_id: CustomerId,
    amount: Annotated[Dollars, given("How many dollars to add.")],
) -> Record:
    """Give a customer store credit as a gesture of goodwill. Refuses more than $50 at a time."""
    if cents(amount) > MOST_CREDIT_CENTS:
        refuse(f"At most {price(MOST_CREDIT_CENTS)} may be given at a time.")
    with transaction() as db:
        customer = find(db, Customer, customer_id)
        customer.credit_cents += cents(amount)
        return show_customer(customer)


@app.post("/orders", operation_id="create_order")
async def create_order(
    customer_id: Annotated[Id, given("Who orders, from search_customers.")],
    address_id: Annotated[Id, given("Where to deliver: one of the customer's addresses, from get_customer.")],
    items: Annotated[
        list[OrderLine], given("The products and how many of each, every product once.", min_length=1)
    ],
    shipping: Annotated[Shipping, given("How to deliver.")] = "standard",
) -> Record:
    """Place an order at today's prices and take its items out of stock.

    Refuses addresses of other customers, discontinued products and more pieces than are on hand."""
    if len({line.product_id for line in items}) < len(items):
        refuse("A product is listed twice. List each product once, with its quantity.", 422)
    with transaction() as db:
        customer, address = find(db, Customer, customer_id), find(db, Address, address_id)
        require_address_of(customer, address)
        order = Order(customer=customer, address=address, shipping=shipping, placed_on=today())
        for line in items:
            put_item(order, find(db, Product, line.product_id), line.quantity)
        touch(order)
        return show_whole_order(save(db, order))


def put_item(order: Order, product: Product, quantity: int) -> None:
    take_stock(product, quantity)
    order.items.append(OrderItem(product=product, quantity=quantity, unit_price_cents=product.price_cents))


@app.put("/orders/{order_id}/items/{product_id}", operation_id="set_item_quantity")
async def set_item_quantity(
    order_id: OrderId,
    product_id: ProductId,
    quantity: Annotated[
        int, given("How many the order shall have; 0 takes the product off the order.", ge=0, le=1000)
    ],
) -> Record:
    """Change how many pieces of a product an order has: add it, change it or, with 0, take it off.

    Refuses orders already shipped or cancelled, more pieces than are on hand, and to empty an order
    (cancel that)."""
    with transaction() as db:
        order, product = find(db, Order, order_id), find(db, Product, product_id)
        require_changeable(order)
        item = next((item for item in order.items if item.product_id == product.id), None)
        if item is None and quantity == 0:
            refuse(f"{product.name} is not on this order.")
        if item is None:
            put_item(order, product, quantity)
        elif quantity > 0:
            take_stock(product, quantity - item.quantity)
            item.quantity = quantity
        elif len(order.items) > 1:
            take_stock(product, -item.quantity)
            order.items.remove(item)
        else:
            refuse("This is the order's only item. Cancel the order instead.")
        touch(order)
        db.flush()
        return show_whole_order(order)


@app.post("/orders/{order_id}/coupon", operation_id="apply_coupon")
async def apply_coupon(
    order_id: OrderId,
    code: Annotated[str, given("The coupon's code, as list_coupons shows it.", min_length=1)],
) -> Record:
    """Use a coupon for an order. Refuses coupons that are not valid today or whose terms the order does not
    meet, orders that already have one, and orders already shipped or cancelled."""
    with transaction() as db:
        order = find(db, Order, order_id)
        require_changeable(order)
        if order.coupon:
            refuse(f"This order already has the coupon {order.coupon.code}.")
        coupon = db.scalars(select(Coupon).where(Coupon.code == code.upper())).one_or_none()
        if coupon is None:
            refuse(f"There is no coupon {code!r}. See list_coupons.", 404)
        require_coupon_fits(order, coupon)
        order.coupon = coupon
        touch(order)
        return show_whole_order(order)


@app.post("/orders/{order_id}/delivery", operation_id="change_delivery")
async def change_delivery(
    order_id: OrderId,
    address_id: Annotated[Id | None, given("Another of the customer's addresses, from get_customer.")] = None,
    shipping: Annotated[Shipping | None, given("Another way to deliver.")] = None,
) -> Record:
    """Change where an order goes, how it is shipped, or both. Refuses orders already shipped or cancelled,
    and addresses of other customers."""
    if address_id is None and shipping is None:
        refuse("Say what to change: address_id, shipping or both.", 422)
    with transaction() as db:
        order = find(db, Order, order_id)
        require_changeable(order)
        if address_id is not None:
            address = find(db, Address, address_id)
            require_address_of(order.customer, address)
            order.address = address
        if shipping is not None:
            order.shipping = shipping
        touch(order)
        return show_whole_order(order)


@app.post("/orders/{order_id}/cancellation", operation_id="cancel_order")
async def cancel_order(order_id: OrderId) -> Record:
    """Cancel an order and put its items back in stock. Refuses orders already shipped or cancelled."""
    with transaction() as db:
        order = find(db, Order, order_id)
        require_changeable(order)
        order.status = "cancelled"
        for item in order.items:
            take_stock(item.product, -item.quantity)
        touch(order)
        return show_whole_order(order)


@app.post("/orders/{order_id}/shipment", operation_id="ship_order")
async def ship_order(order_id: OrderId) -> Record:
    """Record that an order left the house today. It cannot be changed afterwards.

    Refuses orders already shipped or cancelled."""
    with transaction() as db:
        order = find(db, Order, order_id)
        require_changeable(order)
        order.status, order.shipped_on = "shipped", today()
        touch(order)
        return show_whole_order(order)


@app.post("/orders/{order_id}/returns", operation_id="open_return")
async def open_return(
    order_id: OrderId,
    product_id: Annotated[Id, given("The product that comes back, from get_order.")],
    quantity: Annotated[Quantity, given("How many pieces of it come back.")],
    reason: Annotated[Literal["damaged", "wrong_item", "changed_mind"], given("Why it comes back.")],
) -> Record:
    """Open a return for a product of a delivered order; decide_return and refund_return follow.

    Refuses orders delivered more than 30 days ago and more pieces than were bought and not yet returned."""
    with transaction() as db:
        order = find(db, Order, order_id)
        if order.delivered_on is None:
            refuse(f"This order is {order.status}. Only delivered orders can be returned.")
        if today() > order.delivered_on + RETURN_PERIOD:
            refuse(
                f"This order was delivered on {order.delivered_on}, more than {RETURN_PERIOD.days} days ago."
            )
        item = next((item for item in order.items if item.product_id == product_id), None)
        if item is None:
            refuse("This product is not on the order. See get_order for what is.", 404)
        if quantity > (left := item.quantity - pieces_returned(db, item)):
            refuse(f"Only {left} of {item.product.name} can still be returned.")
        returned = Return(item=item, quantity=quantity, reason=reason, requested_on=today())
        return show_return(save(db, returned))


@app.post("/returns/{return_id}/decision", operation_id="decide_return")
async def decide_return(
    return_id: ReturnId,
    decision: Annotated[Literal["approved", "rejected"], given("What was decided.")],
) -> Record:
    """Approve or reject a return that was requested. Refuses returns already decided."""
    with transaction() as db:
        returned = find(db, Return, return_id)
        if returned.status != "requested":
            refuse(f"This return was already {returned.status}.")
        returned.status = decision
        return show_return(returned)


@app.post("/returns/{return_id}/refund", operation_id="refund_return")
async def refund_return(
    return_id: ReturnId,
    method: Annotated[Literal["card", "store_credit"], given("How the customer gets the money back.")],
) -> Record:
    """Refund an approved return and, unless it is damaged, put it back in stock.

    The amount is what was paid after any coupon, less 10% if the customer changed their mind.
    Refuses returns that are not approved."""
    with transaction() as db:
        returned = find(db, Return, return_id)
        if returned.status != "approved":
            refuse(f"This return is {returned.status}. Only approved returns can be refunded.")
        refund = Refund(
            return_id=returned.id, amount_cents=refund_cents(returned), method=method, issued_on=today()
        )
        save(db, refund)
        returned.status = "refunded"
        if method == "store_credit":
            returned.item.order.customer.credit_cents += refund.amount_cents
        if returned.reason != "damaged":
            take_stock(returned.item.product, -returned.quantity)
        return {**show_return(returned), "amount": dollars(refund.amount_cents), "method": method}


@app.post("/products/{product_id}/price", operation_id="set_product_price")
async def set_product_price(
    product_id: ProductId,
    new_price: Annotated[Dollars, given("The new price in dollars.")],
) -> Record:
    """Change a product's price for new orders. Refuses changes by more than half, which look like a slip."""
    with transaction() as db:
        product = find(db, Product, product_id)
        change = abs(cents(new_price) - product.price_cents)
        if change * 100 > product.price_cents * MOST_PRICE_CHANGE_PERCENT:
            refuse(
                f"{product.name} costs {price(product.price_cents)}; it may change by half of that at most."
            )
        product.price_cents = cents(new_price)
        return show_product(product)


@app.post("/products/{product_id}/count", operation_id="count_stock")
async def count_stock(
    product_id: ProductId,
    counted: Annotated[int, given("How many pieces were counted on the shelf.", ge=0, le=100_000)],
) -> Record:
    """Correct the pieces on hand to what was counted. Refuses a count that is what the books say already."""
    with transaction() as db:
        product = find(db, Product, product_id)
        if product.on_hand == counted:
            refuse(f"The books already say {counted} of {product.name}. Nothing to correct.")
        product.on_hand = counted
        return show_product(product)


@app.post("/products/{product_id}/purchase-orders", operation_id="place_purchase_order")
async def place_purchase_order(
    product_id: ProductId,
    quantity: Annotated[Quantity, given("How many pieces to buy.")],
) -> Record:
    """Buy new stock of a product from its supplier. Refuses discontinued products, products with an open
    purchase order, and less than the supplier's minimum quantity."""
    with transaction() as db:
        product = find(db, Product, product_id)
        if product.status == "discontinued":
            refuse(f"{product.name} is discontinued.")
        if purchase := open_purchase_order(db, product):
            refuse(f"{purchase.quantity} are on order already, expected on {purchase.expected_on}.")
        if quantity < (least := product.supplier.minimum_quantity):
            refuse(f"{product.supplier.name} delivers no fewer than {least} pieces.")
        expected_on = today() + timedelta(days=product.supplier.lead_days)
        purchase = PurchaseOrder(
            product=product, quantity=quantity, ordered_on=today(), expected_on=expected_on
        )
        return show_purchase_order(save(db, purchase))


@app.post("/purchase-orders/{purchase_order_id}/receipt", operation_id="receive_purchase_order")
async def receive_purchase_order(purchase_order_id: PurchaseOrderId) -> Record:
    """Record that an open purchase order arrived in full, and add its pieces to the stock."""
    with transaction() as db:
        purchase = find(db, PurchaseOrder, purchase_order_id)
        require_open(purchase)
        purchase.status = "received"
        take_stock(purchase.product, -purchase.quantity)
        return show_purchase_order(purchase)


@app.post("/purchase-orders/{purchase_order_id}/cancellation", operation_id="cancel_purchase_order")
async def cancel_purchase_order(purchase_order_id: PurchaseOrderId) -> Record:
    """Cancel an open purchase order. Refuses those that were received or cancelled already."""
    with transaction() as db:
        purchase = find(db, PurchaseOrder, purchase_order_id)
        require_open(purchase)
        purchase.status = "cancelled"
        return show_purchase_order(purchase)


def require_open(purchase: PurchaseOrder) -> None:
    if purchase.status != "open":
        refuse(f"This purchase order was already {purchase.status}.")
