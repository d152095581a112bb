"""The retail bank: customers have accounts, cards, payees and standing orders; the desk serves them.

Reading order: the rules of the bank, the tables, the plumbing, what the tools are given and show, the
rules at work, then the tools themselves, reads before writes. The ledger counts cents, the tools speak of
dollars. Money only moves through `post`, which writes both sides.
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
    column_property,
    mapped_column,
    relationship,
    sessionmaker,
)

# ---------------------------------------------------------------- the rules of the bank

CARD_TERM = timedelta(days=4 * 365)
ADDRESS_COOLING_OFF = timedelta(days=14)
PAYEE_COOLING_OFF = timedelta(days=3)
NEW_PAYEE_LIMIT_CENTS = 500_00
FEE_REFUND_PERIOD = timedelta(days=60)
DISPUTE_PERIOD = timedelta(days=120)
STANDING_ORDER_NOTICE = timedelta(days=2)
MOST_OVERDRAFT_CENTS = {"basic": 500_00, "plus": 2000_00}
MOST_CARD_LIMIT_CENTS = {"basic": 1000_00, "plus": 3000_00}
STEP_CENTS = 50_00
MOST_ACCOUNTS = 4

# ---------------------------------------------------------------- tables


class Table(DeclarativeBase):
    """What all tables share: an integer key."""

    id: Mapped[int] = mapped_column(primary_key=True)


class Customer(Table):
    __tablename__ = "customers"
    name: Mapped[str]
    email: Mapped[str]
    phone: Mapped[str]
    town: Mapped[str]
    tier: Mapped[str]
    joined_on: Mapped[date]
    moved_on: Mapped[date | None]


class Entry(Table):
    __tablename__ = "entries"
    transaction_id: Mapped[int] = mapped_column(ForeignKey("transactions.id"))
    account_id: Mapped[int] = mapped_column(ForeignKey("accounts.id"))
    amount_cents: Mapped[int]


class Hold(Table):
    __tablename__ = "holds"
    account_id: Mapped[int] = mapped_column(ForeignKey("accounts.id"))
    amount_cents: Mapped[int]
    kind: Mapped[str]
    placed_by: Mapped[str]
    placed_on: Mapped[date]
    released_on: Mapped[date | None]
    account: Mapped["Account"] = relationship()


class Account(Table):
    __tablename__ = "accounts"
    customer_id: Mapped[int | None] = mapped_column(ForeignKey("customers.id"))
    number: Mapped[str]
    kind: Mapped[str]
    status: Mapped[str] = mapped_column(default="open")
    overdraft_cents: Mapped[int] = mapped_column(default=0)
    opened_on: Mapped[date]
    closed_on: Mapped[date | None]
    customer: Mapped[Customer] = relationship(lazy="joined", innerjoin=True)
    """An inner join: the bank's own accounts, which have no customer, are found by none of the tools."""


Account.balance_cents = column_property(
    select(func.coalesce(func.sum(Entry.amount_cents), 0))
    .where(Entry.account_id == Account.id)
    .correlate_except(Entry)
    .scalar_subquery()
)
Account.held_cents = column_property(
    select(func.coalesce(func.sum(Hold.amount_cents), 0))
    .where(Hold.account_id == Account.id, Hold.released_on.is_(None))
    .correlate_except(Hold)
    .scalar_subquery()
)


class Card(Table):
    __tablename__ = "cards"
    account_id: Mapped[int] = mapped_column(ForeignKey("accounts.id"))
    digits: Mapped[str]
    status: Mapped[str] = mapped_column(default="active")
    blocked_for: Mapped[str | None]
    limit_cents: Mapped[int]
    issued_on: Mapped[date]
    expires_on: Mapped[date]
    replaces_id: Mapped[int | None] = mapped_column(ForeignKey("cards.id"))
    account: Mapped[Account] = relationship(lazy="joined")


class Payee(Table):
    __tablename__ = "payees"
    customer_id: Mapped[int] = mapped_column(ForeignKey("customers.id"))
    name: Mapped[str]
    account_number: Mapped[str]
    added_on: Mapped[date]
    customer: Mapped[Customer] = relationship(lazy="joined")


class Transaction(Table):
    __tablename__ = "transactions"
    kind: Mapped[str]
    text: Mapped[str]
    booked_at: Mapped[str]
    card_id: Mapped[int | None] = mapped_column(ForeignKey("cards.id"))
    payee_id: Mapped[int | None] = mapped_column(ForeignKey("payees.id"))
    reverses_id: Mapped[int | None] = mapped_column(ForeignKey("transactions.id"))
    card: Mapped[Card | None] = relationship()

    @property
    def booked_on(self) -> date:
        return date.fromisoformat(self.booked_at[:10])


class StandingOrder(Table):
    __tablename__ = "standing_orders"
    account_id: Mapped[int] = mapped_column(ForeignKey("accounts.id"))
    payee_id: Mapped[int] = mapped_column(ForeignKey("payees.id"))
    amount_cents: Mapped[int]
    day: Mapped[int]
    next_on: Mapped[date | None]
    status: Mapped[str] = mapped_column(default="active")
    account: Mapped[Account] = relationship(lazy="joined")
    payee: Mapped[Payee] = relationship(lazy="joined")


