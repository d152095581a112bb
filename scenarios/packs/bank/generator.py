"""The bank's rows, and templates of what is asked for at its desk.

Reading order: the rows; what templates look up; then the templates, easy, medium, hard.
"""

import random
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

from ledger import Ledger
from subworlds.scenarios.generation import Draft, World, call, phrase, pick, template

Row = dict[str, Any]

PAYMENT_LIMIT_CENTS = {"basic": 2500_00, "plus": 5000_00}
OVERDRAFT_LIMIT_CENTS = {"basic": 500_00, "plus": 2000_00}
CARD_LIMIT_CENTS = {"basic": 1000_00, "plus": 3000_00}
SMALL_DISPUTE_CENTS = 25_00


def rows(rng: random.Random) -> Iterator[tuple[str, dict[str, object]]]:
    """The ledger and all around it."""
    yield from Ledger(rng).rows()


# ---------------------------------------------------------------- what templates look up


def today(world: World) -> date:
    return world.clock.date()


def ago(world: World, days: int) -> str:
    return (today(world) - timedelta(days=days)).isoformat()


def customers(world: World, where: str = "1") -> list[Row]:
    """Customers with `called`: the name, and the town as well where two share the name."""
    return world.rows(f"""
        SELECT customers.*, CASE
            WHEN (SELECT count(*) FROM customers AS other WHERE other.name = customers.name) = 1 THEN name
            ELSE name || ' of ' || town END AS called
        FROM customers WHERE {where} ORDER BY id
    """)


def customer(world: World, key: int) -> Row:
    [found] = customers(world, f"id = {key}")
    return found


def accounts(world: World, where: str = "1") -> list[Row]:
    """Accounts with `balance` and `held` in cents, and how many of its kind the customer has."""
    return world.rows(f"""
        SELECT * FROM (
            SELECT accounts.*, tier, town, moved_on,
                coalesce((SELECT sum(amount_cents) FROM entries WHERE account_id = accounts.id), 0) AS balance,
                coalesce((SELECT sum(amount_cents) FROM holds
                          WHERE account_id = accounts.id AND released_on IS NULL), 0) AS held,
                count(*) OVER (PARTITION BY customer_id, kind) AS alike
            FROM accounts JOIN customers ON customers.id = customer_id
        ) WHERE {where} ORDER BY id
    """)


def only_account(world: World, who: Row, kind: str = "current") -> Row | None:
    """The account of this kind, where the customer has one."""
    found = accounts(world, f"customer_id = {who['id']} AND kind = '{kind}'")
    return found[0] if len(found) == 1 else None


def booked(world: World, where: str) -> list[Row]:
    """What was booked on customers' accounts, with the day, newest first."""
    return world.rows(f"""
        SELECT * FROM (
            SELECT transactions.*, account_id, customer_id, amount_cents, substr(booked_at, 1, 10) AS day, tier
            FROM transactions JOIN entries ON entries.transaction_id = transactions.id
            JOIN accounts ON accounts.id = account_id JOIN customers ON customers.id = customer_id
        ) WHERE {where} ORDER BY booked_at DESC, id DESC
    """)


def cards(world: World, where: str = "1") -> list[Row]:
    return world.rows(f"""
        SELECT cards.*, customer_id, tier, moved_on FROM cards JOIN accounts ON accounts.id = account_id
        JOIN customers ON customers.id = customer_id WHERE {where} ORDER BY cards.id
    """)


def orders(world: World, where: str = "1") -> list[Row]:
    return world.rows(f"""
        SELECT standing_orders.*, payees.name AS payee, payees.customer_id AS customer_id,
            count(*) OVER (PARTITION BY payees.customer_id, payees.name) AS alike
        FROM standing_orders JOIN payees ON payees.id = payee_id
        WHERE standing_orders.status = 'active' AND {where} ORDER BY next_on, standing_orders.id
    """)


def payees(world: World, where: str = "1") -> list[Row]:
    """Payees whose name occurs once on the customer's list."""
    return world.rows(f"""
        SELECT * FROM (SELECT *, count(*) OVER (PARTITION BY customer_id, name) AS alike FROM payees)
        WHERE alike = 1 AND {where} ORDER BY id
    """)


def is_wanted(rng: random.Random, allowed: bool, share: float = 0.2) -> bool:
    """Of the draws that the rules allow, most are thrown away: those that they forbid are rare."""
    return not allowed or rng.random() < share


def can_change(world: World, order: Row) -> bool:
    return bool(order["next_on"] >= (today(world) + timedelta(days=2)).isoformat())


def available(account: Row) -> int:
    return int(account["balance"] + account["overdraft_cents"] - account["held"])


def dollars(cents: int) -> float | int:
    return cents // 100 if cents % 100 == 0 else cents / 100


def price(cents: int) -> str:
    return f"${cents // 100:,}" if cents % 100 == 0 else f"${cents / 100:,.2f}"


