"""The library's rows, and templates of what is asked for at its desk.

Reading order: the rows; what templates look up; then the templates, easy, medium, hard.
"""

import random
from collections.abc import Iterator
from datetime import date
from typing import Any

from cast import CAST
from filler import Filler
from subworlds.scenarios.generation import Draft, World, call, phrase, pick, template

Row = dict[str, Any]

LATE_CENTS_PER_DAY, MOST_LATE_CENTS, DEBT_LIMIT_CENTS, WAIVER_LIMIT_CENTS = 25, 1000, 1000, 500
MOST_LOANS = {"adult": 6, "junior": 3}
MOST_HOLDS = {"adult": 3, "junior": 1}


def rows(rng: random.Random) -> Iterator[tuple[str, dict[str, object]]]:
    """The cast, table by table, each followed by its filler."""
    copies = CAST["copies"][1]
    filler = Filler(rng, stale_copies=[int(str(copy[0])) for copy in copies])
    for table, (columns, cast_rows) in CAST.items():
        for row in cast_rows:
            yield table, dict(zip(columns.split(), row, strict=True))
        for extra in filler.tables.get(table, []):
            yield table, extra


# ---------------------------------------------------------------- what templates look up


def today(world: World) -> date:
    return world.clock.date()


def members(world: World, where: str = "1") -> list[Row]:
    """Members with `called`: the name, and the home branch as well where two share the name."""
    return world.rows(f"""
        SELECT members.*, CASE
            WHEN (SELECT count(*) FROM members AS other WHERE other.name = members.name) = 1 THEN members.name
            ELSE members.name || ' (home branch ' || branches.name || ')' END AS called
        FROM members JOIN branches ON branches.id = home_branch_id WHERE {where} ORDER BY members.id
    """)


def member(world: World, key: int) -> Row:
    [found] = members(world, f"members.id = {key}")
    return found


def open_loans(world: World, where: str = "1") -> list[Row]:
    return world.rows(f"""
        SELECT loans.*, books.id AS book_id, title, home.id AS branch_id, home.name AS branch,
            (SELECT count(*) FROM holds WHERE holds.book_id = books.id AND holds.status = 'waiting') AS waiting
        FROM loans JOIN copies ON copies.id = copy_id JOIN books ON books.id = copies.book_id
        JOIN branches AS home ON home.id = copies.branch_id
        WHERE returned_on IS NULL AND {where} ORDER BY loans.id
    """)


def shelf(world: World, where: str = "1") -> list[Row]:
    """Copies on a shelf, each with how many copies of the book stand there."""
    return world.rows(f"""
        SELECT copies.*, title, branches.name AS branch, count(*) OVER (PARTITION BY book_id, branch_id) AS alike
        FROM copies JOIN books ON books.id = book_id JOIN branches ON branches.id = branch_id
        WHERE status = 'available' AND {where} ORDER BY copies.id
    """)


def live_holds(world: World, where: str = "1") -> list[Row]:
    return world.rows(f"""
        SELECT holds.*, title FROM holds JOIN books ON books.id = book_id
        WHERE holds.status IN ('waiting', 'ready') AND {where} ORDER BY placed_at, holds.id
    """)


def owed_cents(world: World, who: Row) -> int:
    return int(
        world.value(
            "SELECT coalesce(sum(amount_cents), 0) FROM fines WHERE member_id = ? AND status = 'open'",
            who["id"],
        )
    )


def late_cents(world: World, loan: Row) -> int:
    days = (today(world) - date.fromisoformat(loan["due_on"])).days
    return min(max(0, days) * LATE_CENTS_PER_DAY, MOST_LATE_CENTS)


def in_good_standing(world: World, who: Row, further_cents: int = 0) -> bool:
    lapsed = who["expires_on"] < today(world).isoformat()
    return not who["suspended"] and not lapsed and owed_cents(world, who) + further_cents <= DEBT_LIMIT_CENTS


