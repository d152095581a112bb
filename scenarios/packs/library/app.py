"""The lending library: members borrow copies of books, renew them, queue for them and pay for lateness.

Reading order: the rules of the house, the tables, the plumbing, what the tools are given and show, the
rules at work, then the tools themselves, reads before writes. The database counts cents, the tools speak
of dollars.
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

LOAN_PERIOD = timedelta(days=21)
MEMBERSHIP_PERIOD = timedelta(days=365)
MOST_RENEWALS = 2
MOST_LOANS = {"adult": 6, "junior": 3}
LATE_CENTS_PER_DAY = 25
MOST_LATE_CENTS = 1000
DEBT_LIMIT_CENTS = 1000
WAIVER_LIMIT_CENTS = 500

# ---------------------------------------------------------------- tables


class Table(DeclarativeBase):
    """What all tables share: an integer key."""

    id: Mapped[int] = mapped_column(primary_key=True)


class Branch(Table):
    __tablename__ = "branches"
    name: Mapped[str]
    street: Mapped[str]


class Member(Table):
    __tablename__ = "members"
    name: Mapped[str]
    email: Mapped[str]
    kind: Mapped[str]
    home_branch_id: Mapped[int] = mapped_column(ForeignKey("branches.id"))
    joined_on: Mapped[date]
    expires_on: Mapped[date]
    suspended: Mapped[bool] = mapped_column(default=False)
    home_branch: Mapped[Branch] = relationship()


class Author(Table):
    __tablename__ = "authors"
    name: Mapped[str]


class Book(Table):
    __tablename__ = "books"
    title: Mapped[str]
    author_id: Mapped[int] = mapped_column(ForeignKey("authors.id"))
    genre: Mapped[str]
    published: Mapped[int]
    author: Mapped[Author] = relationship()


class Copy(Table):
    __tablename__ = "copies"
    book_id: Mapped[int] = mapped_column(ForeignKey("books.id"))
    branch_id: Mapped[int] = mapped_column(ForeignKey("branches.id"))
    barcode: Mapped[str]
    status: Mapped[str]
    book: Mapped[Book] = relationship()
    branch: Mapped[Branch] = relationship()


class Loan(Table):
    __tablename__ = "loans"
    copy_id: Mapped[int] = mapped_column(ForeignKey("copies.id"))
    member_id: Mapped[int] = mapped_column(ForeignKey("members.id"))
    borrowed_on: Mapped[date]
    due_on: Mapped[date]
    returned_on: Mapped[date | None]
    renewals: Mapped[int] = mapped_column(default=0)
    copy: Mapped[Copy] = relationship()
    member: Mapped[Member] = relationship()


class Hold(Table):
    __tablename__ = "holds"
    book_id: Mapped[int] = mapped_column(ForeignKey("books.id"))
    member_id: Mapped[int] = mapped_column(ForeignKey("members.id"))
    pickup_branch_id: Mapped[int] = mapped_column(ForeignKey("branches.id"))
    copy_id: Mapped[int | None] = mapped_column(ForeignKey("copies.id"))
    status: Mapped[str] = mapped_column(default="waiting")
    placed_at: Mapped[str]
    book: Mapped[Book] = relationship()
    member: Mapped[Member] = relationship()
    pickup_branch: Mapped[Branch] = relationship()
    copy: Mapped[Copy | None] = relationship()


class Policy(Table):
    __tablename__ = "policy"
    section: Mapped[str]
    text: Mapped[str]


class Fine(Table):
    __tablename__ = "fines"
    member_id: Mapped[int] = mapped_column(ForeignKey("members.id"))
    loan_id: Mapped[int] = mapped_column(ForeignKey("loans.id"))
    reason: Mapped[str]
    amount_cents: Mapped[int]
    status: Mapped[str] = mapped_column(default="open")
    issued_on: Mapped[date]
    settled_on: Mapped[date | None]
    member: Mapped[Member] = relationship()
    loan: Mapped[Loan] = relationship()


# ---------------------------------------------------------------- plumbing

Record: TypeAlias = dict[str, Any]
Row = TypeVar("Row", bound=Table)

app = FastAPI(title="Riverside Lending Library")
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


def price(cents: int) -> str:
    return f"${dollars(cents):.2f}"


# ---------------------------------------------------------------- what the tools are given

Id: TypeAlias = Annotated[int, Field(ge=1, le=2**31)]
BookId: TypeAlias = Annotated[Id, Path(description="The book's id, from search_books.")]
CopyId: TypeAlias = Annotated[Id, Path(description="The copy's id, from get_book or list_copies.")]
FineId: TypeAlias = Annotated[Id, Path(description="The fine's id, from list_fines.")]
HoldId: TypeAlias = Annotated[Id, Path(description="The hold's id, from get_member or list_holds.")]
LoanId: TypeAlias = Annotated[Id, Path(description="The loan's id, from get_member or list_loans.")]
MemberId: TypeAlias = Annotated[Id, Path(description="The member's id, from search_members.")]
Limit: TypeAlias = Annotated[int, Query(ge=1, le=50, description="How many results to show at most.")]


def given(description: str, **limits: Any) -> Any:
    """Describe one field of a request's body."""
    return Body(embed=True, description=description, **limits)