def in_words(day: str) -> str:
    when = date.fromisoformat(day)
    return f"{when.day} {when:%B}" if when.year == 2026 else f"{when.day} {when:%B %Y}"


def look_up(who: Row) -> Row:
    return call("search_customers", query=who["name"])


def show(who: Row) -> Row:
    return call("get_customer", customer_id=who["id"])


# ---------------------------------------------------------------- easy


@template("balance", difficulty="easy", tags=("read",))
def balance(world: World, rng: random.Random) -> Draft | None:
    """What is on a savings account."""
    account = pick(rng, accounts(world, "kind = 'savings'"))
    if account is None:
        return None
    who = customer(world, account["customer_id"])
    return Draft(
        prompt=phrase(
            rng,
            "How much has {who} saved with us? Answer with the balance of the savings account in dollars, number only.",
            "{who} wants to know what is on the savings account. The amount in dollars, just the number.",
            "Please look up the savings of {who}: what is the balance? Dollars, number only.",
            who=who["called"],
        ),
        solution=[look_up(who), show(who)],
        answer={"number": dollars(account["balance"])},
    )


@template("next-payment", difficulty="easy", tags=("read",))
def next_payment(world: World, rng: random.Random) -> Draft | None:
    """When a standing order goes out next."""
    order = pick(rng, orders(world))
    if order is None or order["alike"] > 1:
        return None
    who = customer(world, order["customer_id"])
    return Draft(
        prompt=phrase(
            rng,
            "On which day does {who}'s standing order to {payee} go out next? Answer YYYY-MM-DD.",
            "{who} asks when {payee} will be paid the next time. Date only, written YYYY-MM-DD.",
            "When is the next standing order from {who} to {payee} due? Just the date, YYYY-MM-DD.",
            who=who["called"],
            payee=order["payee"],
        ),
        solution=[look_up(who), call("list_standing_orders", customer_id=who["id"])],
        answer={"text": order["next_on"]},
    )


@template("whose-account", difficulty="easy", tags=("read",))
def whose_account(world: World, rng: random.Random) -> Draft | None:
    """Who holds an account, by its number: where to write to."""
    account = pick(rng, accounts(world))
    if account is None:
        return None
    who = customer(world, account["customer_id"])
    return Draft(
        prompt=phrase(
            rng,
            "A letter came back that says only {number}. What is the phone number of the account's holder? "
            "Answer with the phone number only.",
            "I have to ring whoever holds account {number}. Which number do I dial? Just the phone number.",
            "Somebody has left a card at the desk with {number} on it. Give me the holder's phone number, nothing else.",
            number=account["number"],
        ),
        solution=[call("list_accounts", number=account["number"]), show(who)],
        answer={"text": who["phone"]},
    )


@template("card-expiry", difficulty="easy", tags=("read",))
def card_expiry(world: World, rng: random.Random) -> Draft | None:
    """Until when the one usable card is valid."""
    card = pick(rng, cards(world, "cards.status = 'active'"))
    if card is None:
        return None
    who = customer(world, card["customer_id"])
    if len(cards(world, f"cards.status = 'active' AND customer_id = {who['id']}")) > 1:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "Until when is {who}'s active card valid? Answer with its last day, YYYY-MM-DD.",
            "{who} wants to know when the card in use runs out. Date only, YYYY-MM-DD.",
            "On which day does the one active card of {who} expire? Just the date, written YYYY-MM-DD.",
            who=who["called"],
        ),
        solution=[look_up(who), call("list_cards", customer_id=who["id"], status="active")],
        answer={"text": card["expires_on"]},
    )


@template("mislaid-card", difficulty="easy", tags=("write",))
def mislaid_card(world: World, rng: random.Random) -> Draft | None:
    """A card that may turn up again."""
    card = pick(rng, cards(world, "cards.status = 'active'"))
    if card is None:
        return None
    who = customer(world, card["customer_id"])
    return Draft(
        prompt=phrase(
            rng,
            "{who} has mislaid the card that ends in {digits} and hopes to find it at home. Freeze it for now.",
            "The card ending in {digits} lies somewhere in {who}'s house. Please freeze it until it turns up.",
            "{who} rings: please freeze, but do not block, the card with the last digits {digits}.",
            who=who["called"],
            digits=card["digits"],
        ),
        solution=[call("list_cards", digits=card["digits"]), call("freeze_card", card_id=card["id"])],
    )


@template("found-card", difficulty="easy", tags=("write",))
def found_card(world: World, rng: random.Random) -> Draft | None:
    """A frozen card has turned up."""
    card = pick(rng, cards(world, "cards.status = 'frozen'"))
    if card is None:
        return None
    who = customer(world, card["customer_id"])
    return Draft(
        prompt=phrase(
            rng,
            "{who} has found the card ending in {digits} again. Please make it usable.",
            "The card that ends in {digits} was behind {who}'s sofa. Please take the freeze off.",
            "{who} asks you to unfreeze the card with the last digits {digits}.",
            who=who["called"],
            digits=card["digits"],
        ),
        solution=[call("list_cards", digits=card["digits"]), call("unfreeze_card", card_id=card["id"])],
    )