def loans_of(world: World, who: Row) -> list[Row]:
    return open_loans(world, f"member_id = {who['id']}")


def holds_of(world: World, who: Row) -> list[Row]:
    return live_holds(world, f"member_id = {who['id']}")


def next_fine(world: World) -> int:
    return int(world.value("SELECT max(id) + 1 FROM fines"))


def dollars(cents: int) -> float | int:
    return cents // 100 if cents % 100 == 0 else cents / 100


def look_up(who: Row) -> Row:
    return call("search_members", query=who["name"])


def show(who: Row) -> Row:
    return call("get_member", member_id=who["id"])


def look_up_book(title: str) -> Row:
    return call("search_books", query=title)


# ---------------------------------------------------------------- easy


@template("due-back", difficulty="easy", tags=("read",))
def due_back(world: World, rng: random.Random) -> Draft | None:
    """When a book must be back."""
    loan = pick(rng, open_loans(world))
    if loan is None:
        return None
    who = member(world, loan["member_id"])
    return Draft(
        prompt=phrase(
            rng,
            "By when must {who} bring back {title}? Answer with the date only, written YYYY-MM-DD.",
            "{who} is on the phone and wants to know when {title} is due. Give me the date as YYYY-MM-DD.",
            "What is the due date of the copy of {title} that {who} has at home? Date only, YYYY-MM-DD.",
            who=who["called"],
            title=loan["title"],
        ),
        solution=[look_up(who), show(who)],
        answer={"text": loan["due_on"]},
    )


@template("owed", difficulty="easy", tags=("read",))
def owed(world: World, rng: random.Random) -> Draft | None:
    """What a member owes."""
    who = pick(rng, [one for one in members(world) if owed_cents(world, one)])
    if who is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "What does {who} owe us in open fines? Answer with the amount in dollars, number only.",
            "{who} asks how much is still to pay. Tell me the sum in dollars, just the number.",
            "How many dollars of fines are open for {who}? Number only.",
            who=who["called"],
        ),
        solution=[look_up(who), show(who)],
        answer={"number": dollars(owed_cents(world, who))},
    )


@template("on-which-shelf", difficulty="easy", tags=("read",))
def on_which_shelf(world: World, rng: random.Random) -> Draft | None:
    """The only branch where a book stands on the shelf."""
    copies = shelf(world)
    copy = pick(
        rng, [one for one in copies if sum(other["book_id"] == one["book_id"] for other in copies) == 1]
    )
    if copy is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "There is one copy of {title} on a shelf right now. At which branch? Answer with the branch's "
            "name only.",
            "Somebody wants to take {title} home today. Which branch has it on its shelf? Just the "
            "branch's name.",
            "Where could a reader pick {title} off the shelf at this moment? Answer with the name of the "
            "branch.",
            title=copy["title"],
        ),
        solution=[look_up_book(copy["title"]), call("get_book", book_id=copy["book_id"])],
        answer={"text": copy["branch"]},
    )


@template("which-book", difficulty="easy", tags=("read",))
def which_book(world: World, rng: random.Random) -> Draft | None:
    """The title that a barcode belongs to."""
    copy = pick(
        rng, world.rows("SELECT barcode, title FROM copies JOIN books ON books.id = book_id ORDER BY barcode")
    )
    if copy is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "A jacket without a book: the label says {code}. Which title does it belong to? Title only.",
            "What is the title of the copy with the barcode {code}? Answer with the title only.",
            "I can only read the barcode, {code}. Which book is that? Just the title, please.",
            code=copy["barcode"],
        ),
        solution=[call("list_copies", barcode=copy["barcode"])],
        answer={"text": copy["title"]},
    )