class Dispute(Table):
    __tablename__ = "disputes"
    transaction_id: Mapped[int] = mapped_column(ForeignKey("transactions.id"))
    reason: Mapped[str]
    status: Mapped[str] = mapped_column(default="open")
    opened_on: Mapped[date]
    closed_on: Mapped[date | None]
    transaction: Mapped[Transaction] = relationship(lazy="joined")


class Fee(Table):
    __tablename__ = "fees"
    name: Mapped[str]
    amount_cents: Mapped[int]


class Policy(Table):
    __tablename__ = "policy"
    section: Mapped[str]
    text: Mapped[str]


# ---------------------------------------------------------------- plumbing

Record: TypeAlias = dict[str, Any]
Row = TypeVar("Row", bound=Table)

app = FastAPI(title="Harbour Street Bank")
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
        f"No {plain(table.__tablename__).removesuffix('s')} with id {key}: look it up first.", 404
    )


def save(db: Session, row: Row) -> Row:
    """Add a new row and give it its id."""
    db.add(row)
    db.flush()
    return row


def next_id(db: Session, table: type[Row]) -> int:
    return db.scalars(select(func.coalesce(func.max(table.id), 0) + 1)).one()


def page(db: Session, query: Select[Row], show: Callable[[Row], Record], limit: int) -> Record:
    """Show the first results and say how many there are in all."""
    rows = db.scalars(query.limit(limit)).all()
    total = len(rows)
    if total == limit:
        total = db.scalar(select(func.count()).select_from(query.order_by(None).subquery()))
    return {"total": total, "results": [show(row) for row in rows]}


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


def price(cents: int) -> str:
    return f"${dollars(cents):,.2f}"


def cents_of(amount: float) -> int:
    cents = round(amount * 100)
    if abs(amount * 100 - cents) > 1e-6:
        refuse(f"{amount} is no amount in dollars and whole cents.", 422)
    return cents


# ---------------------------------------------------------------- what the tools are given

Id: TypeAlias = Annotated[int, Field(ge=1, le=2**31)]
AccountId: TypeAlias = Annotated[Id, Path(description="The account's id, from get_customer or list_accounts.")]
CardId: TypeAlias = Annotated[Id, Path(description="The card's id, from list_cards.")]
CustomerId: TypeAlias = Annotated[Id, Path(description="The customer's id, from search_customers.")]
DisputeId: TypeAlias = Annotated[Id, Path(description="The dispute's id, from list_disputes.")]
HoldId: TypeAlias = Annotated[Id, Path(description="The hold's id, from list_holds or get_account.")]
OrderId: TypeAlias = Annotated[Id, Path(description="The standing order's id, from list_standing_orders.")]
TransactionId: TypeAlias = Annotated[Id, Path(description="The transaction's id, from list_transactions.")]
Limit: TypeAlias = Annotated[int, Query(ge=1, le=100, description="How many results to show at most.")]
OfCustomer: TypeAlias = Annotated[
    Id | None, Query(description="Only this customer's, by id from search_customers.")
]
OfAccount: TypeAlias = Annotated[Id | None, Query(description="Only this account's, by id.")]
Reason: TypeAlias = Literal["lost", "stolen", "damaged", "misused", "not_needed"]


def given(description: str, **limits: Any) -> Any:
    """Describe one field of a request's body."""
    return Body(embed=True, description=description, **limits)


def money(description: str) -> Any:
    return given(description, gt=0, le=1_000_000)


# ---------------------------------------------------------------- what the tools show


def show_customer(customer: Customer) -> Record:
    return {
        "customer_id": customer.id,
        "name": customer.name,
        "email": customer.email,
        "phone": customer.phone,
        "town": customer.town,
        "tier": customer.tier,
        "moved_on": customer.moved_on,
    }


def show_account(account: Account) -> Record:
    return {
        "account_id": account.id,
        "number": account.number,
        "kind": account.kind,
        "status": account.status,
        "customer_id": account.customer_id,
        "customer": account.customer.name,
        "balance": dollars(account.balance_cents),
        "available": dollars(available_cents(account)),
        "overdraft": dollars(account.overdraft_cents),
        "opened_on": account.opened_on,
    }


def show_card(card: Card) -> Record:
    return {
        "card_id": card.id,
        "digits": card.digits,
        "account_id": card.account_id,
        "account": card.account.number,
        "customer_id": card.account.customer_id,
        "customer": card.account.customer.name,
        "status": card.status,
        "blocked_for": card.blocked_for,
        "daily_limit": dollars(card.limit_cents),
        "expires_on": card.expires_on,
    }


def show_payee(payee: Payee) -> Record:
    return {
        "payee_id": payee.id,
        "customer": payee.customer.name,
        "name": payee.name,
        "account_number": payee.account_number,
        "added_on": payee.added_on,
    }


def show_transaction(done: Transaction) -> Record:
    return {
        "transaction_id": done.id,
        "kind": done.kind,
        "text": done.text,
        "booked_on": done.booked_on,
        "card": done.card.digits if done.card else None,
        "reverses_transaction_id": done.reverses_id,
    }


