"""The rest of the library: members with names that look alike, a second shelf of books, and stale records.

Nothing here touches a member, a book or a copy that tasks written by hand speak of. Their new members and
fines are numbered after the cast's, so the numbers given here lie below or in tables that they do not add to.
"""

import random
from collections.abc import Iterator
from datetime import date, timedelta

Row = dict[str, object]

TODAY = date(2026, 3, 2)
LOAN_PERIOD = timedelta(days=21)
LATE_CENTS_PER_DAY, MOST_LATE_CENTS = 25, 1000
MOST_LOANS = {"adult": 6, "junior": 3}
BRANCHES = (1, 2, 3, 4)

FIRST_MEMBER, FIRST_AUTHOR, FIRST_BOOK, FIRST_COPY = 51, 225, 342, 481
FIRST_STALE_LOAN, FIRST_LOAN, FIRST_STALE_HOLD, FIRST_HOLD, FIRST_FINE = 501, 681, 781, 819, 841
FIRST_BARCODE = 17824

MEMBERS = (  # name, kind
    ("Maria Nowak", "adult"),
    ("Marta Nowicka", "adult"),
    ("Anna Costigan", "adult"),
    ("Tobias Lindberg", "adult"),
    ("Daniela Okoye", "adult"),
    ("Daniel Okoro", "junior"),
    ("Helena Petrova", "adult"),
    ("Elena Petrescu", "adult"),
    ("Hugo Martens", "junior"),
    ("Yusuf Demirel", "adult"),
    ("Sofia Marchesi", "adult"),
    ("Isla Frazer", "junior"),
    ("Oscar Bloom", "adult"),
    ("Ravi Mehta", "adult"),
    ("Nina Castell", "adult"),
    ("Ben Cartwright", "junior"),
    ("Niamh O'Brien", "adult"),
    ("Karima Haddad", "adult"),
    ("June Watanabe", "adult"),
    ("Rosa Delmonte", "junior"),
    ("Fiona Gallagher", "adult"),
    ("Elsa Brandt", "adult"),
    ("Elsa Brandt", "adult"),
    ("Agneta Thorne", "adult"),
    ("Victoria Hale", "junior"),
    ("Priya Ramesh", "adult"),
)

BOOKS = (  # title, author, genre, year, how many copies, how many members wait for it
    ("Monsoon Songs", "Devika Rao", "poetry", 2016, 3, 3),
    ("The Winter Ball", "Lorna Keane", "novel", 2018, 3, 2),
    ("The Clockmaker's Son", "Lorna Keane", "novel", 2021, 3, 3),
    ("A Death in Harvest", "Mathis Roux", "crime", 2020, 3, 2),
    ("The Salt Cellar", "Mathis Roux", "crime", 2017, 5, 0),
    ("Glass Harbour", "Sunniva Dahl", "novel", 2015, 5, 0),
    ("Counting Sheep", "Teo Marinov", "children", 2022, 5, 0),
    ("The Hedgehog Summer", "Teo Marinov", "children", 2019, 5, 0),
    ("How Forests Sleep", "Ottilie Graf", "science", 2023, 5, 0),
    ("The Patient Gardener", "Ottilie Graf", "science", 2014, 5, 0),
    ("A Short History of Rain", "Callum Reid", "history", 2009, 5, 0),
    ("The Southern Ports", "Callum Reid", "history", 2012, 5, 0),
    ("Notes on Chalk", "Callum Reid", "science", 1999, 1, 0),
)