@template("change-email", difficulty="easy", tags=("write",))
def change_email(world: World, rng: random.Random) -> Draft | None:
    """A new email address."""
    who = pick(rng, members(world))
    if who is None:
        return None
    address = who["email"].replace("postbox", rng.choice(("seamail", "hillmail", "quickpost")))
    return Draft(
        prompt=phrase(
            rng,
            "{who} has moved to another mail provider. The new address is {address}; please put it on "
            "record.",
            "Please change {who}'s email address to {address}.",
            "Our letters to {who} bounce. The right email address is {address}.",
            who=who["called"],
            address=address,
        ),
        solution=[look_up(who), call("update_member", member_id=who["id"], email=address)],
        about=["email", who["id"]],
    )


@template("extend", difficulty="easy", tags=("write",))
def extend(world: World, rng: random.Random) -> Draft | None:
    """Another year of membership."""
    who = pick(rng, members(world, "julianday(expires_on) <= julianday('now') + 89"))
    if who is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{who} would like to stay a member for another year. Please extend the membership.",
            "Please extend {who}'s membership by a year.",
            "{who} is at the desk to renew the membership card for one more year.",
            who=who["called"],
        ),
        solution=[look_up(who), call("extend_membership", member_id=who["id"])],
    )


@template("to-the-workshop", difficulty="easy", tags=("write",))
def to_the_workshop(world: World, rng: random.Random) -> Draft | None:
    """A copy on the shelf that needs repair, told by its barcode."""
    copy = pick(rng, shelf(world))
    if copy is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "The spine of {code} is broken. Please send that copy to repair.",
            "{code} has lost its cover on the shelf; it must go to the workshop.",
            "Coffee was spilt over the copy with the barcode {code}. Take it off the shelf for repair.",
            code=copy["barcode"],
        ),
        solution=[
            call("list_copies", barcode=copy["barcode"]),
            call("send_copy_to_repair", copy_id=copy["id"]),
        ],
    )


# ---------------------------------------------------------------- medium


@template("renew", difficulty="medium", tags=("write",))
def renew(world: World, rng: random.Random) -> Draft | None:
    """Three more weeks with a book."""
    loan = pick(rng, open_loans(world, "due_on >= date('now') AND renewals < 2"))
    if loan is None:
        return None
    who = member(world, loan["member_id"])
    if loan["waiting"] or not in_good_standing(world, who):
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{who} has not finished {title}. Please renew the loan.",
            "Please give {who} three more weeks with {title}.",
            "{who} rings to renew {title}. Please do that.",
            who=who["called"],
            title=loan["title"],
        ),
        solution=[look_up(who), show(who), call("renew_loan", loan_id=loan["id"])],
    )


@template("take-back", difficulty="medium", tags=("write",))
def take_back(world: World, rng: random.Random) -> Draft | None:
    """A book brought back in time."""
    loan = pick(rng, open_loans(world, "due_on >= date('now')"))
    if loan is None:
        return None
    who = member(world, loan["member_id"])
    return Draft(
        prompt=phrase(
            rng,
            "{who} has brought back {title}. Please check it in.",
            "{title} was in the return box this morning; it is the copy that {who} had. Please check it in.",
            "Please take back {title} from {who}.",
            who=who["called"],
            title=loan["title"],
        ),
        solution=[look_up(who), show(who), call("return_loan", loan_id=loan["id"])],
    )


@template("pay-for-one", difficulty="medium", tags=("write",))
def pay_for_one(world: World, rng: random.Random) -> Draft | None:
    """One of several fines is paid."""
    fines = world.rows("""
        SELECT fines.*, title, count(*) OVER (PARTITION BY fines.member_id) AS beside
        FROM fines JOIN loans ON loans.id = loan_id JOIN copies ON copies.id = loans.copy_id
        JOIN books ON books.id = copies.book_id WHERE fines.status = 'open' ORDER BY fines.id
    """)
    fine = pick(rng, [one for one in fines if one["beside"] > 1])
    if (
        fine is None
        or sum((f["member_id"], f["title"]) == (fine["member_id"], fine["title"]) for f in fines) > 1
    ):
        return None
    who = member(world, fine["member_id"])
    return Draft(
        prompt=phrase(
            rng,
            "{who} pays the fine for {title}, and nothing else today. Please record it.",
            "Of the open fines of {who}, the one about {title} has been paid. Put that on record.",
            "{who} settles what is owed for {title}; the rest stays open. Please record the payment.",
            who=who["called"],
            title=fine["title"],
        ),
        solution=[
            look_up(who),
            call("list_fines", member_id=who["id"], status="open"),
            call("pay_fine", fine_id=fine["id"]),
        ],
    )