def show_order(order: StandingOrder) -> Record:
    return {
        "standing_order_id": order.id,
        "account_id": order.account_id,
        "account": order.account.number,
        "customer": order.account.customer.name,
        "payee": order.payee.name,
        "amount": dollars(order.amount_cents),
        "day_of_month": order.day,
        "next_on": order.next_on,
        "status": order.status,
    }


def show_hold(hold: Hold) -> Record:
    return {
        "hold_id": hold.id,
        "account_id": hold.account_id,
        "kind": hold.kind,
        "placed_by": hold.placed_by,
        "amount": dollars(hold.amount_cents),
        "placed_on": hold.placed_on,
        "released_on": hold.released_on,
    }


def show_dispute(dispute: Dispute, entry: Entry, account: Account) -> Record:
    return {
        "dispute_id": dispute.id,
        "customer": account.customer.name,
        "account": account.number,
        "merchant": dispute.transaction.text,
        "amount": dollars(-entry.amount_cents),
        "booked_on": dispute.transaction.booked_on,
        "reason": dispute.reason,
        "status": dispute.status,
        "opened_on": dispute.opened_on,
        "closed_on": dispute.closed_on,
    }


def show_fee(fee: Fee) -> Record:
    return {"fee_id": fee.id, "name": fee.name, "amount": dollars(fee.amount_cents)}


# ---------------------------------------------------------------- the rules at work


def available_cents(account: Account) -> int:
    """What may be spent: the balance and the overdraft, without what is held."""
    return account.balance_cents + account.overdraft_cents - account.held_cents


def require_open(account: Account) -> None:
    if account.status != "open":
        refuse(f"Account {account.number} was closed on {account.closed_on}.")


def require_funds(account: Account, cents: int) -> None:
    if cents > (available := available_cents(account)):
        refuse(f"Account {account.number} has {price(available)} available, less than {price(cents)}.")


def house_id(db: Session, number: str) -> int:
    return db.scalars(select(Account.id).where(Account.number == number)).one()


def post(db: Session, kind: str, text: str, moves: dict[int, int], **of: Any) -> Transaction:
    """Write a transaction and its entries.

    Args:
        moves: account id to cents, which add up to nothing.
    """
    done = save(db, Transaction(kind=kind, text=text, booked_at=now().isoformat(timespec="seconds"), **of))
    db.add_all(Entry(transaction_id=done.id, account_id=key, amount_cents=moves[key]) for key in moves)
    db.flush()
    return done


def receipt(db: Session, done: Transaction, account: Account, cents: int) -> Record:
    db.refresh(account, ["balance_cents"])
    return {
        **show_transaction(done),
        "amount": dollars(cents),
        "account": account.number,
        "balance": dollars(account.balance_cents),
    }


def customers_side(db: Session, done: Transaction) -> tuple[Entry, Account]:
    """The customer's entry of a transaction with the bank, and the account."""
    sides = select(Entry, Account).join(Account, Account.id == Entry.account_id)
    customers = (Entry.transaction_id == done.id, Account.kind != "house")
    entry, account = db.execute(sides.where(*customers)).one()
    return entry, account


def require_status(card: Card, *allowed: str) -> None:
    if card.status not in allowed:
        refuse(f"Card {card.digits} is {card.status}, not {' or '.join(allowed)}.")


def require_step(cents: int) -> None:
    if cents % STEP_CENTS:
        refuse(f"Limits go in steps of {price(STEP_CENTS)}: {price(cents)} is none.", 422)


def require_time_to_change(order: StandingOrder) -> None:
    if order.next_on is None:
        refuse(f"The standing order to {order.payee.name} was cancelled.")
    if order.next_on - today() < STANDING_ORDER_NOTICE:
        refuse(
            f"The standing order to {order.payee.name} goes out on {order.next_on}: "
            "it takes two days' notice to change or cancel it. Try again after that day."
        )


def require_own_payee(account: Account, payee: Payee) -> None:
    if payee.customer_id != account.customer_id:
        refuse(f"{payee.name} is a payee of {payee.customer.name}, not of {account.customer.name}.")
    if account.kind != "current":
        refuse("Only current accounts pay payees: move the money to one with transfer_money first.")


def next_day(day: int) -> date:
    """The next such day of a month, after today."""
    this = today().replace(day=day)
    return this if this > today() else (this.replace(day=1) + timedelta(days=32)).replace(day=day)


# ---------------------------------------------------------------- reads


@app.get("/policy", operation_id="read_policy")
async def read_policy() -> Record:
    """Read the house rules that staff must follow, section by section; the tools do not enforce all of them."""
    with transaction() as db:
        rules = db.scalars(select(Policy).order_by(Policy.id))
        return {"sections": [{"section": rule.section, "text": rule.text} for rule in rules]}


@app.get("/customers", operation_id="search_customers")
async def search_customers(
    query: Annotated[str, Query(min_length=2, description="Words from the name, email address or town.")],
    limit: Limit = 10,
) -> Record:
    """Find customers by name, email address or town. Returns ids, tiers and when they last moved house."""
    with transaction() as db:
        found = select(Customer).where(mentions(query, Customer.name, Customer.email, Customer.town))
        return page(db, found.order_by(Customer.name, Customer.id), show_customer, limit)