# ---------------------------------------------------------------- what the tools show


def show_branch(branch: Branch) -> Record:
    return {"branch_id": branch.id, "name": branch.name, "street": branch.street}


def show_member(member: Member) -> Record:
    return {
        "member_id": member.id,
        "name": member.name,
        "email": member.email,
        "kind": member.kind,
        "home_branch": member.home_branch.name,
        "expires_on": member.expires_on,
        "suspended": member.suspended,
    }


def show_book(book: Book) -> Record:
    return {
        "book_id": book.id,
        "title": book.title,
        "author": book.author.name,
        "genre": book.genre,
        "published": book.published,
    }


def show_copy(copy: Copy) -> Record:
    return {
        "copy_id": copy.id,
        "barcode": copy.barcode,
        "title": copy.book.title,
        "branch": copy.branch.name,
        "status": copy.status,
    }


def show_loan(loan: Loan) -> Record:
    return {
        "loan_id": loan.id,
        "copy_id": loan.copy_id,
        "title": loan.copy.book.title,
        "branch": loan.copy.branch.name,
        "member_id": loan.member_id,
        "member": loan.member.name,
        "borrowed_on": loan.borrowed_on,
        "due_on": loan.due_on,
        "returned_on": loan.returned_on,
        "renewals": loan.renewals,
    }


def show_hold(hold: Hold) -> Record:
    return {
        "hold_id": hold.id,
        "book_id": hold.book_id,
        "title": hold.book.title,
        "member_id": hold.member_id,
        "member": hold.member.name,
        "pickup_branch": hold.pickup_branch.name,
        "status": hold.status,
        "copy_id": hold.copy_id,
        "placed_at": hold.placed_at,
    }


def show_fine(fine: Fine) -> Record:
    return {
        "fine_id": fine.id,
        "member_id": fine.member_id,
        "member": fine.member.name,
        "title": fine.loan.copy.book.title,
        "reason": fine.reason,
        "amount": dollars(fine.amount_cents),
        "status": fine.status,
        "issued_on": fine.issued_on,
        "settled_on": fine.settled_on,
    }


# ---------------------------------------------------------------- the rules at work


def open_loans(member: Member) -> Select[Loan]:
    return (
        select(Loan)
        .where(Loan.member_id == member.id, Loan.returned_on.is_(None))
        .order_by(Loan.due_on, Loan.id)
    )


def live_holds(member: Member) -> Select[Hold]:
    live = Hold.status.in_(("waiting", "ready"))
    return select(Hold).where(Hold.member_id == member.id, live).order_by(Hold.placed_at, Hold.id)