@template("drop-hold", difficulty="medium", tags=("write",))
def drop_hold(world: World, rng: random.Random) -> Draft | None:
    """A member no longer waits for a book."""
    hold = pick(rng, live_holds(world))
    if hold is None:
        return None
    who = member(world, hold["member_id"])
    return Draft(
        prompt=phrase(
            rng,
            "{who} has bought {title} and does not need the hold any more. Please cancel it.",
            "Please take {who} off the list for {title}.",
            "{who} no longer wants to wait for {title}: cancel that hold.",
            who=who["called"],
            title=hold["title"],
        ),
        solution=[look_up(who), show(who), call("cancel_hold", hold_id=hold["id"])],
    )


@template("lend-from-shelf", difficulty="medium", tags=("write",))
def lend_from_shelf(world: World, rng: random.Random) -> Draft | None:
    """The one copy on a branch's shelf goes to a member."""
    copy = pick(rng, [one for one in shelf(world) if one["alike"] == 1])
    who = pick(rng, [one for one in members(world) if may_take(world, one, copy)])
    if copy is None or who is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{who} stands at the {branch} desk with {title} from the shelf there. Please lend it out.",
            "Please lend {who} the copy of {title} that is on the shelf at {branch}.",
            "{who} takes {title} home from {branch}'s shelf. Please book the loan.",
            who=who["called"],
            title=copy["title"],
            branch=copy["branch"],
        ),
        solution=[
            look_up(who),
            look_up_book(copy["title"]),
            call("get_book", book_id=copy["book_id"]),
            call("lend_copy", copy_id=copy["id"], member_id=who["id"]),
        ],
    )


def may_take(world: World, who: Row, copy: Row | None) -> bool:
    mine = loans_of(world, who)
    has_it = copy is not None and any(loan["book_id"] == copy["book_id"] for loan in mine)
    return in_good_standing(world, who) and len(mine) < MOST_LOANS[who["kind"]] and not has_it


@template("first-in-line", difficulty="medium", tags=("read",))
def first_in_line(world: World, rng: random.Random) -> Draft | None:
    """The address of who waits longest for a book."""
    holds = live_holds(world, "holds.status = 'waiting'")
    title = pick(rng, sorted({hold["title"] for hold in holds}))
    if title is None:
        return None
    first = next(hold for hold in holds if hold["title"] == title)
    who = member(world, first["member_id"])
    return Draft(
        prompt=phrase(
            rng,
            "Of those in the queue for {title}, who has waited longest? Answer with the email address only.",
            "A copy of {title} comes back today. Give me the email address of the member who is next for "
            "it, no more.",
            "Who is at the head of the queue for {title}? Their email address only, please.",
            title=title,
        ),
        solution=[
            look_up_book(title),
            call("list_holds", book_id=first["book_id"], status="waiting"),
            call("get_member", member_id=who["id"]),
        ],
        answer={"text": who["email"]},
    )