@template("card-limit", difficulty="easy", tags=("write",))
def card_limit(world: World, rng: random.Random) -> Draft | None:
    """Another daily limit for a card."""
    card = pick(rng, cards(world, "cards.status = 'active'"))
    if card is None:
        return None
    choices = range(150_00, CARD_LIMIT_CENTS[card["tier"]] + 1, 50_00)
    limit = rng.choice([cents for cents in choices if cents != card["limit_cents"]])
    who = customer(world, card["customer_id"])
    return Draft(
        prompt=phrase(
            rng,
            "{who} would like a daily limit of {limit} on the card ending in {digits}.",
            "Please set the daily limit of the card that ends in {digits} to {limit}; {who} has asked for it.",
            "{who}'s card with the last digits {digits} should allow {limit} a day. Please change that.",
            who=who["called"],
            digits=card["digits"],
            limit=price(limit),
        ),
        solution=[
            call("list_cards", digits=card["digits"]),
            call("set_card_limit", card_id=card["id"], amount=dollars(limit)),
        ],
        about=["limit", card["id"]],
    )


@template("new-phone", difficulty="easy", tags=("write",))
def new_phone(world: World, rng: random.Random) -> Draft | None:
    """Another phone number."""
    who = pick(rng, customers(world))
    if who is None:
        return None
    number = f"0{rng.randrange(1200, 1999)} {rng.randrange(100000, 999999)}"
    return Draft(
        prompt=phrase(
            rng,
            "{who} has a new phone number: {number}. Please put it on record.",
            "Please change the phone number of {who} to {number}.",
            "We reach {who} under {number} from now on. Please note the new number.",
            who=who["called"],
            number=number,
        ),
        solution=[look_up(who), call("update_customer", customer_id=who["id"], phone=number)],
        about=["phone", who["id"]],
    )


# ---------------------------------------------------------------- medium


@template("to-savings", difficulty="medium", tags=("write",))
def to_savings(world: World, rng: random.Random) -> Draft | None:
    """Money from the current account is put aside."""
    who = pick(rng, customers(world))
    current, savings = (only_account(world, who, kind) for kind in ("current", "savings")) if who else (None, None)
    if who is None or current is None or savings is None or available(current) < 300_00:
        return None
    cents = rng.randrange(40_00, min(available(current), 900_00), 5_00)
    return Draft(
        prompt=phrase(
            rng,
            "{who} would like to put {amount} aside: please move it from the current account to the savings.",
            "Please move {amount} from {who}'s current account to the savings account.",
            "{amount} of what {who} has on the current account should go to savings. Please transfer it.",
            who=who["called"],
            amount=price(cents),
        ),
        solution=[
            look_up(who),
            show(who),
            call("transfer_money", account_id=current["id"], to_account_id=savings["id"], amount=dollars(cents)),
        ],
        about=["to savings", who["id"]],
    )


@template("keep-back", difficulty="medium", tags=("write", "condition", "arithmetic"))
def keep_back(world: World, rng: random.Random) -> Draft | None:
    """All above an amount goes to savings, where there is so much."""
    who = pick(rng, customers(world))
    current, savings = (only_account(world, who, kind) for kind in ("current", "savings")) if who else (None, None)
    if who is None or current is None or savings is None or current["balance"] < 100_00 or current["held"]:
        return None
    kept = rng.choice((500_00, 1000_00, 1500_00, 2000_00, 3000_00))
    over = current["balance"] - kept
    if abs(over) < 20_00 or not is_wanted(rng, over > 0):
        return None
    move = call("transfer_money", account_id=current["id"], to_account_id=savings["id"], amount=dollars(over))
    return Draft(
        prompt=phrase(
            rng,
            "{who} wants no more than {kept} on the current account: what is over goes to savings. If it holds "
            "less, leave everything as it is and tell me its balance in dollars, number only.",
            "Please look at {who}'s current account. Should there be more than {kept} on it, move what is over "
            "to the savings account; if not, move nothing and answer with what is on it: dollars, number only.",
            "Skim {who}'s current account: everything above {kept} goes to savings. If there is nothing above, "
            "nothing goes, and I want to hear its balance in dollars, just the number.",
            who=who["called"],
            kept=price(kept),
        ),
        solution=[look_up(who), show(who), call("get_account", account_id=current["id"]), *([move] if over > 0 else [])],
        answer=None if over > 0 else {"number": dollars(current["balance"])},
        tags=("write", "condition") if over > 0 else ("read", "condition"),
        about=["keep back", who["id"]],
    )