@app.get("/customers/{customer_id}", operation_id="get_customer")
async def get_customer(customer_id: CustomerId) -> Record:
    """Show one customer with all accounts: ids, numbers, balances and what is available."""
    with transaction() as db:
        customer = find(db, Customer, customer_id)
        accounts = select(Account).where(Account.customer_id == customer.id).order_by(Account.id)
        return {
            **show_customer(customer),
            "accounts": [show_account(account) for account in db.scalars(accounts)],
        }


@app.get("/accounts", operation_id="list_accounts")
async def list_accounts(
    number: Annotated[
        str | None, Query(description="Only the account with this number, as in HB-200731.")
    ] = None,
    kind: Annotated[
        Literal["current", "savings"] | None, Query(description="Only accounts of this kind.")
    ] = None,
    town: Annotated[str | None, Query(description="Only accounts of customers in this town.")] = None,
    overdrawn: Annotated[bool, Query(description="Only accounts with less than nothing on them.")] = False,
    limit: Limit = 20,
) -> Record:
    """List open accounts by number, kind, town or being overdrawn, with holders and balances."""
    with transaction() as db:
        found = select(Account).join(Account.customer).where(Account.status == "open")
        found = narrow(found, (Account.number, number), (Account.kind, kind), (Customer.town, town))
        if overdrawn:
            found = found.where(Account.balance_cents < 0)
        return page(db, found.order_by(Customer.name, Account.id), show_account, limit)


@app.get("/accounts/{account_id}", operation_id="get_account")
async def get_account(account_id: AccountId) -> Record:
    """Show one account: its balance, what is available, and the money that is held on it."""
    with transaction() as db:
        account = find(db, Account, account_id)
        live = (Hold.account_id == account.id, Hold.released_on.is_(None))
        holds = db.scalars(select(Hold).where(*live).order_by(Hold.placed_on, Hold.id))
        return {**show_account(account), "holds": [show_hold(hold) for hold in holds]}


@app.get("/accounts/{account_id}/transactions", operation_id="list_transactions")
async def list_transactions(
    account_id: AccountId,
    kind: Annotated[
        Literal[
            "deposit",
            "salary",
            "card",
            "transfer",
            "payment",
            "standing_order",
            "fee",
            "fee_refund",
            "dispute",
        ]
        | None,
        Query(description="Only transactions of this kind."),
    ] = None,
    first_day: Annotated[date | None, Query(description="From this day on, YYYY-MM-DD.")] = None,
    last_day: Annotated[date | None, Query(description="Up to and including this day, YYYY-MM-DD.")] = None,
    query: Annotated[str, Query(description="Words from the text: a merchant, a payee, a fee.")] = "",
    limit: Limit = 50,
) -> Record:
    """List what was booked on an account, newest first. Money that left it has a negative amount."""
    with transaction() as db:
        account = find(db, Account, account_id)
        found = (
            select(Transaction, Entry.amount_cents)
            .join(Entry, Entry.transaction_id == Transaction.id)
            .where(Entry.account_id == account.id, mentions(query, Transaction.text))
        )
        if kind is not None:
            found = found.where(Transaction.kind == kind)
        if first_day is not None:
            found = found.where(Transaction.booked_at >= first_day.isoformat())
        if last_day is not None:
            found = found.where(Transaction.booked_at < (last_day + timedelta(days=1)).isoformat())
        total = db.scalar(select(func.count()).select_from(found.subquery()))
        newest = found.order_by(Transaction.booked_at.desc(), Transaction.id.desc()).limit(limit)
        results = [
            {**show_transaction(done), "amount": dollars(cents)} for done, cents in db.execute(newest)
        ]
        return {"account": account.number, "total": total, "results": results}


@app.get("/cards", operation_id="list_cards")
async def list_cards(
    digits: Annotated[str | None, Query(description="Only the card that ends in these four digits.")] = None,
    customer_id: OfCustomer = None,
    account_id: OfAccount = None,
    status: Annotated[
        Literal["active", "frozen", "blocked", "expired"] | None,
        Query(description="Only cards in this status."),
    ] = None,
    limit: Limit = 20,
) -> Record:
    """List cards by digits, customer, account or status, with holders, daily limits and last days."""
    with transaction() as db:
        found = narrow(
            select(Card).join(Card.account),
            (Card.digits, digits),
            (Account.customer_id, customer_id),
            (Card.account_id, account_id),
            (Card.status, status),
        )
        return page(db, found.order_by(Card.id), show_card, limit)


@app.get("/customers/{customer_id}/payees", operation_id="list_payees")
async def list_payees(customer_id: CustomerId, limit: Limit = 20) -> Record:
    """List whom a customer pays elsewhere, and since when each payee has been on the list."""
    with transaction() as db:
        customer = find(db, Customer, customer_id)
        found = select(Payee).where(Payee.customer_id == customer.id).order_by(Payee.name, Payee.id)
        return page(db, found, show_payee, limit)