@template("send-by-the-rules", difficulty="medium", tags=("write", "policy"))
def send_by_the_rules(world: World, rng: random.Random) -> Draft | None:
    """A copy for a branch that has none, from the branch that the house rules name."""
    title = pick(rng, sorted({copy["title"] for copy in shelf(world)}))
    copies = [copy for copy in shelf(world) if copy["title"] == title]
    sender = min(copies, key=lambda copy: (-copy["alike"], copy["branch"]), default=None)
    if sender is None or len({copy["branch"] for copy in copies}) < 2 or sender["alike"] > 1:
        return None
    taker = pick(
        rng,
        world.rows(
            "SELECT * FROM branches WHERE id NOT IN (SELECT branch_id FROM copies WHERE book_id = ?) ORDER "
            "BY id",
            sender["book_id"],
        ),
    )
    if taker is None:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{taker} asks for a copy of {title}. Several branches have one on the shelf: send it from the "
            "one that "
            "our house rules name.",
            "Please send {taker} a copy of {title}, from where the house rules say it should come.",
            "{taker} needs {title} for a reading circle. Move one there, and mind the house rules on which "
            "branch "
            "has to part with its copy.",
            taker=taker["name"],
            title=title,
        ),
        solution=[
            call("read_policy"),
            look_up_book(str(title)),
            call("get_book", book_id=sender["book_id"]),
            call("list_branches"),
            call("move_copy", copy_id=sender["id"], branch_id=taker["id"]),
        ],
    )


@template("given-up", difficulty="medium", tags=("write", "policy", "condition"))
def given_up(world: World, rng: random.Random) -> Draft | None:
    """A copy that cannot be repaired: withdrawn, or put back if it is the only one."""
    copy = pick(
        rng,
        world.rows("""
            SELECT copies.*, title, (SELECT count(*) FROM copies AS other WHERE other.book_id = copies.book_id
                AND other.id <> copies.id AND other.status <> 'withdrawn') AS others
            FROM copies JOIN books ON books.id = book_id WHERE status = 'in_repair' ORDER BY copies.id
        """),
    )
    if copy is None:
        return None
    tool = "withdraw_copy" if copy["others"] else "finish_repair"
    return Draft(
        prompt=phrase(
            rng,
            "The workshop can do nothing for the copy {code}. Do with it what our house rules say.",
            "{code} comes back from the workshop as it went: beyond repair. Please follow the house rules.",
            "They have given up on {code} in the workshop. What now? Look into the house rules and do it.",
            code=copy["barcode"],
        ),
        solution=[
            call("read_policy"),
            call("list_copies", barcode=copy["barcode"]),
            look_up_book(copy["title"]),
            call("get_book", book_id=copy["book_id"]),
            call(tool, copy_id=copy["id"]),
        ],
    )


# ---------------------------------------------------------------- hard


@template("late-by-the-rules", difficulty="hard", tags=("write", "policy", "condition"))
def late_by_the_rules(world: World, rng: random.Random) -> Draft | None:
    """A late book back, its fine settled by the house rules, another book lent."""
    kind = rng.choice(("adult", "junior"))
    borrowers = f"(SELECT id FROM members WHERE kind = '{kind}')"
    loan = pick(rng, open_loans(world, f"due_on < date('now') AND member_id IN {borrowers}"))
    copy = pick(rng, [one for one in shelf(world) if one["alike"] == 1])
    if loan is None or copy is None:
        return None
    who, cents = member(world, loan["member_id"]), late_cents(world, loan)
    if not in_good_standing(world, who) or copy["book_id"] in {
        one["book_id"] for one in loans_of(world, who)
    }:
        return None
    waived = who["kind"] == "junior" and cents <= WAIVER_LIMIT_CENTS
    return Draft(
        prompt=phrase(
            rng,
            "{who} returns {title}, late, and wants to take along {other} from the shelf at {branch}. "
            "Check the book "
            "in, settle the fine for it as the house rules have it for this member (if it has to be paid, "
            "it is paid "
            "now), then lend {other}.",
            "Check in {title} from {who}; it is overdue. What becomes of the fine is in the house rules; "
            "if it is to "
            "be paid, the money is on the table. After that, lend them the copy of {other} on {branch}'s "
            "shelf.",
            "{who} is at {branch} with the overdue {title}. Take it back, see the house rules for the fine "
            "(pay or "
            "waive; cash is at hand), and then lend {other} from the shelf here.",
            who=who["called"],
            title=loan["title"],
            other=copy["title"],
            branch=copy["branch"],
        ),
        solution=[
            call("read_policy"),
            look_up(who),
            show(who),
            call("return_loan", loan_id=loan["id"]),
            call("waive_fine" if waived else "pay_fine", fine_id=next_fine(world)),
            look_up_book(copy["title"]),
            call("get_book", book_id=copy["book_id"]),
            call("lend_copy", copy_id=copy["id"], member_id=who["id"]),
        ],
        about=["late", loan["id"]],
    )