@template("pay-a-bill", difficulty="medium", tags=("write", "condition"))
def pay_a_bill(world: World, rng: random.Random) -> Draft | None:
    """A payment that a limit of the house may stand against: the desk's, or that on new payees."""
    who = pick(rng, customers(world))
    payee = pick(rng, payees(world, f"customer_id = {who['id']}")) if who else None
    current = only_account(world, who) if who else None
    if who is None or payee is None or current is None or available(current) < 700_00:
        return None
    limit = PAYMENT_LIMIT_CENTS[who["tier"]]
    cents = rng.randrange(120_00, min(available(current), limit + 600_00), 5_00)
    is_new = payee["added_on"] > ago(world, 3)
    allowed = cents <= (500_00 if is_new else limit)
    if not is_wanted(rng, allowed):
        return None
    pay = call("pay_payee", account_id=current["id"], payee_id=payee["id"], amount=dollars(cents))
    return Draft(
        prompt=phrase(
            rng,
            "{who} wants to pay {amount} to {payee} from the current account. Pay it if the house rules let the "
            "desk do so. If not, leave it alone and answer with the day on which this payee was added, "
            "YYYY-MM-DD.",
            "Please pay {payee} {amount} from {who}'s current account, provided that our rules allow it. "
            "Otherwise do nothing and tell me since when the payee is on the list: date only, YYYY-MM-DD.",
            "There is a bill of {amount} from {payee} for {who}, to be paid from the current account in one "
            "payment. Check it against the house rules first; if they forbid it, do not pay, and answer with the "
            "date on which the payee was added, YYYY-MM-DD.",
            who=who["called"],
            payee=payee["name"],
            amount=price(cents),
        ),
        solution=[
            look_up(who),
            show(who),
            call("list_payees", customer_id=who["id"]),
            call("read_policy"),
            *([pay] if allowed else []),
        ],
        answer=None if allowed else {"text": payee["added_on"]},
        tags=("write", "condition") if allowed else ("read", "condition"),
    )


@template("other-amount", difficulty="medium", tags=("write",))
def other_amount(world: World, rng: random.Random) -> Draft | None:
    """Another amount for a standing order."""
    order = pick(rng, [one for one in orders(world) if can_change(world, one) and one["alike"] == 1])
    if order is None:
        return None
    who = customer(world, order["customer_id"])
    cents = order["amount_cents"] + rng.choice((5_00, 7_50, 10_00, 12_00, 25_00))
    return Draft(
        prompt=phrase(
            rng,
            "{payee} has become dearer: from now on {who}'s standing order to them is to be {amount}.",
            "Please change the standing order from {who} to {payee} to {amount} a month.",
            "{who} must pay {payee} {amount} a month in future. Please change the standing order.",
            who=who["called"],
            payee=order["payee"],
            amount=price(cents),
        ),
        solution=[
            look_up(who),
            call("list_standing_orders", customer_id=who["id"]),
            call("change_standing_order", standing_order_id=order["id"], amount=dollars(cents)),
        ],
        about=["amount", order["id"]],
    )


@template("stop-paying", difficulty="medium", tags=("write",))
def stop_paying(world: World, rng: random.Random) -> Draft | None:
    """A standing order is no longer wanted."""
    order = pick(rng, [one for one in orders(world) if can_change(world, one) and one["alike"] == 1])
    if order is None:
        return None
    who = customer(world, order["customer_id"])
    return Draft(
        prompt=phrase(
            rng,
            "{who} has left {payee}. Please cancel the standing order to them.",
            "Please stop the monthly payment from {who} to {payee} for good.",
            "{who} does not want to pay {payee} by standing order any more: cancel it, please.",
            who=who["called"],
            payee=order["payee"],
        ),
        solution=[
            look_up(who),
            call("list_standing_orders", customer_id=who["id"]),
            call("cancel_standing_order", standing_order_id=order["id"]),
        ],
    )


@template("not-delivered", difficulty="medium", tags=("write",))
def not_delivered(world: World, rng: random.Random) -> Draft | None:
    """A card payment is disputed."""
    payment = pick(rng, booked(world, "kind = 'card' AND id NOT IN (SELECT transaction_id FROM disputes)"))
    if payment is None:
        return None
    who = customer(world, payment["customer_id"])
    if only_account(world, who) is None or payment["day"] < ago(world, 119):
        return None
    reason, said = rng.choice((("not_delivered", "nothing was delivered"), ("wrong_amount", "the amount is wrong")))
    return Draft(
        prompt=phrase(
            rng,
            "{who} paid {amount} at {shop} by card on {day}, and {said}. Please open a dispute.",
            "Please dispute {who}'s card payment of {day} at {shop} ({amount}): {said}.",
            "About the {amount} that {who} paid at {shop} with the card on {day}: {said}. Open a dispute, please.",
            who=who["called"],
            amount=price(-payment["amount_cents"]),
            shop=payment["text"],
            day=in_words(payment["day"]),
            said=said,
        ),
        solution=[
            look_up(who),
            show(who),
            call("list_transactions", account_id=payment["account_id"], kind="card"),
            call("open_dispute", transaction_id=payment["id"], reason=reason),
        ],
        about=["dispute", payment["id"]],
    )