def queue(book: Book) -> Select[Hold]:
    """Those who wait for a book, first come first served."""
    waiting = (Hold.book_id == book.id, Hold.status == "waiting")
    return select(Hold).where(*waiting).order_by(Hold.placed_at, Hold.id)


def owed_cents(db: Session, member: Member) -> int:
    open_fines = (Fine.member_id == member.id, Fine.status == "open")
    return db.scalars(select(func.coalesce(func.sum(Fine.amount_cents), 0)).where(*open_fines)).one()


def require_good_standing(db: Session, member: Member) -> None:
    if member.suspended:
        refuse(f"{member.name} is suspended.")
    if member.expires_on < today():
        refuse(f"{member.name}'s membership ran out on {member.expires_on}. Extend it first.")
    if (owed := owed_cents(db, member)) > DEBT_LIMIT_CENTS:
        refuse(f"{member.name} owes {price(owed)}, more than {price(DEBT_LIMIT_CENTS)}. Settle fines first.")


def require_status(copy: Copy, *allowed: str) -> None:
    if copy.status not in allowed:
        refuse(f"This copy is {plain(copy.status)}, not {' or '.join(map(plain, allowed))}.")


def require_room(db: Session, member: Member) -> None:
    most = MOST_LOANS[member.kind]
    if len(db.scalars(open_loans(member)).all()) >= most:
        refuse(f"{member.name} already has {most} loans, the most one may have. Take one back first.")


def take_from_shelf(db: Session, copy: Copy, member: Member) -> None:
    """An available copy may go to anyone; one on the hold shelf only to the member it is kept for."""
    if copy.status == "on_hold_shelf":
        keeper = db.scalars(select(Hold).where(Hold.copy_id == copy.id)).one()
        if keeper.member_id != member.id:
            refuse("This copy is kept for another member. Choose an available copy or place a hold.")
        keeper.status, keeper.copy = "collected", None
    elif copy.status != "available":
        refuse(f"This copy is {plain(copy.status)}. Choose an available copy or place a hold.")


def release(db: Session, copy: Copy) -> None:
    """Send a free copy to the first member who waits for it, or back to the open shelf."""
    hold = db.scalars(queue(copy.book)).first()
    if hold is None:
        copy.status = "available"
    else:
        hold.status, hold.copy = "ready", copy
        copy.status, copy.branch = "on_hold_shelf", hold.pickup_branch


def late_cents(loan: Loan) -> int:
    days_late = max(0, (today() - loan.due_on).days)
    return min(days_late * LATE_CENTS_PER_DAY, MOST_LATE_CENTS)


def settle(fine: Fine, outcome: Literal["paid", "waived"]) -> None:
    if fine.status != "open":
        refuse(f"This fine was already {fine.status}.")
    fine.status, fine.settled_on = outcome, today()


# ---------------------------------------------------------------- reads


@app.get("/branches", operation_id="list_branches")
async def list_branches() -> Record:
    """List the branches of the library with their ids and streets."""
    with transaction() as db:
        return page(db, select(Branch).order_by(Branch.name), show_branch, limit=50)


@app.get("/members", operation_id="search_members")
async def search_members(
    query: Annotated[str, Query(min_length=2, description="Words from the member's name or email address.")],
    limit: Limit = 10,
) -> Record:
    """Find members by name or email address. Returns ids, home branches and the last days of memberships."""
    with transaction() as db:
        found = (
            select(Member).where(mentions(query, Member.name, Member.email)).order_by(Member.name, Member.id)
        )
        return page(db, found, show_member, limit)


@app.get("/members/{member_id}", operation_id="get_member")
async def get_member(member_id: MemberId) -> Record:
    """Show one member with open loans (soonest due first), live holds and what is owed in dollars."""
    with transaction() as db:
        member = find(db, Member, member_id)
        return {
            **show_member(member),
            "owes": dollars(owed_cents(db, member)),
            "loans": [show_loan(loan) for loan in db.scalars(open_loans(member))],
            "holds": [show_hold(hold) for hold in db.scalars(live_holds(member))],
        }


