"""The bank's rows: half a year of it, drawn from the cast, with a ledger that adds up."""

import random
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

from cast import (
    CLUBS,
    COURTS,
    CUSTOMERS,
    FEES,
    HOLDERS,
    LANDLORDS,
    MERCHANTS,
    POLICY,
    SUPPLIERS,
    TRADES,
)

Row = dict[str, Any]

TODAY = date(2026, 4, 14)
CLEARING, FEES_EARNED, DISPUTED = 1, 2, 3
_TABLES = (
    *("customers", "accounts", "cards", "payees", "transactions", "entries", "standing_orders"),
    *("disputes", "holds", "fees", "policy"),
)
_FIRST = {"customers": 101, "accounts": 201, "cards": 301, "payees": 401, "transactions": 1001, "entries": 5001}
_ELSE = 601
_OVERDRAWN = 14
"""So many customers are overdrawn, spread over the towns."""


class Ledger:
    """All rows, table by table."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._tables: dict[str, list[Row]] = {table: [] for table in _TABLES}
        self._bookings: list[tuple[str, Row, int, int, int]] = []
        self._house()
        overdrawn = set(rng.sample(range(len(CUSTOMERS)), _OVERDRAWN))
        for index, (name, town, tier) in enumerate(CUSTOMERS):
            self._customer(index, name, town, tier, overdrawn=index in overdrawn)
        self._book()

    def rows(self) -> Iterator[tuple[str, Row]]:
        for table, rows in self._tables.items():
            for row in rows:
                yield table, row

    # ------------------------------------------------------------ the bank's own

    def _house(self) -> None:
        for key, number in ((CLEARING, "HOUSE-CLEARING"), (FEES_EARNED, "HOUSE-FEES"), (DISPUTED, "HOUSE-DISPUTES")):
            self._tables["accounts"].append(_account(key, None, number, "house", date(2012, 1, 2)))
        for number, (name, cents) in enumerate(FEES, 1):
            self._tables["fees"].append({"id": number, "name": name, "amount_cents": cents})
        for number, (section, text) in enumerate(POLICY, 1):
            self._tables["policy"].append({"id": number, "section": section, "text": text})

    # ------------------------------------------------------------ customers

    def _customer(self, index: int, name: str, town: str, tier: str, *, overdrawn: bool) -> None:
        rng = self._rng
        key = self._key("customers")
        moved = TODAY - timedelta(days=rng.choice((5, 9, 12, 40, 200, 600))) if rng.random() < 0.3 else None
        mail = f"{name.lower().replace(' ', '.')}{'' if index % 9 else index + 60}"
        if any(row["email"] == f"{mail}@letterbox.example" for row in self._tables["customers"]):
            mail += "2"
        self._tables["customers"].append(
            {
                "id": key,
                "name": name,
                "email": f"{mail}@letterbox.example",
                "phone": f"0{rng.randrange(1200, 1999)} {rng.randrange(100000, 999999)}",
                "town": town,
                "tier": tier,
                "joined_on": date(rng.randrange(2013, 2025), rng.randrange(1, 13), rng.randrange(1, 29)),
                "moved_on": moved,
            }
        )
        current = self._open(key, "current", tier, fresh=rng.random() < 0.2, overdraft=overdrawn)
        savings = self._open(key, "savings", tier) if overdrawn or rng.random() < 0.6 else None
        second = self._open(key, "current", tier) if index % 5 == 3 else None
        cards = [self._card(current, tier)]
        if rng.random() < 0.25:
            self._old_card(current, tier)
        if rng.random() < 0.2:
            cards.append(self._card(current, tier))
        self._live(key, current, cards, tier)
        if savings is not None:
            self._save(current, savings)
            self._bring_to(savings, rng.randrange(900_00, 9000_00), key)
        if second is not None:
            self._second(key, second, tier)
        target = -rng.randrange(20_00, 420_00) if overdrawn else rng.randrange(250_00, 6200_00)
        self._bring_to(current, target, key)
        if not overdrawn and rng.random() < 0.45:
            self._holds(current)

    def _open(
        self, customer: int, kind: str, tier: str, *, fresh: bool = False, overdraft: bool = False
    ) -> int:
        key = self._key("accounts")
        opened = TODAY - timedelta(days=self._rng.randrange(40, 150) if fresh else self._rng.randrange(400, 4000))
        row = _account(key, customer, f"HB-{200_000 + 17 * key}", kind, opened)
        if kind == "current" and (overdraft or self._rng.random() < 0.4):
            row["overdraft_cents"] = 500_00 if overdraft else self._rng.choice((100_00, 200_00, 300_00))
            if tier == "plus" and self._rng.random() < 0.5:
                row["overdraft_cents"] = self._rng.choice((800_00, 1000_00, 1200_00))
        self._tables["accounts"].append(row)
        return key

    def _card(self, account: int, tier: str) -> int:
        status = "frozen" if self._rng.random() < 0.12 else "active"
        return self._add_card(account, tier, status, None, self._rng.randrange(60, 1200))

    def _old_card(self, account: int, tier: str) -> None:
        reason = self._rng.choice((None, "lost", "stolen", "damaged"))
        age = self._rng.randrange(1500, 2000) if reason is None else self._rng.randrange(300, 1200)
        self._add_card(account, tier, "expired" if reason is None else "blocked", reason, age)

    def _add_card(self, account: int, tier: str, status: str, reason: str | None, age_days: int) -> int:
        key = self._key("cards")
        issued = TODAY - timedelta(days=age_days)
        limits = (300_00, 400_00, 500_00, 800_00) if tier == "basic" else (500_00, 1000_00, 1500_00, 2000_00)
        self._tables["cards"].append(
            {
                "id": key,
                "account_id": account,
                "digits": f"{key * 7919 % 10_000:04}",
                "status": status,
                "blocked_for": reason,
                "limit_cents": self._rng.choice(limits),
                "issued_on": issued,
                "expires_on": issued + timedelta(days=4 * 365),
            }
        )
        return key

    # ------------------------------------------------------------ how they live

    def _live(self, customer: int, current: int, cards: list[int], tier: str) -> None:
        rng = self._rng
        salary = rng.randrange(1450_00, 3400_00, 5_00)
        for month in (2, 3):
            self._note("salary", "Salary", date(2026, month, 25), current, salary)
        for _ in range(rng.randrange(4, 9)):
            self._shop(current, rng.choice(cards))
        if rng.random() < 0.3:
            self._misuse(current, cards[0])
        self._pay_regularly(customer, current)
        if rng.random() < 0.35:
            self._payee(customer, rng.choice(TRADES), rng.choice((0, 1, 2, 20, 90)))
        self._charge(current, tier)

    def _shop(self, current: int, card: int) -> None:
        day = TODAY - timedelta(days=self._rng.randrange(1, 100))
        merchant = self._rng.choice(MERCHANTS)
        cents = self._rng.randrange(4_00, 25_00) if self._rng.random() < 0.4 else self._rng.randrange(25_00, 160_00)
        if any((text, on) == (merchant, day) for _, text, on in self._shown(current)):
            return
        key = self._note("card", merchant, day, current, -cents, card_id=card)
        if self._rng.random() < 0.18:
            self._dispute(key, day)

    def _misuse(self, current: int, card: int) -> None:
        """A few payments abroad within days, at one merchant: what a customer does not recognise."""
        first = TODAY - timedelta(days=self._rng.randrange(6, 30))
        merchant = self._rng.choice(("Velvet Lounge Lisbon", "Kiosk 77 Prague", "Sunset Tickets", "QuickTop Mobile"))
        for number in range(self._rng.randrange(2, 4)):
            day = first + timedelta(days=number)
            self._note("card", merchant, day, current, -self._rng.randrange(18_00, 240_00), card_id=card)

    def _pay_regularly(self, customer: int, current: int) -> None:
        names = [self._rng.choice(LANDLORDS), *self._rng.sample(SUPPLIERS + CLUBS, self._rng.randrange(1, 4))]
        for name in names:
            payee = self._payee(customer, name, self._rng.randrange(100, 900))
            rent = name in LANDLORDS
            cents = self._rng.randrange(480_00, 900_00, 5_00) if rent else self._rng.randrange(12_00, 90_00, 50)
            self._order(current, payee, name, cents)

    def _order(self, account: int, payee: int, name: str, cents: int) -> None:
        day = self._rng.choice((1, 3, 5, 10, 15, 15, 20, 22, 26, 28))
        cancelled = self._rng.random() < 0.12
        upcoming = date(2026, 4 if day > TODAY.day else 5, day)
        self._add(
            "standing_orders",
            account_id=account,
            payee_id=payee,
            amount_cents=cents,
            day=day,
            next_on=None if cancelled else upcoming,
            status="cancelled" if cancelled else "active",
        )
        self._note("standing_order", f"Payment to {name}", date(2026, 3, day), account, -cents, payee_id=payee)

    def _payee(self, customer: int, name: str, age_days: int) -> int:
        key = self._key("payees")
        number = f"{self._rng.choice(('NB', 'CU', 'WB'))}-{300_000 + 113 * key}"
        added = TODAY - timedelta(days=age_days)
        row = {"id": key, "customer_id": customer, "name": name, "account_number": number, "added_on": added}
        self._tables["payees"].append(row)
        return key

    def _charge(self, current: int, tier: str) -> None:
        """Fees, and some given back: this year, or longer ago than a year."""
        days = self._rng.sample(range(4, 56), self._rng.randrange(0, 3))
        for age in days:
            self._fee(current, age)
        if self._rng.random() < 0.3:
            self._fee(current, self._rng.randrange(70, 150))
        if self._rng.random() < 0.4:
            age = self._rng.choice((75, 110, 160, 230, 300, 420, 480))
            fee, name, cents = self._fee(current, age + 6)
            self._note("fee_refund", f"Refund: {name}", TODAY - timedelta(days=age), current, cents, reverses_id=fee)

    def _fee(self, current: int, age_days: int) -> tuple[Row, str, int]:
        name, cents = self._rng.choice(FEES)
        return self._note("fee", name, TODAY - timedelta(days=age_days), current, -cents), name, cents

    def _save(self, current: int, savings: int) -> None:
        cents = self._rng.randrange(50_00, 300_00, 10_00)
        day = date(2026, 3, self._rng.randrange(1, 29))
        text = f"Transfer from HB-{200_000 + 17 * current} to HB-{200_000 + 17 * savings}"
        self._bookings.append((_at(self._rng, day), _transaction("transfer", text), current, savings, cents))

    def _second(self, customer: int, account: int, tier: str) -> None:
        """A second current account, of the kind that is closed one day."""
        self._add_card(account, tier, "active", None, self._rng.randrange(60, 900))
        for name in self._rng.sample(CLUBS, self._rng.randrange(1, 3)):
            self._order_unless_soon(customer, account, name)
        self._bring_to(account, self._rng.randrange(30_00, 800_00), customer)

    def _order_unless_soon(self, customer: int, account: int, name: str) -> None:
        payee = self._payee(customer, name, self._rng.randrange(100, 900))
        cents, day = self._rng.randrange(12_00, 60_00, 50), self._rng.choice((3, 10, 20, 26))
        upcoming = date(2026, 4 if day > TODAY.day else 5, day)
        plan = {"amount_cents": cents, "day": day, "next_on": upcoming, "status": "active"}
        self._add("standing_orders", account_id=account, payee_id=payee, **plan)

    def _holds(self, account: int) -> None:
        for holder in self._rng.sample(HOLDERS, self._rng.randrange(1, 3)):
            age = self._rng.choice((1, 3, 5, 8, 10, 15, 30))
            released = TODAY - timedelta(days=2) if age > 9 and self._rng.random() < 0.3 else None
            self._hold(account, "merchant", holder, age, released)
        if self._rng.random() < 0.25:
            self._hold(account, "court_order", self._rng.choice(COURTS), 50, None)

    def _hold(self, account: int, kind: str, holder: str, age_days: int, released: date | None) -> None:
        self._add(
            "holds",
            account_id=account,
            amount_cents=self._rng.randrange(40_00, 220_00, 5_00),
            kind=kind,
            placed_by=holder,
            placed_on=TODAY - timedelta(days=age_days),
            released_on=released,
        )

    def _dispute(self, payment: Row, day: date) -> None:
        status = self._rng.choice(("open", "open", "open", "rejected", "withdrawn"))
        opened = min(day + timedelta(days=self._rng.randrange(1, 9)), TODAY - timedelta(days=1))
        self._add(
            "disputes",
            transaction_id=payment,
            reason=self._rng.choice(("unrecognised", "not_delivered", "wrong_amount")),
            status=status,
            opened_on=opened,
            closed_on=None if status == "open" else TODAY - timedelta(days=1),
        )

    # ------------------------------------------------------------ bookings

    def _bring_to(self, account: int, target_cents: int, customer: int) -> None:
        """One more booking, so that the balance is what it should be."""
        gap = target_cents - sum(self._moves(account))
        if gap > 0:
            self._note("deposit", "Cash deposit", date(2025, 11, self._rng.randrange(3, 28)), account, gap)
        elif gap < 0:
            name = self._rng.choice(TRADES)
            payee = self._payee(customer, name, 150)
            self._note("payment", f"Payment to {name}", date(2026, 3, 27), account, gap, payee_id=payee)

    def _note(self, kind: str, text: str, day: date, account: int, cents: int, **of: Any) -> Row:
        """A booking between a customer's account and one of the bank's."""
        house = FEES_EARNED if kind in ("fee", "fee_refund") else CLEARING
        row = _transaction(kind, text, **of)
        self._bookings.append((_at(self._rng, day), row, house, account, cents))
        return row

    def _moves(self, account: int) -> Iterator[int]:
        for _, _, source, target, cents in self._bookings:
            if account in (source, target):
                yield cents if account == target else -cents

    def _shown(self, account: int) -> Iterator[tuple[str, str, date]]:
        for at, row, _, target, _ in self._bookings:
            if target == account:
                yield row["kind"], row["text"], date.fromisoformat(at[:10])

    def _book(self) -> None:
        """Number the bookings in the order of time, and write both sides of each."""
        for at, row, source, target, cents in sorted(self._bookings, key=lambda booking: booking[0]):
            row.update(id=self._key("transactions"), booked_at=at)
            self._tables["transactions"].append(row)
            for account, amount in ((source, -cents), (target, cents)):
                self._tables["entries"].append(
                    {
                        "id": self._key("entries"),
                        "transaction_id": row["id"],
                        "account_id": account,
                        "amount_cents": amount,
                    }
                )
        for row in self._tables["transactions"]:
            row["reverses_id"] = row["reverses_id"] and row["reverses_id"]["id"]
        for dispute in self._tables["disputes"]:
            dispute["transaction_id"] = dispute["transaction_id"]["id"]

    def _add(self, table: str, **row: Any) -> None:
        self._tables[table].append({"id": self._key(table), **row})

    def _key(self, table: str) -> int:
        rows = self._tables[table]
        first = _FIRST.get(table, _ELSE)
        return max(first, rows[-1]["id"] + 1) if rows else first


def _account(key: int, customer: int | None, number: str, kind: str, opened: date) -> Row:
    row = {"id": key, "customer_id": customer, "number": number, "kind": kind, "status": "open"}
    return {**row, "overdraft_cents": 0, "opened_on": opened}


def _transaction(kind: str, text: str, **of: Any) -> Row:
    row = {"id": 0, "kind": kind, "text": text, "booked_at": ""}
    return {**row, "card_id": None, "payee_id": None, "reverses_id": None, **of}


def _at(rng: random.Random, day: date) -> str:
    return f"{day}T{rng.randrange(8, 19):02}:{rng.randrange(60):02}:00+00:00"