@template("free-held-money", difficulty="medium", tags=("write", "condition"))
def free_held_money(world: World, rng: random.Random) -> Draft | None:
    """A merchant's hold is released where it is old enough."""
    hold = pick(
        rng,
        world.rows("""
            SELECT holds.*, customer_id FROM holds JOIN accounts ON accounts.id = account_id
            WHERE released_on IS NULL AND holds.kind = 'merchant' ORDER BY holds.id
        """),
    )
    if hold is None:
        return None
    who = customer(world, hold["customer_id"])
    old = hold["placed_on"] <= ago(world, 7)
    if not is_wanted(rng, old, share=0.8):
        return None
    release = [call("release_hold", hold_id=hold["id"])] if old else []
    return Draft(
        prompt=phrase(
            rng,
            "{holder} still holds money of {who}. Release it if the house rules let us; if not, leave it and "
            "answer with the amount held by them in dollars, number only.",
            "{who} asks for the money that {holder} holds on the account. If our rules allow it, set it free. If "
            "not, leave it: how much is it then? Dollars, number only.",
            "Please check {holder}'s hold on {who}'s money against our rules and release it where they allow "
            "that. Where they do not, tell me its amount in dollars, just the number.",
            holder=hold["placed_by"],
            who=who["called"],
        ),
        solution=[look_up(who), call("list_holds", customer_id=who["id"]), call("read_policy"), *release],
        answer=None if old else {"number": dollars(hold["amount_cents"])},
        tags=("write", "condition") if old else ("read", "condition"),
    )


@template("largest-purchase", difficulty="medium", tags=("read",))
def largest_purchase(world: World, rng: random.Random) -> Draft | None:
    """Where most was paid by card in a month."""
    who = pick(rng, customers(world))
    current = only_account(world, who) if who else None
    month, name, last = rng.choice(((1, "January", 31), (2, "February", 28), (3, "March", 31)))
    if who is None or current is None:
        return None
    first_day, last_day = f"2026-{month:02}-01", f"2026-{month:02}-{last}"
    paid = booked(
        world, f"kind = 'card' AND account_id = {current['id']} AND day BETWEEN '{first_day}' AND '{last_day}'"
    )
    amounts = sorted((one["amount_cents"] for one in paid), reverse=False)
    if len(paid) < 3 or amounts[0] == amounts[1]:
        return None
    largest = min(paid, key=lambda one: one["amount_cents"])
    return Draft(
        prompt=phrase(
            rng,
            "At which merchant did {who} make the largest card payment of {month} 2026? Answer with the merchant's name.",
            "{who} wants to know where most was paid by card at one time in {month} 2026. The merchant's name only.",
            "Look through {who}'s card payments of {month} 2026: which merchant got the largest? Just its name.",
            who=who["called"],
            month=name,
        ),
        solution=[
            look_up(who),
            show(who),
            call(
                "list_transactions", account_id=current["id"], kind="card", first_day=first_day, last_day=last_day
            ),
        ],
        answer={"text": largest["text"]},
    )


@template("overdraft", difficulty="medium", tags=("write", "condition"))
def overdraft(world: World, rng: random.Random) -> Draft | None:
    """A higher overdraft, unless the account is too young for one."""
    account = pick(rng, accounts(world, "kind = 'current' AND alike = 1"))
    if account is None:
        return None
    who = customer(world, account["customer_id"])
    higher = range(account["overdraft_cents"] + 50_00, OVERDRAFT_LIMIT_CENTS[who["tier"]] + 1, 50_00)
    cents = pick(rng, list(higher))
    old = account["opened_on"] < "2025-10-14"
    if cents is None or not is_wanted(rng, old):
        return None
    give = [call("set_overdraft", account_id=account["id"], amount=dollars(cents))] if old else []
    return Draft(
        prompt=phrase(
            rng,
            "{who} asks for an overdraft of {amount} on the current account. Give it if the house rules allow "
            "it. Otherwise leave it as it is and answer with the day on which that account was opened, "
            "YYYY-MM-DD.",
            "Could the overdraft of {who}'s current account be {amount}? If our rules say so, set it; if not, "
            "don't, and tell me when the account was opened: YYYY-MM-DD, nothing else.",
            "Check whether {who} may have an overdraft of {amount} on the current account, and set it if so. If "
            "not, change nothing and answer with the account's opening date, written YYYY-MM-DD.",
            who=who["called"],
            amount=price(cents),
        ),
        solution=[look_up(who), show(who), call("read_policy"), *give],
        answer=None if old else {"text": account["opened_on"]},
        tags=("write", "condition") if old else ("read", "condition"),
        about=["overdraft", account["id"]],
    )