@template("one-more-hold", difficulty="hard", tags=("write", "policy", "condition"))
def one_more_hold(world: World, rng: random.Random) -> Draft | None:
    """A hold, if the house rules let the member have one more; else only the count."""
    full = rng.random() < 0.5
    waiting = [one for one in members(world) if holds_of(world, one) and in_good_standing(world, one)]
    who = pick(
        rng, [one for one in waiting if (len(holds_of(world, one)) >= MOST_HOLDS[one["kind"]]) == full]
    )
    book = pick(rng, world.rows("SELECT * FROM books ORDER BY id"))
    branch = pick(rng, world.rows("SELECT * FROM branches ORDER BY id"))
    if who is None or book is None or branch is None or not may_wait(world, who, book, branch):
        return None
    holds, places = len(holds_of(world, who)), not full
    place = call("place_hold", book_id=book["id"], member_id=who["id"], pickup_branch_id=branch["id"])
    return Draft(
        prompt=phrase(
            rng,
            "{who} wants to be put in the queue for {title}, to be picked up at {branch}. Do that only if "
            "the house "
            "rules let this member have another hold. How many holds, waiting or ready, does the member "
            "have in the "
            "end? Number only.",
            "If our house rules allow {who} one more hold, place one on {title} for pick-up at {branch}. "
            "If they do "
            "not, leave everything as it is. Either way, answer with the number of live holds (waiting or "
            "ready) that "
            "{who} has now, number only.",
            "Can {who} have another hold under the house rules? If so, put it on {title}, pick-up "
            "{branch}. Then tell "
            "me how many waiting and ready holds that makes, or how many there are already; just the number.",
            who=who["called"],
            title=book["title"],
            branch=branch["name"],
        ),
        solution=[
            call("read_policy"),
            look_up(who),
            show(who),
            look_up_book(book["title"]),
            call("get_book", book_id=book["id"]),
            call("list_branches"),
            *([place] if places else []),
        ],
        answer={"number": holds + places},
        tags=("arithmetic", "policy", "condition", "write" if places else "read"),
        about=["hold", who["id"], book["id"]],
    )


def may_wait(world: World, who: Row, book: Row, branch: Row) -> bool:
    on_shelf = shelf(world, f"book_id = {book['id']} AND branch_id = {branch['id']}")
    waits = any(hold["book_id"] == book["id"] for hold in holds_of(world, who))
    has_it = any(loan["book_id"] == book["id"] for loan in loans_of(world, who))
    return not (on_shelf or waits or has_it)