@app.get("/standing-orders", operation_id="list_standing_orders")
async def list_standing_orders(
    customer_id: OfCustomer = None,
    account_id: OfAccount = None,
    status: Annotated[
        Literal["active", "cancelled", "all"], Query(description="Which standing orders.")
    ] = "active",
    limit: Limit = 20,
) -> Record:
    """List standing orders: from which account, to whom, how much, and when the next one goes out."""
    with transaction() as db:
        found = narrow(
            select(StandingOrder).join(StandingOrder.account),
            (Account.customer_id, customer_id),
            (StandingOrder.account_id, account_id),
            (StandingOrder.status, None if status == "all" else status),
        )
        return page(db, found.order_by(StandingOrder.next_on, StandingOrder.id), show_order, limit)


@app.get("/holds", operation_id="list_holds")
async def list_holds(
    customer_id: OfCustomer = None,
    account_id: OfAccount = None,
    released: Annotated[bool, Query(description="Show those that were released instead.")] = False,
    limit: Limit = 20,
) -> Record:
    """List money that is held on accounts, the oldest first: by whom, how much and since when."""
    with transaction() as db:
        when = Hold.released_on.is_not(None) if released else Hold.released_on.is_(None)
        found = narrow(
            select(Hold).join(Hold.account).where(when),
            (Account.customer_id, customer_id),
            (Hold.account_id, account_id),
        )
        return page(db, found.order_by(Hold.placed_on, Hold.id), show_hold, limit)


@app.get("/disputes", operation_id="list_disputes")
async def list_disputes(
    status: Annotated[
        Literal["open", "upheld", "rejected", "withdrawn"] | None,
        Query(description="Only disputes in this status."),
    ] = None,
    customer_id: OfCustomer = None,
    town: Annotated[str | None, Query(description="Only disputes of customers in this town.")] = None,
    limit: Limit = 20,
) -> Record:
    """List disputed card payments, the oldest first: whose, which merchant, how much and how it stands."""
    with transaction() as db:
        found = (
            select(Dispute, Entry, Account)
            .join(Entry, Entry.transaction_id == Dispute.transaction_id)
            .join(Account, Account.id == Entry.account_id)
            .join(Customer, Customer.id == Account.customer_id)
            .order_by(Dispute.opened_on, Dispute.id)
        )
        wanted = ((Dispute.status, status), (Account.customer_id, customer_id), (Customer.town, town))
        shown = [show_dispute(*row) for row in db.execute(narrow(found, *wanted))]
        return {"total": len(shown), "results": shown[:limit]}


@app.get("/fees", operation_id="list_fees")
async def list_fees() -> Record:
    """List the fees that the bank charges: ids, names and amounts."""
    with transaction() as db:
        return page(db, select(Fee).order_by(Fee.name), show_fee, limit=50)


# ---------------------------------------------------------------- writes: customers and accounts


@app.patch("/customers/{customer_id}", operation_id="update_customer")
async def update_customer(
    customer_id: CustomerId,
    email: Annotated[str | None, given("The new email address.", pattern=r"^\S+@\S+$")] = None,
    phone: Annotated[str | None, given("The new phone number.", pattern=r"^[0-9 +-]{6,20}$")] = None,
    town: Annotated[str | None, given("The town that the customer has moved to.", min_length=2)] = None,
) -> Record:
    """Change a customer's email address, phone number or town. A new town counts as a move of today."""
    if email is None and phone is None and town is None:
        refuse("Say what to change: email, phone or town.", 422)
    with transaction() as db:
        customer = find(db, Customer, customer_id)
        if email is not None:
            holder = db.scalars(select(Customer).where(func.lower(Customer.email) == email.lower())).first()
            if holder is not None:
                refuse(f"{email} already belongs to {holder.name} (customer {holder.id}).")
            customer.email = email
        if town is not None and town != customer.town:
            customer.town, customer.moved_on = town, today()
        customer.phone = phone or customer.phone
        return show_customer(customer)


@app.post("/customers/{customer_id}/accounts", operation_id="open_account")
async def open_account(
    customer_id: CustomerId,
    kind: Annotated[Literal["current", "savings"], given("Savings accounts have no card, overdraft or payees.")],
) -> Record:
    """Open an empty account for a customer. Refuses customers with four open accounts already."""
    with transaction() as db:
        customer = find(db, Customer, customer_id)
        theirs = (Account.customer_id == customer.id, Account.status == "open")
        if db.scalar(select(func.count(Account.id)).where(*theirs)) >= MOST_ACCOUNTS:
            refuse(f"{customer.name} has {MOST_ACCOUNTS} accounts, the most one may have. Close one first.")
        number = f"HB-{200_000 + 17 * next_id(db, Account)}"
        account = Account(customer=customer, number=number, kind=kind, opened_on=today())
        return show_account(save(db, account))


@app.post("/accounts/{account_id}/closing", operation_id="close_account")
async def close_account(account_id: AccountId) -> Record:
    """Close an account for good. Refuses while it has money, debts, holds, usable cards, active standing
    orders or open disputes: each of these is to be dealt with first."""
    with transaction() as db:
        account = find(db, Account, account_id)
        require_open(account)
        if account.held_cents:
            refuse(f"{price(account.held_cents)} is held on {account.number}: see list_holds.")
        if account.balance_cents:
            refuse(f"{account.number} has a balance of {price(account.balance_cents)}: bring it to nothing.")
        require_nothing_runs(db, account)
        account.status, account.closed_on = "closed", today()
        return show_account(account)