@template("from-either", difficulty="medium", tags=("write", "free-choice"))
def from_either(world: World, rng: random.Random) -> Draft | None:
    """Money goes to savings from whichever current account: any that has it will do."""
    who = pick(rng, customers(world))
    mine = accounts(world, f"customer_id = {who['id']}") if who else []
    currents = [one for one in mine if one["kind"] == "current"]
    savings = [one for one in mine if one["kind"] == "savings"]
    if who is None or len(currents) < 2 or len(savings) != 1:
        return None
    cents = rng.randrange(30_00, 120_00, 5_00)
    rich = [one for one in currents if available(one) >= cents]
    if not rich:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{who} wants {amount} more on the savings account and does not mind which current account it comes from. "
            "Please move it in one transfer.",
            "Please make one transfer of {amount} to {who}'s savings, from whichever of the current accounts has it.",
            "{amount} should go to the savings of {who} in a single transfer, out of any of the customer's current accounts.",
            who=who["called"],
            amount=price(cents),
        ),
        solution=[
            look_up(who),
            show(who),
            call("transfer_money", account_id=rich[0]["id"], to_account_id=savings[0]["id"], amount=dollars(cents)),
        ],
        verify={
            "kind": "sql",
            "may_change": ["transactions", "entries"],
            "assert": [
                {
                    "sql": "SELECT count(*) FROM transactions WHERE id NOT IN (SELECT id FROM initial.transactions)",
                    "equals": [[1]],
                },
                {
                    "sql": "SELECT accounts.customer_id, accounts.kind, amount_cents, transactions.kind FROM entries "
                    "JOIN accounts ON accounts.id = account_id JOIN transactions ON transactions.id = transaction_id "
                    "WHERE entries.id NOT IN (SELECT id FROM initial.entries) ORDER BY amount_cents",
                    "equals": [
                        [who["id"], "current", -cents, "transfer"],
                        [who["id"], "savings", cents, "transfer"],
                    ],
                },
                {
                    "sql": "SELECT count(*) FROM (SELECT * FROM initial.entries EXCEPT SELECT * FROM entries)",
                    "equals": [[0]],
                },
                {
                    "sql": "SELECT count(*) FROM (SELECT * FROM initial.transactions EXCEPT SELECT * FROM transactions)",
                    "equals": [[0]],
                },
            ],
            "choices": ["transfer_money.account_id"],
        },
        about=["from either", who["id"]],
    )


# ---------------------------------------------------------------- hard


@template("fee-back", difficulty="hard", tags=("write", "condition"))
def fee_back(world: World, rng: random.Random) -> Draft | None:
    """A fee is given back where the written rules allow it."""
    fee = pick(rng, booked(world, f"kind = 'fee' AND day >= '{ago(world, 58)}'"))
    if fee is None:
        return None
    who = customer(world, fee["customer_id"])
    current = only_account(world, who)
    others = booked(world, f"kind = 'fee' AND customer_id = {who['id']} AND text = '{fee['text']}'")
    if current is None or sum(one["day"] >= ago(world, 60) for one in others) > 1:
        return None
    mine = accounts(world, f"customer_id = {who['id']}")
    given = booked(world, f"kind = 'fee_refund' AND customer_id = {who['id']} AND day > '{ago(world, 365)}'")
    if len(mine) < 2 or any(one["reverses_id"] == fee["id"] for one in given):
        return None
    never = fee["text"] == "Card replacement fee"
    allowed = not never and (who["tier"] == "plus" or not given)
    if not is_wanted(rng, allowed):
        return None
    back = [call("refund_fee", transaction_id=fee["id"])] if allowed else []
    return Draft(
        prompt=phrase(
            rng,
            "{who} was charged a {fee} in the last two months and would like it back. Decide by the house rules: "
            "give it back, or leave it and answer with the day on which it was charged, YYYY-MM-DD.",
            "{who} complains about the {fee} of the last 60 days. If our rules allow it, give it back; if they "
            "do not, leave the ledger alone and tell me when it was charged, as YYYY-MM-DD.",
            "Does {who} get the {fee} of the last 60 days back? Go by the house rules, mind what was given back "
            "before on any of the accounts, and do what follows. If it stays, answer with the date of the fee, "
            "YYYY-MM-DD.",
            who=who["called"],
            fee=fee["text"][0].lower() + fee["text"][1:],
        ),
        solution=[
            look_up(who),
            show(who),
            call("list_transactions", account_id=fee["account_id"], kind="fee"),
            *(call("list_transactions", account_id=one["id"], kind="fee_refund") for one in mine),
            call("read_policy"),
            *back,
        ],
        answer=None if allowed else {"text": fee["day"]},
        tags=("write", "condition") if allowed else ("read", "condition"),
    )