@app.get("/books", operation_id="search_books")
async def search_books(
    query: Annotated[
        str, Query(description="Words from the title or the author's name. Leave empty for all.")
    ] = "",
    genre: Annotated[
        Literal["novel", "crime", "poetry", "history", "science", "children"] | None,
        Query(description="Only this genre."),
    ] = None,
    limit: Limit = 10,
) -> Record:
    """Find books by title, author or genre, ordered by title. Returns ids; get_book shows the copies."""
    with transaction() as db:
        found = select(Book).join(Book.author).where(mentions(query, Book.title, Author.name))
        return page(db, narrow(found, (Book.genre, genre)).order_by(Book.title, Book.id), show_book, limit)


@app.get("/books/{book_id}", operation_id="get_book")
async def get_book(book_id: BookId) -> Record:
    """Show one book with all its copies, where they are and their status, and how many wait for it."""
    with transaction() as db:
        book = find(db, Book, book_id)
        copies = db.scalars(select(Copy).where(Copy.book_id == book.id).order_by(Copy.id))
        waiting = len(db.scalars(queue(book)).all())
        return {**show_book(book), "copies": [show_copy(copy) for copy in copies], "members_waiting": waiting}


@app.get("/copies", operation_id="list_copies")
async def list_copies(
    branch_id: Annotated[Id | None, Query(description="Only copies at this branch.")] = None,
    status: Annotated[
        Literal["available", "on_loan", "on_hold_shelf", "in_repair", "withdrawn"] | None,
        Query(description="Only copies in this status."),
    ] = None,
    barcode: Annotated[str | None, Query(description="Only the copy with this barcode.")] = None,
    limit: Limit = 20,
) -> Record:
    """List copies by branch, status or barcode, ordered by title, and how many there are in all."""
    with transaction() as db:
        wanted = ((Copy.branch_id, branch_id), (Copy.status, status), (Copy.barcode, barcode))
        found = narrow(select(Copy).join(Copy.book), *wanted).order_by(Book.title, Copy.id)
        return page(db, found, show_copy, limit)


@app.get("/loans", operation_id="list_loans")
async def list_loans(
    member_id: Annotated[Id | None, Query(description="Only this member's loans.")] = None,
    book_id: Annotated[Id | None, Query(description="Only loans of this book.")] = None,
    branch_id: Annotated[Id | None, Query(description="Only loans of copies of this branch.")] = None,
    status: Annotated[
        Literal["open", "overdue", "returned", "all"],
        Query(description="Overdue loans are open loans past their due date."),
    ] = "open",
    limit: Limit = 20,
) -> Record:
    """List loans by member, book, branch and status, soonest due first, and how many there are in all."""
    chosen = {
        "open": (Loan.returned_on.is_(None),),
        "overdue": (Loan.returned_on.is_(None), Loan.due_on < today()),
        "returned": (Loan.returned_on.is_not(None),),
        "all": (),
    }
    with transaction() as db:
        wanted = ((Loan.member_id, member_id), (Copy.book_id, book_id), (Copy.branch_id, branch_id))
        found = narrow(select(Loan).join(Loan.copy).where(*chosen[status]), *wanted)
        return page(db, found.order_by(Loan.due_on, Loan.id), show_loan, limit)


@app.get("/holds", operation_id="list_holds")
async def list_holds(
    book_id: Annotated[Id | None, Query(description="Only holds on this book.")] = None,
    member_id: Annotated[Id | None, Query(description="Only this member's holds.")] = None,
    pickup_branch_id: Annotated[
        Id | None, Query(description="Only holds to be picked up at this branch.")
    ] = None,
    status: Annotated[
        Literal["waiting", "ready", "collected", "cancelled"] | None,
        Query(description="Only holds in this status."),
    ] = None,
    limit: Limit = 20,
) -> Record:
    """List holds, those placed first at the top: for one book and status waiting, that is the queue."""
    with transaction() as db:
        wanted = ((Hold.book_id, book_id), (Hold.member_id, member_id))
        also = ((Hold.pickup_branch_id, pickup_branch_id), (Hold.status, status))
        return page(
            db, narrow(select(Hold), *wanted, *also).order_by(Hold.placed_at, Hold.id), show_hold, limit
        )