def require_nothing_runs(db: Session, account: Account) -> None:
    usable = (Card.account_id == account.id, Card.status.in_(("active", "frozen")))
    if card := db.scalars(select(Card).where(*usable).order_by(Card.id)).first():
        refuse(f"Card {card.digits} of {account.number} is {card.status}: block it first.")
    live = (StandingOrder.account_id == account.id, StandingOrder.status == "active")
    if order := db.scalars(select(StandingOrder).where(*live).order_by(StandingOrder.id)).first():
        refuse(f"The standing order to {order.payee.name} runs from {account.number}: cancel it first.")
    disputed = select(Dispute.id).join(Entry, Entry.transaction_id == Dispute.transaction_id)
    if db.scalars(disputed.where(Entry.account_id == account.id, Dispute.status == "open")).first():
        refuse(f"A payment from {account.number} is disputed: see list_disputes.")


@app.post("/accounts/{account_id}/overdraft", operation_id="set_overdraft")
async def set_overdraft(
    account_id: AccountId,
    amount: Annotated[
        float, given("The new overdraft in dollars, in steps of 50; 0 for none.", ge=0, le=100_000)
    ],
) -> Record:
    """Set how far a current account may go below nothing: at most $500, for plus customers $2000.

    Refuses savings accounts, and less than what is used of it now."""
    with transaction() as db:
        account, cents = find(db, Account, account_id), cents_of(amount)
        require_open(account)
        require_step(cents)
        if account.kind != "current":
            refuse("A savings account has no overdraft.")
        most = MOST_OVERDRAFT_CENTS[account.customer.tier]
        if cents > most:
            refuse(f"The most for {account.customer.tier} customers is {price(most)}.")
        if cents < account.held_cents - account.balance_cents:
            refuse(f"{account.number} has {price(available_cents(account))} left of its overdraft: too little.")
        account.overdraft_cents = cents
        return show_account(account)


# ---------------------------------------------------------------- writes: money


@app.post("/accounts/{account_id}/transfers", operation_id="transfer_money")
async def transfer_money(
    account_id: Annotated[Id, Path(description="The account that the money leaves, by id.")],
    to_account_id: Annotated[Id, given("The account that it goes to, in this bank, by id.")],
    amount: Annotated[float, money("How much, in dollars.")],
) -> Record:
    """Move money between two accounts of this bank. From savings, it goes only to the customer's own accounts.

    Refuses closed accounts, and more than is available."""
    with transaction() as db:
        source, target = find(db, Account, account_id), find(db, Account, to_account_id)
        cents = cents_of(amount)
        if source.id == target.id:
            refuse("These are one and the same account.", 422)
        require_open(source)
        require_open(target)
        if source.kind == "savings" and source.customer_id != target.customer_id:
            refuse(f"Savings go to {source.customer.name}'s own accounts only: move them to a current account.")
        require_funds(source, cents)
        text = f"Transfer from {source.number} to {target.number}"
        done = post(db, "transfer", text, {source.id: -cents, target.id: cents})
        return receipt(db, done, source, -cents)


@app.post("/accounts/{account_id}/payments", operation_id="pay_payee")
async def pay_payee(
    account_id: Annotated[Id, Path(description="The current account that pays, by id.")],
    payee_id: Annotated[Id, given("Whom it pays, by id from list_payees.")],
    amount: Annotated[float, money("How much, in dollars.")],
) -> Record:
    """Pay one of the customer's payees at another bank. Refuses more than is available, and more than $500
    to payees that were added within the last three days."""
    with transaction() as db:
        account, payee, cents = find(db, Account, account_id), find(db, Payee, payee_id), cents_of(amount)
        require_open(account)
        require_own_payee(account, payee)
        cooled = payee.added_on + PAYEE_COOLING_OFF
        if cents > NEW_PAYEE_LIMIT_CENTS and cooled > today():
            refuse(f"{payee.name} was added on {payee.added_on}: no more than $500 until {cooled}.")
        require_funds(account, cents)
        moves = {account.id: -cents, house_id(db, "HOUSE-CLEARING"): cents}
        done = post(db, "payment", f"Payment to {payee.name}", moves, payee_id=payee.id)
        return receipt(db, done, account, -cents)


@app.post("/customers/{customer_id}/payees", operation_id="add_payee")
async def add_payee(
    customer_id: CustomerId,
    name: Annotated[str, given("The payee's name.", min_length=2)],
    account_number: Annotated[
        str, given("The payee's account at another bank, as in NB-441207.", pattern=r"^[A-Z]{2}-\d{6}$")
    ],
) -> Record:
    """Put a payee on a customer's list. Refuses account numbers that are on it already."""
    with transaction() as db:
        customer = find(db, Customer, customer_id)
        same = (Payee.customer_id == customer.id, Payee.account_number == account_number)
        if known := db.scalars(select(Payee).where(*same)).first():
            refuse(f"{account_number} is on the list already, as {known.name} (payee {known.id}).")
        return show_payee(
            save(db, Payee(customer=customer, name=name, account_number=account_number, added_on=today()))
        )