class Filler:
    """Draws the rows, table by table, each table from those before it."""

    def __init__(self, rng: random.Random, stale_copies: list[int]) -> None:
        """Args:
        stale_copies: the cast's copies, which members of ours borrowed and brought back long ago.
        """
        self._rng = rng
        self._stale_copies = stale_copies
        self.tables: dict[str, list[Row]] = {
            "members": list(self._members()),
            "authors": list(self._authors()),
        }
        self.tables["books"] = list(self._books())
        self.tables["copies"] = list(self._copies())
        self.tables["loans"] = [*self._stale_loans(), *self._open_loans()]
        self.tables["holds"] = [*self._stale_holds(), *self._live_holds()]
        self.tables["fines"] = list(self._fines())

    def _members(self) -> Iterator[Row]:
        branches = [*BRANCHES] * len(MEMBERS)
        for number, (name, kind) in enumerate(MEMBERS):
            joined = date(2017, 1, 1) + timedelta(days=self._rng.randrange(2300))
            expires = self._rng.choice(
                (date(2026, 1, 20), date(2026, 4, 10), date(2026, 9, 1), date(2027, 1, 5))
            )
            again = sum(other == name for other, _ in MEMBERS[:number])
            address = name.lower().replace(" ", ".").replace("'", "") + ("2" if again else "")
            yield {
                "id": FIRST_MEMBER + number,
                "name": name,
                "email": f"{address}@postbox.example",
                "kind": kind,
                "home_branch_id": branches[number],
                "joined_on": joined,
                "expires_on": expires + timedelta(days=self._rng.randrange(40)),
                "suspended": number in (3, 17),
            }

    def _authors(self) -> Iterator[Row]:
        for number, name in enumerate(dict.fromkeys(author for _, author, *_ in BOOKS)):
            yield {"id": FIRST_AUTHOR + number, "name": name}

    def _books(self) -> Iterator[Row]:
        authors = {row["name"]: row["id"] for row in self.tables["authors"]}
        for number, (title, author, genre, year, *_) in enumerate(BOOKS):
            book = {"id": FIRST_BOOK + number, "title": title, "author_id": authors[author]}
            yield {**book, "genre": genre, "published": year}

    def _copies(self) -> Iterator[Row]:
        number = 0
        for index, (*_, copies, waiting) in enumerate(BOOKS):
            for place in range(copies):
                on_loan = bool(waiting) or place in (1, 3)
                in_repair = copies == 1 or (index + place) % 7 == 6
                yield {
                    "id": FIRST_COPY + number,
                    "book_id": FIRST_BOOK + index,
                    "branch_id": self._rng.choice(BRANCHES),
                    "barcode": f"RL-{FIRST_BARCODE + 37 * number}",
                    "status": "on_loan" if on_loan else "in_repair" if in_repair else "available",
                }
                number += 1

    def _stale_loans(self) -> Iterator[Row]:
        copies = sorted(self._rng.sample(self._stale_copies, 40))
        for number, copy in enumerate(copies):
            borrowed = date(2024, 1, 8) + timedelta(days=7 * number + self._rng.randrange(5))
            due = borrowed + LOAN_PERIOD
            yield {
                "id": FIRST_STALE_LOAN + number,
                "copy_id": copy,
                "member_id": self._rng.choice(self.tables["members"])["id"],
                "borrowed_on": borrowed,
                "due_on": due,
                "returned_on": due + timedelta(days=self._rng.randint(-15, 18)),
                "renewals": 0,
            }

    def _open_loans(self) -> Iterator[Row]:
        books_of: dict[object, list[object]] = {row["id"]: [] for row in self.tables["members"]}
        lent = [copy for copy in self.tables["copies"] if copy["status"] == "on_loan"]
        for number, copy in enumerate(lent):
            member = self._rng.choice(
                [one for one in self.tables["members"] if self._may_borrow(one, copy, books_of)]
            )
            books_of[member["id"]].append(copy["book_id"])
            renewals = int(number % 5 == 0)
            late = number % 3 == 0
            ago = self._rng.randint(24, 45) if late else self._rng.randint(1, 20)
            borrowed = TODAY - timedelta(days=ago) - renewals * LOAN_PERIOD
            yield {
                "id": FIRST_LOAN + number,
                "copy_id": copy["id"],
                "member_id": member["id"],
                "borrowed_on": borrowed,
                "due_on": borrowed + (1 + renewals) * LOAN_PERIOD,
                "returned_on": None,
                "renewals": renewals,
            }

    def _may_borrow(self, member: Row, copy: Row, books_of: dict[object, list[object]]) -> bool:
        books = books_of[member["id"]]
        return copy["book_id"] not in books and len(books) < MOST_LOANS[str(member["kind"])]

    def _stale_holds(self) -> Iterator[Row]:
        for number in range(10):
            placed = date(2025, 1, 6) + timedelta(days=19 * number)
            yield self._hold(
                FIRST_STALE_HOLD + number,
                FIRST_BOOK + number,
                self._rng.choice(self.tables["members"])["id"],
                self._rng.choice(("collected", "cancelled")),
                placed,
            )

    def _live_holds(self) -> Iterator[Row]:
        """Who waits for a book has no copy of it. Two members wait for as much as the house rules permit."""
        eager = [row["id"] for row in self.tables["members"]][:2]
        number = 0
        for index, (*_, waiting) in enumerate(BOOKS):
            book = FIRST_BOOK + index
            others = [one for one in self._without(book) if one not in eager]
            queue = [*(one for one in eager if one in self._without(book)), *self._rng.sample(others, 3)][
                :waiting
            ]
            for member in queue:
                placed = date(2026, 2, 3) + timedelta(days=2 * number)
                yield self._hold(FIRST_HOLD + number, book, member, "waiting", placed)
                number += 1

    def _without(self, book: int) -> list[object]:
        book_of = {copy["id"]: copy["book_id"] for copy in self.tables["copies"]}
        having = {
            loan["member_id"]
            for loan in self.tables["loans"]
            if loan["returned_on"] is None and book_of.get(loan["copy_id"]) == book
        }
        return [row["id"] for row in self.tables["members"] if row["id"] not in having]

    def _hold(self, key: int, book: int, member: object, status: str, placed: date) -> Row:
        time = f"{self._rng.randint(9, 17):02}:{self._rng.randrange(60):02}:00"
        return {
            "id": key,
            "book_id": book,
            "member_id": member,
            "pickup_branch_id": self._rng.choice(BRANCHES),
            "copy_id": None,
            "status": status,
            "placed_at": f"{placed.isoformat()}T{time}+00:00",
        }

    def _fines(self) -> Iterator[Row]:
        late = [loan for loan in self.tables["loans"] if loan["returned_on"] and _days_late(loan) > 0]
        for number, loan in enumerate(late):
            status = self._rng.choice(("paid", "paid", "open", "open", "waived"))
            cents = min(LATE_CENTS_PER_DAY * _days_late(loan), MOST_LATE_CENTS)
            if status == "waived" and cents > 500:
                status = "paid"
            yield {
                "id": FIRST_FINE + number,
                "member_id": loan["member_id"],
                "loan_id": loan["id"],
                "reason": "late",
                "amount_cents": cents,
                "status": status,
                "issued_on": loan["returned_on"],
                "settled_on": None if status == "open" else loan["returned_on"],
            }


def _days_late(loan: Row) -> int:
    returned, due = loan["returned_on"], loan["due_on"]
    return (returned - due).days if isinstance(returned, date) and isinstance(due, date) else 0