@app.get("/fines", operation_id="list_fines")
async def list_fines(
    member_id: Annotated[Id | None, Query(description="Only this member's fines.")] = None,
    status: Annotated[
        Literal["open", "paid", "waived"] | None, Query(description="Only fines in this status.")
    ] = None,
    limit: Limit = 20,
) -> Record:
    """List fines in dollars, the oldest first, with the book that each is about."""
    with transaction() as db:
        found = narrow(select(Fine), (Fine.member_id, member_id), (Fine.status, status))
        return page(db, found.order_by(Fine.issued_on, Fine.id), show_fine, limit)


@app.get("/policy", operation_id="read_policy")
async def read_policy() -> Record:
    """Read the house rules that staff must follow, section by section; the tools do not enforce all of them."""
    with transaction() as db:
        rules = db.scalars(select(Policy).order_by(Policy.id))
        return {"sections": [{"section": rule.section, "text": rule.text} for rule in rules]}


# ---------------------------------------------------------------- writes


@app.post("/members", operation_id="register_member")
async def register_member(
    name: Annotated[str, given("Full name.", min_length=2)],
    email: Annotated[str, given("Email address, not yet used by another member.", pattern=r"^\S+@\S+$")],
    kind: Annotated[
        Literal["adult", "junior"], given("Juniors are under 16 and may have three loans, adults six.")
    ],
    home_branch_id: Annotated[Id, given("The member's home branch, from list_branches.")],
) -> Record:
    """Register a new member for one year from today. Refuses an email address that is already in use."""
    with transaction() as db:
        branch = find(db, Branch, home_branch_id)
        require_new_email(db, email)
        term = {"joined_on": today(), "expires_on": today() + MEMBERSHIP_PERIOD}
        return show_member(save(db, Member(name=name, email=email, kind=kind, home_branch=branch, **term)))


@app.patch("/members/{member_id}", operation_id="update_member")
async def update_member(
    member_id: MemberId,
    email: Annotated[str | None, given("The new email address.", pattern=r"^\S+@\S+$")] = None,
    home_branch_id: Annotated[Id | None, given("The new home branch, from list_branches.")] = None,
) -> Record:
    """Change a member's email address, home branch or both. Refuses an email address already in use."""
    if email is None and home_branch_id is None:
        refuse("Say what to change: email, home_branch_id or both.", 422)
    with transaction() as db:
        member = find(db, Member, member_id)
        if email is not None:
            require_new_email(db, email)
            member.email = email
        if home_branch_id is not None:
            member.home_branch = find(db, Branch, home_branch_id)
        return show_member(member)


def require_new_email(db: Session, email: str) -> None:
    if holder := db.scalars(select(Member).where(func.lower(Member.email) == email.lower())).first():
        refuse(f"{email} already belongs to {holder.name} (member {holder.id}).")


@app.post("/members/{member_id}/extension", operation_id="extend_membership")
async def extend_membership(member_id: MemberId) -> Record:
    """Extend a membership by one year, counted from today or, if it still runs, from its last day.

    Refuses while it has more than 90 days to run."""
    with transaction() as db:
        member = find(db, Member, member_id)
        if member.expires_on > today() + timedelta(days=90):
            refuse(
                f"{member.name}'s membership runs until {member.expires_on}. Extend it in its last 90 days."
            )
        member.expires_on = max(member.expires_on, today()) + MEMBERSHIP_PERIOD
        return show_member(member)