@app.post("/accounts/{account_id}/fees", operation_id="charge_fee")
async def charge_fee(
    account_id: AccountId, fee_id: Annotated[Id, given("Which fee, by id from list_fees.")]
) -> Record:
    """Charge an account one of the fees of the price list. Refuses where less than that is available."""
    with transaction() as db:
        account, fee = find(db, Account, account_id), find(db, Fee, fee_id)
        require_open(account)
        require_funds(account, fee.amount_cents)
        moves = {account.id: -fee.amount_cents, house_id(db, "HOUSE-FEES"): fee.amount_cents}
        return receipt(db, post(db, "fee", fee.name, moves), account, -fee.amount_cents)


@app.post("/transactions/{transaction_id}/fee-refund", operation_id="refund_fee")
async def refund_fee(transaction_id: TransactionId) -> Record:
    """Give a fee back. Refuses what is no fee, fees older than 60 days, and those given back already."""
    with transaction() as db:
        fee = find(db, Transaction, transaction_id)
        if fee.kind != "fee":
            refuse(f"{fee.text!r} is a {plain(fee.kind)}, not a fee.")
        if fee.booked_on + FEE_REFUND_PERIOD < today():
            refuse(f"{fee.text!r} was charged on {fee.booked_on}, more than 60 days ago.")
        if db.scalars(select(Transaction).where(Transaction.reverses_id == fee.id)).first():
            refuse(f"{fee.text!r} of {fee.booked_on} was given back already.")
        return give_back(db, fee, "fee_refund", f"Refund: {fee.text}", "HOUSE-FEES")


def give_back(db: Session, done: Transaction, kind: str, text: str, house: str) -> Record:
    house_account = house_id(db, house)
    entry, account = customers_side(db, done)
    moves = {account.id: -entry.amount_cents, house_account: entry.amount_cents}
    refund = post(db, kind, text, moves, reverses_id=done.id)
    return receipt(db, refund, account, -entry.amount_cents)


# ---------------------------------------------------------------- writes: standing orders and holds


@app.post("/accounts/{account_id}/standing-orders", operation_id="create_standing_order")
async def create_standing_order(
    account_id: Annotated[Id, Path(description="The current account that pays, by id.")],
    payee_id: Annotated[Id, given("Whom it pays, by id from list_payees.")],
    amount: Annotated[float, money("How much each month, in dollars.")],
    day_of_month: Annotated[int, given("On which day of each month.", ge=1, le=28)],
) -> Record:
    """Have an account pay a payee every month, first on the next such day after today.

    Refuses where one runs from this account to this payee already."""
    with transaction() as db:
        account, payee, cents = find(db, Account, account_id), find(db, Payee, payee_id), cents_of(amount)
        require_open(account)
        require_own_payee(account, payee)
        same = (StandingOrder.account_id == account.id, StandingOrder.payee_id == payee.id)
        if db.scalars(select(StandingOrder).where(*same, StandingOrder.status == "active")).first():
            refuse(f"A standing order to {payee.name} runs already: see change_standing_order.")
        plan = {"amount_cents": cents, "day": day_of_month, "next_on": next_day(day_of_month)}
        return show_order(save(db, StandingOrder(account=account, payee=payee, **plan)))


@app.patch("/standing-orders/{standing_order_id}", operation_id="change_standing_order")
async def change_standing_order(
    standing_order_id: OrderId,
    amount: Annotated[float | None, money("How much each month from now on, in dollars.")] = None,
    day_of_month: Annotated[int | None, given("On which day of each month.", ge=1, le=28)] = None,
) -> Record:
    """Change the amount or the day of a standing order. Refuses those that go out within two days."""
    if amount is None and day_of_month is None:
        refuse("Say what to change: amount, day_of_month or both.", 422)
    with transaction() as db:
        order = find(db, StandingOrder, standing_order_id)
        require_time_to_change(order)
        if amount is not None:
            order.amount_cents = cents_of(amount)
        if day_of_month is not None:
            order.day, order.next_on = day_of_month, next_day(day_of_month)
        return show_order(order)


@app.post("/standing-orders/{standing_order_id}/cancellation", operation_id="cancel_standing_order")
async def cancel_standing_order(standing_order_id: OrderId) -> Record:
    """Cancel a standing order for good. Refuses those that go out within two days."""
    with transaction() as db:
        order = find(db, StandingOrder, standing_order_id)
        require_time_to_change(order)
        order.status, order.next_on = "cancelled", None
        return show_order(order)


@app.post("/holds/{hold_id}/release", operation_id="release_hold")
async def release_hold(hold_id: HoldId) -> Record:
    """Set held money free. Refuses what a court holds, and what was released already."""
    with transaction() as db:
        hold = find(db, Hold, hold_id)
        if hold.released_on is not None:
            refuse(f"This hold was released on {hold.released_on}.")
        if hold.kind == "court_order":
            refuse(f"{hold.placed_by} holds this money: only the court can set it free.")
        hold.released_on = today()
        return show_hold(hold)


# ---------------------------------------------------------------- writes: cards and disputes


