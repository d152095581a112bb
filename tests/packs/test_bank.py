"""The bank's desk refuses what the bank forbids, says why, and keeps a ledger that adds up."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from typing import Any

import pytest
import pytest_asyncio

from subworlds.scenarios.generation.world_folder import WorldFolder
from subworlds.scenarios.pack import BUILTIN_PACKS
from subworlds.scenarios.session import Session
from subworlds.scenarios.tool import FailureKind

from ..scenarios.toys import Worlds, ask, fail, open_worlds

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def worlds() -> AsyncIterator[Worlds]:
    async with open_worlds(WorldFolder(BUILTIN_PACKS / "bank").scenario()) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def bank(worlds: Worlds) -> AsyncIterator[Session]:
    session = await worlds.start("bank")
    yield session
    await session.close()


async def refusal(bank: Session, tool: str, /, **arguments: Any) -> str:
    kind, message = await fail(bank, tool, **arguments)
    assert kind is FailureKind.TOOL_FAILED
    return message


MARTA, JANE = {"current": 201, "savings": 202}, {"current": 213, "savings": 214}
"""Accounts of Marta Nowak of Eastbrook (basic) and of Jane Whitlock (plus, moved on 2 April)."""

REFUSALS: list[tuple[str, dict[str, Any], str]] = [
    ("transfer_money", {"account_id": 201, "to_account_id": 202, "amount": 99_999}, "available"),
    ("transfer_money", {"account_id": 201, "to_account_id": 202, "amount": 1.005}, "whole cents"),
    ("transfer_money", {"account_id": 201, "to_account_id": 201, "amount": 1}, "same account"),
    ("transfer_money", {"account_id": 202, "to_account_id": 213, "amount": 1}, "own accounts only"),
    ("transfer_money", {"account_id": 1, "to_account_id": 201, "amount": 1}, "No account with id 1"),
    ("pay_payee", {"account_id": 205, "payee_id": 409, "amount": 501}, "no more than $500 until 2026-04-17"),
    ("pay_payee", {"account_id": 201, "payee_id": 409, "amount": 5}, "is a payee of Maria Nowak"),
    ("pay_payee", {"account_id": 202, "payee_id": 401, "amount": 5}, "Only current accounts pay"),
    ("set_overdraft", {"account_id": 201, "amount": 550}, "most for basic customers is $500"),
    ("set_overdraft", {"account_id": 201, "amount": 70}, "steps of $50"),
    ("set_overdraft", {"account_id": 202, "amount": 100}, "no overdraft"),
    ("set_overdraft", {"account_id": 217, "amount": 100}, "too little"),
    ("set_card_limit", {"card_id": 305, "amount": 1050}, "most for basic customers is $1,000"),
    ("set_card_limit", {"card_id": 304, "amount": 300}, "is frozen, not active"),
    ("freeze_card", {"card_id": 304}, "is frozen, not active"),
    ("unfreeze_card", {"card_id": 303}, "is blocked, not frozen"),
    ("block_card", {"card_id": 303, "reason": "lost"}, "is blocked, not active or frozen"),
    ("replace_card", {"card_id": 311}, "block it first"),
    ("replace_card", {"card_id": 303}, "no card is sent for 14 days"),
    ("change_standing_order", {"standing_order_id": 604, "amount": 5}, "two days' notice"),
    ("change_standing_order", {"standing_order_id": 604}, "Say what to change"),
    ("cancel_standing_order", {"standing_order_id": 615}, "was cancelled"),
    ("release_hold", {"hold_id": 612}, "only the court"),
    ("release_hold", {"hold_id": 607}, "was released on 2026-04-12"),
    ("refund_fee", {"transaction_id": 1010}, "more than 60 days ago"),
    ("refund_fee", {"transaction_id": 1090}, "not a fee"),
    ("open_dispute", {"transaction_id": 1207, "reason": "wrong_amount"}, "was disputed on 2026-02-19"),
    ("open_dispute", {"transaction_id": 1010, "reason": "wrong_amount"}, "Only card payments"),
    ("close_dispute", {"dispute_id": 606, "outcome": "upheld"}, "was withdrawn on 2026-04-13"),
    ("close_account", {"account_id": 201}, "bring it to nothing"),
    ("update_customer", {"customer_id": 101}, "Say what to change"),
    ("update_customer", {"customer_id": 101, "email": "Jane.Whitlock@letterbox.example"}, "already belongs"),
]


@pytest.mark.parametrize(("tool", "arguments", "reason"), REFUSALS)
async def test_desk_says_why_it_refuses(
    bank: Session, tool: str, arguments: dict[str, Any], reason: str
) -> None:
    assert reason in await refusal(bank, tool, **arguments)


async def test_card_is_blocked_before_it_is_replaced_and_replaced_once(bank: Session) -> None:
    [card, *_] = (await ask(bank, "list_cards", account_id=MARTA["current"], status="active"))["results"]
    await ask(bank, "block_card", card_id=card["card_id"], reason="stolen")
    new = await ask(bank, "replace_card", card_id=card["card_id"])
    assert (new["status"], new["daily_limit"]) == ("active", card["daily_limit"])
    assert f"was replaced by card {new['digits']}" in await refusal(
        bank, "replace_card", card_id=card["card_id"]
    )


async def test_card_that_nobody_needs_is_not_replaced(bank: Session) -> None:
    await ask(bank, "block_card", card_id=301, reason="not_needed")
    assert "not needed" in await refusal(bank, "replace_card", card_id=301)


async def test_fee_is_given_back_once(bank: Session) -> None:
    charged = await ask(bank, "charge_fee", account_id=MARTA["current"], fee_id=2)
    back = await ask(bank, "refund_fee", transaction_id=charged["transaction_id"])
    assert back["balance"] == charged["balance"] + 18
    assert "was given back already" in await refusal(
        bank, "refund_fee", transaction_id=charged["transaction_id"]
    )


async def test_payee_and_standing_order_are_there_once(bank: Session) -> None:
    payee = await ask(bank, "add_payee", customer_id=101, name="Hill School", account_number="NB-100200")
    plan = {"account_id": MARTA["current"], "payee_id": payee["payee_id"], "amount": 40, "day_of_month": 14}
    assert (await ask(bank, "create_standing_order", **plan))["next_on"] == "2026-05-14"
    assert "runs already" in await refusal(bank, "create_standing_order", **plan)
    again = {"customer_id": 101, "name": "School", "account_number": "NB-100200"}
    assert "on the list already, as Hill School" in await refusal(bank, "add_payee", **again)


async def test_upheld_dispute_brings_the_money_back(bank: Session) -> None:
    [dispute, *_] = (await ask(bank, "list_disputes", status="open"))["results"]
    [before] = (await ask(bank, "list_accounts", number=dispute["account"]))["results"]
    await ask(bank, "close_dispute", dispute_id=dispute["dispute_id"], outcome="upheld")
    [after] = (await ask(bank, "list_accounts", number=dispute["account"]))["results"]
    assert after["balance"] == pytest.approx(before["balance"] + dispute["amount"])


async def test_account_closes_when_nothing_runs_over_it(bank: Session) -> None:
    new = await ask(bank, "open_account", customer_id=101, kind="savings")
    assert new["balance"] == 0
    await ask(bank, "close_account", account_id=new["account_id"])
    assert "was closed on 2026-04-14" in await refusal(
        bank, "transfer_money", account_id=MARTA["current"], to_account_id=new["account_id"], amount=5
    )


async def test_account_with_a_usable_card_stays_open(bank: Session) -> None:
    [jane] = (await ask(bank, "search_customers", query="Jane Whitlock"))["results"]
    [current, savings] = (await ask(bank, "get_customer", customer_id=jane["customer_id"]))["accounts"]
    for hold in (await ask(bank, "list_holds", account_id=current["account_id"]))["results"]:
        await ask(bank, "release_hold", hold_id=hold["hold_id"])
    sweep = {"account_id": current["account_id"], "to_account_id": savings["account_id"]}
    await ask(bank, "transfer_money", **sweep, amount=current["balance"])
    assert "block it first" in await refusal(bank, "close_account", account_id=JANE["current"])


async def test_customer_has_four_accounts_at_most(bank: Session) -> None:
    await ask(bank, "open_account", customer_id=109, kind="savings")
    assert "the most one may have" in await refusal(bank, "open_account", customer_id=109, kind="savings")


async def test_every_transaction_adds_up_to_nothing(bank: Session) -> None:
    await ask(bank, "pay_payee", account_id=MARTA["current"], payee_id=401, amount=12.5)
    await ask(bank, "transfer_money", account_id=MARTA["current"], to_account_id=JANE["savings"], amount=0.01)
    with closing(sqlite3.connect(await bank.finish())) as ledger:
        sums = ledger.execute("SELECT sum(amount_cents) FROM entries GROUP BY transaction_id")
        assert {total for (total,) in sums} == {0}