@app.post("/copies/{copy_id}/loans", operation_id="lend_copy")
async def lend_copy(
    copy_id: CopyId,
    member_id: Annotated[Id, given("The borrower's id, from search_members.")],
) -> Record:
    """Lend a copy to a member for 21 days. A copy on the hold shelf goes only to the member it is kept for.

    Refuses members who are suspended, expired, owe more than $10 or have as many loans as they may
    (adults 6, juniors 3)."""
    with transaction() as db:
        copy, member = find(db, Copy, copy_id), find(db, Member, member_id)
        require_good_standing(db, member)
        require_room(db, member)
        take_from_shelf(db, copy, member)
        copy.status = "on_loan"
        term = {"borrowed_on": today(), "due_on": today() + LOAN_PERIOD}
        return show_loan(save(db, Loan(copy=copy, member=member, **term)))


@app.post("/loans/{loan_id}/return", operation_id="return_loan")
async def return_loan(loan_id: LoanId) -> Record:
    """Take back a lent copy. If it is late, a fine of 25 cents a day (at most $10) is opened and shown.

    The copy then goes to the first member who waits for it, or back to the shelf. Refuses returned loans."""
    with transaction() as db:
        loan = find(db, Loan, loan_id)
        if loan.returned_on:
            refuse(f"This loan was already returned on {loan.returned_on}.")
        loan.returned_on = today()
        release(db, loan.copy)
        return {**show_loan(loan), "copy_status": loan.copy.status, "late_fine": open_late_fine(db, loan)}


def open_late_fine(db: Session, loan: Loan) -> Record | None:
    if not (cents := late_cents(loan)):
        return None
    fine = Fine(member=loan.member, loan=loan, reason="late", amount_cents=cents, issued_on=today())
    return show_fine(save(db, fine))


@app.post("/loans/{loan_id}/renewal", operation_id="renew_loan")
async def renew_loan(loan_id: LoanId) -> Record:
    """Put off a loan's due date by 21 days. Refuses loans that are overdue or were renewed twice,
    books that others wait for, and members not in good standing."""
    with transaction() as db:
        loan = find(db, Loan, loan_id)
        if loan.returned_on:
            refuse(f"This loan was already returned on {loan.returned_on}.")
        if loan.due_on < today():
            refuse(f"This loan was due on {loan.due_on}. An overdue copy must be returned.")
        if loan.renewals >= MOST_RENEWALS:
            refuse("This loan was renewed twice already. The copy must be returned.")
        if db.scalars(queue(loan.copy.book)).first():
            refuse(f"Others are waiting for {loan.copy.book.title!r}. The copy must be returned when due.")
        require_good_standing(db, loan.member)
        loan.renewals += 1
        loan.due_on += LOAN_PERIOD
        return show_loan(loan)


@app.post("/books/{book_id}/holds", operation_id="place_hold")
async def place_hold(
    book_id: BookId,
    member_id: Annotated[Id, given("The member who wants the book, from search_members.")],
    pickup_branch_id: Annotated[Id, given("Where it will be picked up, from list_branches.")],
) -> Record:
    """Put a member in the queue for a book. Refuses if a copy stands available at the pickup branch (lend
    that one), if the member already has or awaits the book, and members not in good standing."""
    with transaction() as db:
        book, member = find(db, Book, book_id), find(db, Member, member_id)
        branch = find(db, Branch, pickup_branch_id)
        require_good_standing(db, member)
        on_shelf = (Copy.book_id == book.id, Copy.branch_id == branch.id, Copy.status == "available")
        if copy := db.scalars(select(Copy).where(*on_shelf).order_by(Copy.id)).first():
            refuse(f"Copy {copy.id} stands available at {branch.name}. Lend it instead.")
        if db.scalars(live_holds(member).where(Hold.book_id == book.id)).first():
            refuse(f"{member.name} already has a hold on this book.")
        if db.scalars(open_loans(member).join(Loan.copy).where(Copy.book_id == book.id)).first():
            refuse(f"{member.name} has this book on loan.")
        hold = Hold(
            book=book, member=member, pickup_branch=branch, placed_at=now().isoformat(timespec="seconds")
        )
        return show_hold(save(db, hold))