@template("lost-card", difficulty="hard", tags=("write", "condition"))
def lost_card(world: World, rng: random.Random) -> Draft | None:
    """A lost or stolen card: blocked, replaced, and paid for where the rules say so."""
    card = pick(rng, cards(world, "cards.status IN ('active', 'frozen')"))
    if card is None or (card["moved_on"] or "") > ago(world, 14):
        return None
    who = customer(world, card["customer_id"])
    [account] = accounts(world, f"id = {card['account_id']}")
    if available(account) < 12_00:
        return None
    reason, said = rng.choice(
        (("lost", "is lost for good"), ("lost", "fell into the harbour"), ("stolen", "was stolen on the train"))
    )
    charged = reason == "lost" and who["tier"] == "basic"
    fee = world.value("SELECT id FROM fees WHERE name = 'Card replacement fee'")
    return Draft(
        prompt=phrase(
            rng,
            "{who}'s card ending in {digits} {said}. Do everything that our house rules have us do in this case; a new card "
            "is wanted.",
            "The card of {who} with the last digits {digits} {said}, and a new one is needed. Please follow the house rules to "
            "the end, money included.",
            "{who} is at the desk: the card that ends in {digits} {said}. Please see to it that there is a new one, by the "
            "house rules, with what it costs where it costs anything.",
            who=who["called"],
            digits=card["digits"],
            said=said,
        ),
        solution=[
            look_up(who),
            show(who),
            call("list_cards", customer_id=who["id"]),
            call("read_policy"),
            call("block_card", card_id=card["id"], reason=reason),
            call("replace_card", card_id=card["id"]),
            *([call("list_fees"), call("charge_fee", account_id=card["account_id"], fee_id=fee)] if charged else []),
        ],
        about=["lost card", card["id"]],
    )


@template("not-my-payments", difficulty="hard", tags=("write",))
def not_my_payments(world: World, rng: random.Random) -> Draft | None:
    """Several payments that the customer does not recognise, and the card they were made with."""
    strange = ("Velvet Lounge Lisbon", "Kiosk 77 Prague", "Sunset Tickets", "QuickTop Mobile")
    payment = pick(rng, booked(world, f"kind = 'card' AND text IN {strange}"))
    if payment is None:
        return None
    who = customer(world, payment["customer_id"])
    alike = booked(world, f"kind = 'card' AND customer_id = {who['id']} AND text = '{payment['text']}'")
    [card] = cards(world, f"cards.id = {payment['card_id']}")
    current = only_account(world, who)
    if current is None or card["status"] == "blocked":
        return None
    return Draft(
        prompt=phrase(
            rng,
            "{who} has never heard of {shop}, which appears on the current account. Please do what our house rules say about "
            "card payments that a customer does not recognise, for all payments there. No new card is wanted yet.",
            "All card payments at {shop} on {who}'s current account were made by somebody else, says the customer, who does "
            "not want a new card before summer. Proceed by the house rules.",
            "{who} does not recognise any of the card payments at {shop}. Please handle them as our rules say; the customer "
            "asks for no new card.",
            who=who["called"],
            shop=payment["text"],
        ),
        solution=[
            look_up(who),
            show(who),
            call("list_transactions", account_id=current["id"], query=payment["text"]),
            call("read_policy"),
            *(call("open_dispute", transaction_id=one["id"], reason="unrecognised") for one in alike),
            call("list_cards", digits=card["digits"]),
            call("block_card", card_id=card["id"], reason="misused"),
        ],
    )


@template("close-account", difficulty="hard", tags=("write",))
def close_account(world: World, rng: random.Random) -> Draft | None:
    """A second current account is closed, and what runs over it is dealt with first."""
    account = pick(rng, accounts(world, "kind = 'current' AND alike = 2 AND balance > 0 AND held = 0"))
    if account is None:
        return None
    who = customer(world, account["customer_id"])
    other = [one for one in accounts(world, f"customer_id = {who['id']} AND kind = 'current'") if one["id"] != account["id"]]
    running = orders(world, f"account_id = {account['id']}")
    usable = cards(world, f"account_id = {account['id']} AND cards.status IN ('active', 'frozen')")
    disputed = booked(
        world,
        f"account_id = {account['id']} AND id IN (SELECT transaction_id FROM disputes WHERE status = 'open')",
    )
    if disputed or not all(can_change(world, one) for one in running):
        return None
    to = call("transfer_money", account_id=account["id"], to_account_id=other[0]["id"], amount=dollars(account["balance"]))
    return Draft(
        prompt=phrase(
            rng,
            "{who} no longer needs account {number}. Please close it by the house rules; what is on it goes to {other}.",
            "Please close {number} for {who}, who wants the money from it on {other}. Deal with all that runs over it as our "
            "rules say.",
            "{who} wants to bank with {other} alone: wind up {number} as the house rules have it, and move its money there.",
            who=who["called"],
            number=account["number"],
            other=other[0]["number"],
        ),
        solution=[
            look_up(who),
            show(who),
            call("read_policy"),
            call("list_standing_orders", account_id=account["id"]),
            call("list_cards", account_id=account["id"]),
            *(call("cancel_standing_order", standing_order_id=one["id"]) for one in running),
            *(call("block_card", card_id=one["id"], reason="not_needed") for one in usable),
            to,
            call("close_account", account_id=account["id"]),
        ],
    )


