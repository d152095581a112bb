"""The helpdesk's rules, each met at the desk: what is refused, and what the message says to do."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, TypeAlias

import pytest
import pytest_asyncio

from subworlds.scenarios.generation.world_folder import WorldFolder
from subworlds.scenarios.pack import BUILTIN_PACKS
from subworlds.scenarios.session import Session
from subworlds.scenarios.tool import FailureKind

from ..scenarios.toys import Worlds, ask, fail, open_worlds

pytestmark = pytest.mark.asyncio(loop_scope="module")

JSON: TypeAlias = Any


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def helpdesk() -> AsyncIterator[Worlds]:
    async with open_worlds(WorldFolder(BUILTIN_PACKS / "helpdesk").scenario()) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def desk(helpdesk: Worlds) -> AsyncIterator[Session]:
    """The helpdesk on a morning of its own."""
    session = await helpdesk.start("helpdesk")
    yield session
    await session.close()


async def refused(desk: Session, tool: str, /, **arguments: JSON) -> str:
    kind, message = await fail(desk, tool, **arguments)
    assert kind is FailureKind.TOOL_FAILED
    return message


async def listed(desk: Session, tool: str, /, **filters: JSON) -> list[JSON]:
    return (await ask(desk, tool, **filters))["results"]


async def person(desk: Session, name: str) -> JSON:
    [found] = await listed(desk, "search_people", query=name)
    return await ask(desk, "get_person", person_id=found["person_id"])


async def ticket(desk: Session, **filters: JSON) -> JSON:
    return (await listed(desk, "list_tickets", **filters))[0]


async def agents(desk: Session, **filters: JSON) -> list[JSON]:
    return await listed(desk, "list_agents", **filters)


async def opened(desk: Session, name: str = "Fiona Stone", **changes: JSON) -> JSON:
    """A fresh ticket for the Networks."""
    about = {"subject": "No signal", "category": "network", "priority": "high", "team": "Networks"}
    requester = await person(desk, name)
    return await ask(desk, "open_ticket", person_id=requester["person_id"], **(about | changes))


async def somebody_who_left(desk: Session) -> JSON:
    left = [one for one in await listed(desk, "search_people", query="an", limit=50) if not one["active"]]
    return left[0]


async def test_ticket_is_due_by_its_priority_and_no_one_opens_it_twice(desk: Session) -> None:
    made = await opened(desk)
    assert (made["opened_at"][11:13], made["due_at"][11:13]) == ("09", "17")
    again = {"subject": "no signal", "category": "network", "priority": "low", "team": "Networks"}
    message = await refused(desk, "open_ticket", person_id=made["person_id"], **again)
    assert made["number"] in message
    urgent = await ask(desk, "set_priority", ticket_id=made["ticket_id"], priority="urgent")
    assert urgent["due_at"][11:13] == "13"


async def test_ticket_is_for_somebody_who_works_here_about_their_own_equipment(desk: Session) -> None:
    about = {"subject": "Broken", "category": "hardware", "priority": "low", "team": "hardware"}
    left = await somebody_who_left(desk)
    assert "has left" in await refused(desk, "open_ticket", person_id=left["person_id"], **about)
    fiona, helen = await person(desk, "Fiona Stone"), await person(desk, "Helen Ashby")
    foreign = {"asset_id": helen["assets"][0]["asset_id"], **about}
    assert "not Fiona Stone's" in await refused(desk, "open_ticket", person_id=fiona["person_id"], **foreign)
    kind, message = await fail(
        desk, "open_ticket", person_id=fiona["person_id"], **(about | {"team": "Plumbing"})
    )
    assert kind is FailureKind.TOOL_FAILED
    assert "list_teams" in message


async def test_ticket_goes_to_an_agent_of_its_team_who_is_on_duty(desk: Session) -> None:
    given = {"ticket_id": (await opened(desk))["ticket_id"]}
    [stranger, *_] = await agents(desk, team="Access", on_duty=True)
    assert "is with Networks" in await refused(desk, "assign_ticket", **given, agent_id=stranger["agent_id"])
    [absent] = await agents(desk, team="Networks", on_duty=False)
    assert "off duty" in await refused(desk, "assign_ticket", **given, agent_id=absent["agent_id"])
    [present, *_] = await agents(desk, team="Networks", on_duty=True)
    taken = await ask(desk, "assign_ticket", **given, agent_id=present["agent_id"])
    assert taken["agent"] == present["name"]
    moved = await ask(desk, "move_ticket", **given, team="Access")
    assert (moved["team"], moved["agent"]) == ("Access", None)


async def test_ninth_ticket_is_too_much_for_one_agent(desk: Session) -> None:
    agent = max(await agents(desk, team="Networks", on_duty=True), key=lambda one: one["open_tickets"])
    for count in range(agent["open_tickets"], 8):
        more = await opened(desk, subject=f"Outage {count}")
        await ask(desk, "assign_ticket", ticket_id=more["ticket_id"], agent_id=agent["agent_id"])
    last = await opened(desk, subject="One too many")
    message = await refused(desk, "assign_ticket", ticket_id=last["ticket_id"], agent_id=agent["agent_id"])
    assert "the most one may" in message


async def test_only_overdue_tickets_are_escalated_and_only_to_level_three(desk: Session) -> None:
    expert = next(one for one in await agents(desk, team="Networks", on_duty=True) if one["level"] == 3)
    fresh = await opened(desk)
    message = await refused(
        desk, "escalate_ticket", ticket_id=fresh["ticket_id"], agent_id=expert["agent_id"]
    )
    assert "not overdue" in message
    late = await listed(desk, "list_tickets", team="Access", overdue=True)
    waiting = next(one for one in late if not one["escalated"])
    team = await agents(desk, team="Access", on_duty=True)
    novice = next(one for one in team if one["level"] == 1)
    one = {"ticket_id": waiting["ticket_id"]}
    assert "no level 3 agent" in await refused(desk, "escalate_ticket", **one, agent_id=novice["agent_id"])
    expert = next(one for one in team if one["level"] == 3)
    assert (await ask(desk, "escalate_ticket", **one, agent_id=expert["agent_id"]))["escalated"] is True
    assert "escalated already" in await refused(desk, "escalate_ticket", **one, agent_id=expert["agent_id"])


async def test_ticket_is_resolved_by_its_agent_and_by_no_outdated_article(desk: Session) -> None:
    mine = {"ticket_id": (await opened(desk))["ticket_id"]}
    assert "assign_ticket first" in await refused(desk, "resolve_ticket", **mine)
    [agent, *_] = await agents(desk, team="Networks", on_duty=True)
    await ask(desk, "assign_ticket", **mine, agent_id=agent["agent_id"])
    [old] = await listed(desk, "search_articles", query="VPN drops", status="outdated")
    assert "is outdated" in await refused(desk, "resolve_ticket", **mine, article_id=old["article_id"])
    [current] = await listed(desk, "search_articles", query="VPN drops", status="current")
    done = await ask(desk, "resolve_ticket", **mine, article_id=current["article_id"])
    assert (done["status"], done["article"]) == ("resolved", current["code"])
    assert "reopen_ticket first" in await refused(desk, "set_priority", **mine, priority="low")
    again = await ask(desk, "reopen_ticket", **mine)
    assert (again["status"], again["agent"]) == ("open", None)


async def test_old_and_closed_tickets_are_not_reopened(desk: Session) -> None:
    resolved = await listed(desk, "list_tickets", status="resolved", limit=50)
    old = next(one for one in resolved if one["resolved_at"] < "2026-03-01")
    message = await refused(desk, "reopen_ticket", ticket_id=old["ticket_id"])
    assert "over 14 days ago" in message
    closed = await ticket(desk, status="closed")
    assert "not resolved" in await refused(desk, "reopen_ticket", ticket_id=closed["ticket_id"])
    assert "is closed" in await refused(desk, "add_comment", ticket_id=closed["ticket_id"], text="Hello")


async def test_newer_ticket_is_merged_into_the_older_of_its_category(desk: Session) -> None:
    older = await ticket(desk, category="network", status="live")
    newer = await opened(desk)
    backwards = {"ticket_id": older["ticket_id"], "into_ticket_id": newer["ticket_id"]}
    assert "not older" in await refused(desk, "merge_ticket", **backwards)
    other = await ticket(desk, category="access", status="live")
    across = {"ticket_id": newer["ticket_id"], "into_ticket_id": other["ticket_id"]}
    assert "about network" in await refused(desk, "merge_ticket", **across)
    merged = await ask(desk, "merge_ticket", ticket_id=newer["ticket_id"], into_ticket_id=older["ticket_id"])
    assert (merged["status"], merged["merged_into"]) == ("closed", older["number"])


async def test_ticket_waits_for_an_answer_once(desk: Session) -> None:
    asked = {"ticket_id": (await opened(desk))["ticket_id"], "question": "Since when?"}
    assert (await ask(desk, "wait_for_person", **asked))["status"] == "waiting"
    assert "is waiting, not open" in await refused(desk, "wait_for_person", **asked)


async def test_equipment_comes_from_the_stock_of_the_office(desk: Session) -> None:
    helen = await person(desk, "Helen Ashby")
    here = {"kind": "laptop", "office": helen["office"]}
    [stock, *_] = await listed(desk, "list_assets", **here, status="in_stock")
    assert "take_back_asset first" in await refused(
        desk, "hand_out_asset", asset_id=stock["asset_id"], person_id=helen["person_id"]
    )
    elsewhere = next(
        one
        for one in await listed(desk, "list_assets", kind="monitor", status="in_stock")
        if one["office"] != helen["office"]
    )
    assert "choose one there" in await refused(
        desk, "hand_out_asset", asset_id=elsewhere["asset_id"], person_id=helen["person_id"]
    )
    [broken, *_] = await listed(desk, "list_assets", **here, status="in_repair")
    assert "in repair, not in stock" in await refused(
        desk, "hand_out_asset", asset_id=broken["asset_id"], person_id=helen["person_id"]
    )
    assert "nobody has it" in await refused(
        desk, "take_back_asset", asset_id=broken["asset_id"], goes_to="retired"
    )
    assert (await ask(desk, "finish_repair", asset_id=broken["asset_id"]))["status"] == "in_stock"


async def test_admin_rights_end_with_the_laptop_they_are_for(desk: Session) -> None:
    helen = await person(desk, "Helen Ashby")
    laptop = next(one for one in helen["assets"] if one["kind"] == "laptop")
    for right in helen["admin_rights"]:
        await ask(desk, "revoke_admin_rights", right_id=right["right_id"])
    wish = {"person_id": helen["person_id"], "asset_id": laptop["asset_id"]}
    assert "30 days at most" in await refused(desk, "grant_admin_rights", **wish, days=31)
    right = await ask(desk, "grant_admin_rights", **wish, days=14)
    assert right["until_day"] == "2026-03-31"
    assert "until 2026-03-31" in await refused(desk, "grant_admin_rights", **wish, days=7)
    await ask(desk, "take_back_asset", asset_id=laptop["asset_id"], goes_to="in_stock")
    assert (await person(desk, "Helen Ashby"))["admin_rights"] == []
    assert "over already" in await refused(desk, "revoke_admin_rights", right_id=right["right_id"])
    assert "not Helen Ashby's laptop" in await refused(desk, "grant_admin_rights", **wish, days=7)


async def test_seat_is_free_once_somebody_gives_theirs_back(desk: Session) -> None:
    full = next(one for one in await listed(desk, "list_licences") if one["free"] == 0)
    wish = {"licence_id": full["licence_id"]}
    seats = await listed(desk, "list_seats", **wish)
    holders = {seat["person_id"] for seat in seats}
    wisher = next(
        one
        for one in await listed(desk, "search_people", query="an", limit=50)
        if one["active"] and one["person_id"] not in holders
    )
    wish["person_id"] = wisher["person_id"]
    assert "list_seats" in await refused(desk, "grant_software", **wish)
    await ask(desk, "withdraw_software", grant_id=seats[0]["grant_id"])
    assert (await ask(desk, "grant_software", **wish))["person"] == wisher["name"]
    assert "has a seat" in await refused(desk, "grant_software", **wish)


async def test_only_locked_accounts_are_unlocked(desk: Session) -> None:
    everyone = await listed(desk, "search_people", query="example", limit=50)
    locked = next(one for one in everyone if one["locked"])
    account = {"person_id": locked["person_id"]}
    assert (await ask(desk, "unlock_account", **account))["locked"] is False
    assert "not locked" in await refused(desk, "unlock_account", **account)