@app.post("/holds/{hold_id}/cancellation", operation_id="cancel_hold")
async def cancel_hold(hold_id: HoldId) -> Record:
    """Cancel a waiting or ready hold. A copy kept for it goes to the next in the queue or to the shelf."""
    with transaction() as db:
        hold = find(db, Hold, hold_id)
        require_live(hold)
        kept = hold.copy
        hold.status, hold.copy = "cancelled", None
        if kept is not None:
            release(db, kept)
        return show_hold(hold)


def require_live(hold: Hold) -> None:
    if hold.status not in ("waiting", "ready"):
        refuse(f"This hold was already {hold.status}.")


@app.post("/holds/{hold_id}/pickup-branch", operation_id="change_hold_pickup")
async def change_hold_pickup(
    hold_id: HoldId,
    pickup_branch_id: Annotated[Id, given("The new pickup branch, from list_branches.")],
) -> Record:
    """Change where a waiting hold will be picked up. Refuses holds whose copy is already on a hold shelf."""
    with transaction() as db:
        hold, branch = find(db, Hold, hold_id), find(db, Branch, pickup_branch_id)
        require_live(hold)
        if hold.status == "ready":
            refuse(f"A copy is already waiting at {hold.pickup_branch.name}; it must be picked up there.")
        hold.pickup_branch = branch
        return show_hold(hold)


@app.post("/fines/{fine_id}/payment", operation_id="pay_fine")
async def pay_fine(fine_id: FineId) -> Record:
    """Record that a fine was paid in full. Refuses fines that are not open."""
    with transaction() as db:
        fine = find(db, Fine, fine_id)
        settle(fine, "paid")
        return show_fine(fine)


@app.post("/fines/{fine_id}/waiver", operation_id="waive_fine")
async def waive_fine(fine_id: FineId) -> Record:
    """Let a member off a late fine of up to $5. Refuses larger fines, fines for damage and settled fines."""
    with transaction() as db:
        fine = find(db, Fine, fine_id)
        if fine.reason != "late" or fine.amount_cents > WAIVER_LIMIT_CENTS:
            refuse(f"Only late fines up to {price(WAIVER_LIMIT_CENTS)} may be waived. This one must be paid.")
        settle(fine, "waived")
        return show_fine(fine)


@app.post("/copies/{copy_id}/move", operation_id="move_copy")
async def move_copy(
    copy_id: CopyId,
    branch_id: Annotated[Id, given("The branch it moves to, from list_branches.")],
) -> Record:
    """Move a copy to another branch. Refuses copies that are not available, or that are there already."""
    with transaction() as db:
        copy, branch = find(db, Copy, copy_id), find(db, Branch, branch_id)
        require_status(copy, "available")
        if copy.branch_id == branch.id:
            refuse(f"This copy is already at {branch.name}.")
        copy.branch = branch
        return show_copy(copy)


@app.post("/copies/{copy_id}/repair", operation_id="send_copy_to_repair")
async def send_copy_to_repair(copy_id: CopyId) -> Record:
    """Take an available copy off the shelf for repair. Refuses copies in any other status."""
    with transaction() as db:
        copy = find(db, Copy, copy_id)
        require_status(copy, "available")
        copy.status = "in_repair"
        return show_copy(copy)


@app.post("/copies/{copy_id}/repair/end", operation_id="finish_repair")
async def finish_repair(copy_id: CopyId) -> Record:
    """Bring a copy back from repair: to the first member who waits for the book, or to the shelf.

    Refuses copies that are not in repair."""
    with transaction() as db:
        copy = find(db, Copy, copy_id)
        require_status(copy, "in_repair")
        release(db, copy)
        return show_copy(copy)


@app.post("/copies/{copy_id}/withdrawal", operation_id="withdraw_copy")
async def withdraw_copy(copy_id: CopyId) -> Record:
    """Take a copy out of the collection for good. Refuses copies that are not on the shelf or in repair."""
    with transaction() as db:
        copy = find(db, Copy, copy_id)
        require_status(copy, "available", "in_repair")
        copy.status = "withdrawn"
        return show_copy(copy)