@template("two-wishes", difficulty="hard", tags=("write", "condition"))
def two_wishes(world: World, rng: random.Random) -> Draft | None:
    """Two books at one branch: one lent from its shelf, one queued for, whichever is there."""
    branch = pick(rng, world.rows("SELECT * FROM branches ORDER BY id"))
    who = pick(rng, [one for one in members(world, "kind = 'adult'") if may_take(world, one, None)])
    books = world.rows("SELECT * FROM books ORDER BY id")
    if branch is None or who is None or holds_of(world, who):
        return None
    there = [copy for copy in shelf(world, f"branch_id = {branch['id']}") if copy["alike"] == 1]
    copy = pick(rng, [one for one in there if may_take(world, who, one)])
    absent = pick(rng, [book for book in books if may_wait(world, who, book, branch)])
    if copy is None or absent is None or absent["id"] == copy["book_id"]:
        return None
    first, second = rng.sample([copy["title"], absent["title"]], 2)
    return Draft(
        prompt=phrase(
            rng,
            "{who} would like {first} and {second}, both from {branch}. Lend what stands on the shelf "
            "there; for what "
            "does not, put the member in the queue, to be picked up at {branch}.",
            "{who} has come to {branch} for {first} and {second}. Each of them: if a copy is on {branch}'s "
            "shelf, lend "
            "it; if not, place a hold for pick-up at {branch}.",
            "Two wishes of {who}: {first} and {second}. What {branch} has on its shelf is lent at once, "
            "what it has "
            "not is put on hold with pick-up there.",
            who=who["called"],
            first=first,
            second=second,
            branch=branch["name"],
        ),
        solution=[
            look_up(who),
            call("list_branches"),
            look_up_book(copy["title"]),
            call("get_book", book_id=copy["book_id"]),
            look_up_book(absent["title"]),
            call("get_book", book_id=absent["id"]),
            call("lend_copy", copy_id=copy["id"], member_id=who["id"]),
            call("place_hold", book_id=absent["id"], member_id=who["id"], pickup_branch_id=branch["id"]),
        ],
    )


@template("owes-most", difficulty="hard", tags=("read",))
def owes_most(world: World, rng: random.Random) -> Draft | None:
    """Of those who are late with books of a branch, who owes most already, and how much."""
    branch = pick(rng, world.rows("SELECT * FROM branches ORDER BY id"))
    if branch is None:
        return None
    late = open_loans(world, f"due_on < date('now') AND copies.branch_id = {branch['id']}")
    borrowers = [member(world, key) for key in sorted({loan["member_id"] for loan in late})]
    debts = [owed_cents(world, one) for one in borrowers]
    if not 4 <= len(borrowers) <= 10 or debts.count(max(debts)) > 1:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "Look at the members who are overdue with copies of the {branch} branch. One of them owes more "
            "in open "
            "fines than the others: how much? Answer in dollars, number only.",
            "Among those who have an overdue book from {branch}, what is the most that any of them owes us "
            "in open "
            "fines at the moment? The amount in dollars, number only.",
            "{branch}'s own copies that are overdue: go through their borrowers and tell me the highest "
            "debt of open "
            "fines that one of them has, in dollars, just the number.",
            branch=branch["name"],
        ),
        solution=[
            call("list_branches"),
            call("list_loans", branch_id=branch["id"], status="overdue"),
            *(call("get_member", member_id=one["id"]) for one in borrowers),
        ],
        answer={"number": dollars(max(debts))},
    )


@template("all-overdue", difficulty="hard", tags=("write", "condition"))
def all_overdue(world: World, rng: random.Random) -> Draft | None:
    """Everything overdue comes back, and the late fines that this opens are paid, not those before."""
    who = pick(rng, [one for one in members(world) if 2 <= len(overdue_of(world, one)) <= 4])
    if who is None:
        return None
    late, first = overdue_of(world, who), next_fine(world)
    return Draft(
        prompt=phrase(
            rng,
            "{who} brings back everything that is overdue, and only that, and pays the late fines that "
            "come of it; "
            "older fines stay as they are. Please record it all.",
            "Please check in all overdue loans of {who}, none of the others, and record the late fines "
            "that this opens "
            "as paid. Leave older fines alone.",
            "{who} has cleared the shelf at home of all that is overdue. Check these books in and book the "
            "payment of "
            "each fine this opens, but of no earlier fine.",
            who=who["called"],
        ),
        solution=[
            look_up(who),
            call("list_loans", member_id=who["id"], status="overdue"),
            *(call("return_loan", loan_id=loan["id"]) for loan in late),
            call("list_fines", member_id=who["id"], status="open"),
            *(call("pay_fine", fine_id=first + number) for number in range(len(late))),
        ],
    )


def overdue_of(world: World, who: Row) -> list[Row]:
    return open_loans(world, f"member_id = {who['id']} AND due_on < date('now')")