@app.post("/cards/{card_id}/freeze", operation_id="freeze_card")
async def freeze_card(card_id: CardId) -> Record:
    """Freeze an active card until it turns up. Refuses cards in any other status."""
    with transaction() as db:
        card = find(db, Card, card_id)
        require_status(card, "active")
        card.status = "frozen"
        return show_card(card)


@app.post("/cards/{card_id}/unfreeze", operation_id="unfreeze_card")
async def unfreeze_card(card_id: CardId) -> Record:
    """Make a frozen card usable again. Refuses cards in any other status: a block is for good."""
    with transaction() as db:
        card = find(db, Card, card_id)
        require_status(card, "frozen")
        card.status = "active"
        return show_card(card)


@app.post("/cards/{card_id}/block", operation_id="block_card")
async def block_card(card_id: CardId, reason: Annotated[Reason, given("Why it is blocked.")]) -> Record:
    """Block a card for good, for the reason given. Refuses cards that are blocked or expired already."""
    with transaction() as db:
        card = find(db, Card, card_id)
        require_status(card, "active", "frozen")
        card.status, card.blocked_for = "blocked", reason
        return show_card(card)


@app.post("/cards/{card_id}/replacement", operation_id="replace_card")
async def replace_card(card_id: CardId) -> Record:
    """Send a new card for one that was blocked, with the same daily limit. Charges nothing by itself.

    Refuses cards that are not blocked, that nobody needs, that were replaced already, and customers who
    moved house within the last 14 days."""
    with transaction() as db:
        card = find(db, Card, card_id)
        if card.status != "blocked":
            refuse(f"Card {card.digits} is {card.status}: block it first, saying why.")
        if card.blocked_for == "not_needed":
            refuse(f"Card {card.digits} was blocked because it is not needed.")
        require_open(card.account)
        if new := db.scalars(select(Card).where(Card.replaces_id == card.id)).first():
            refuse(f"Card {card.digits} was replaced by card {new.digits} on {new.issued_on}.")
        moved = card.account.customer.moved_on
        if moved is not None and moved + ADDRESS_COOLING_OFF > today():
            refuse(f"{card.account.customer.name} moved on {moved}: no card is sent for 14 days after that.")
        term = {"issued_on": today(), "expires_on": today() + CARD_TERM}
        digits = f"{next_id(db, Card) * 7919 % 10_000:04}"
        new = Card(
            account=card.account, digits=digits, limit_cents=card.limit_cents, replaces_id=card.id, **term
        )
        return show_card(save(db, new))


@app.post("/cards/{card_id}/limit", operation_id="set_card_limit")
async def set_card_limit(
    card_id: CardId, amount: Annotated[float, money("The new daily limit in dollars, in steps of 50.")]
) -> Record:
    """Set an active card's daily limit: at most $1000, for plus customers $3000."""
    with transaction() as db:
        card, cents = find(db, Card, card_id), cents_of(amount)
        require_status(card, "active")
        require_step(cents)
        tier = card.account.customer.tier
        if cents > (most := MOST_CARD_LIMIT_CENTS[tier]):
            refuse(f"The most for {tier} customers is {price(most)} a day.")
        card.limit_cents = cents
        return show_card(card)


@app.post("/transactions/{transaction_id}/disputes", operation_id="open_dispute")
async def open_dispute(
    transaction_id: TransactionId,
    reason: Annotated[
        Literal["unrecognised", "not_delivered", "wrong_amount"], given("What the customer says is wrong.")
    ],
) -> Record:
    """Dispute a card payment. Refuses other transactions, payments of more than 120 days ago, and those
    disputed before."""
    with transaction() as db:
        done = find(db, Transaction, transaction_id)
        if done.kind != "card":
            refuse(f"Only card payments are disputed; {done.text!r} is a {plain(done.kind)}.")
        if done.booked_on + DISPUTE_PERIOD < today():
            refuse(f"The payment at {done.text} is of {done.booked_on}, more than 120 days ago.")
        if known := db.scalars(select(Dispute).where(Dispute.transaction_id == done.id)).first():
            refuse(f"The payment at {done.text} was disputed on {known.opened_on}: it is {known.status}.")
        dispute = save(db, Dispute(transaction=done, reason=reason, opened_on=today()))
        return show_dispute(dispute, *customers_side(db, done))


@app.post("/disputes/{dispute_id}/outcome", operation_id="close_dispute")
async def close_dispute(
    dispute_id: DisputeId,
    outcome: Annotated[
        Literal["upheld", "rejected", "withdrawn"], given("Upheld: the customer gets the money back at once.")
    ],
) -> Record:
    """Close an open dispute. If it is upheld, what was paid is booked back to the account."""
    with transaction() as db:
        dispute = find(db, Dispute, dispute_id)
        if dispute.status != "open":
            refuse(f"This dispute was {dispute.status} on {dispute.closed_on}.")
        dispute.status, dispute.closed_on = outcome, today()
        done = dispute.transaction
        if outcome == "upheld":
            give_back(db, done, "dispute", f"Dispute upheld: {done.text}", "HOUSE-DISPUTES")
        return show_dispute(dispute, *customers_side(db, done))