@template("into-the-black", difficulty="hard", tags=("write", "condition"))
def into_the_black(world: World, rng: random.Random) -> Draft | None:
    """All overdrawn accounts of a town are brought to nothing from savings."""
    town = pick(rng, world.rows("SELECT DISTINCT town FROM customers ORDER BY town"))
    if town is None:
        return None
    overdrawn = accounts(world, f"town = '{town['town']}' AND balance < 0")
    savings = {one["customer_id"]: one for one in accounts(world, "kind = 'savings'")}
    people = [customer(world, one["customer_id"]) for one in overdrawn]
    names = sorted(range(len(people)), key=lambda index: (people[index]["name"], overdrawn[index]["id"]))
    if not 2 <= len(overdrawn) <= 5:
        return None
    return Draft(
        prompt=phrase(
            rng,
            "Our customers in {town} whose accounts are overdrawn have all agreed: bring each of these accounts to exactly "
            "zero with a transfer from the same customer's savings.",
            "Please clear every overdrawn account in {town}: move from the holder's savings just as much as is missing, so "
            "that the balance is nothing.",
            "For each account in {town} that is below zero, transfer the missing amount from its holder's savings account, "
            "to the cent.",
            town=town["town"],
        ),
        solution=[
            call("list_accounts", town=town["town"], overdrawn=True),
            *(show(people[index]) for index in names),
            *(
                call(
                    "transfer_money",
                    account_id=savings[people[index]["id"]]["id"],
                    to_account_id=overdrawn[index]["id"],
                    amount=dollars(-overdrawn[index]["balance"]),
                )
                for index in names
            ),
            call("list_accounts", town=town["town"], overdrawn=True),
        ],
    )


@template("small-disputes", difficulty="hard", tags=("write", "condition"))
def small_disputes(world: World, rng: random.Random) -> Draft | None:
    """A town's open disputes are gone through: the small ones are closed."""
    town = pick(rng, world.rows("SELECT DISTINCT town FROM customers ORDER BY town"))
    if town is None:
        return None
    found = world.rows(
        """
        SELECT disputes.*, -amount_cents AS cents FROM disputes JOIN entries USING (transaction_id)
        JOIN accounts ON accounts.id = account_id JOIN customers ON customers.id = customer_id
        WHERE disputes.status = 'open' AND town = ? ORDER BY disputes.opened_on, disputes.id
        """,
        town["town"],
    )
    small = [one for one in found if one["cents"] <= SMALL_DISPUTE_CENTS]
    if not 4 <= len(small) <= 9 or len(small) == len(found):
        return None
    return Draft(
        prompt=phrase(
            rng,
            "Please go through the open disputes of our {town} customers and close those that our house rules do not want "
            "investigated, as the rules say.",
            "The open disputes from {town} are due: by the house rules, which are too small for an investigation? Close these "
            "as the rules have it, and leave the others open.",
            "Clear the {town} disputes: close the open ones that the house rules spare an investigation, no others.",
            town=town["town"],
        ),
        solution=[
            call("list_disputes", status="open", town=town["town"]),
            call("read_policy"),
            *(call("close_dispute", dispute_id=one["id"], outcome="upheld") for one in small),
        ],
    )


@template("raise-all", difficulty="hard", tags=("write", "condition", "arithmetic"))
def raise_all(world: World, rng: random.Random) -> Draft | None:
    """All standing orders that can still be changed rise by an amount."""
    who = pick(rng, customers(world))
    mine = orders(world, f"payees.customer_id = {who['id']}") if who else []
    ready = [one for one in mine if can_change(world, one)]
    if who is None or len(ready) < 3:
        return None
    cents = rng.choice((1_00, 2_00, 2_50, 5_00, 10_00))
    return Draft(
        prompt=phrase(
            rng,
            "{who} wants to pay {amount} more to everybody who is paid by standing order. Please raise all active ones, "
            "except those that go out too soon to be changed: these stay as they are.",
            "Please raise each active standing order of {who} by {amount} a month, whatever it is now. Where it is too late to "
            "change one, leave it.",
            "All of {who}'s active standing orders go up by {amount}, from every account. Leave out any for which the notice is "
            "too short.",
            who=who["called"],
            amount=price(cents),
        ),
        solution=[
            look_up(who),
            show(who),
            call("list_standing_orders", customer_id=who["id"]),
            *(
                call("change_standing_order", standing_order_id=one["id"], amount=dollars(one["amount_cents"] + cents))
                for one in ready
            ),
        ],
        about=["raise", who["id"]],
    )
