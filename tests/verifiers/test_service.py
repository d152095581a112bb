"""Verification as a server uses it: real worlds, real processes, and what happens when they die."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from subworlds.sandbox import errand
from subworlds.scenarios.manager import ServerFull
from subworlds.scenarios.task import (
    Answer,
    PythonCheck,
    SqlAssertion,
    SqlCheck,
    StateCheck,
    ToolCall,
)
from subworlds.verifiers import service
from subworlds.verifiers.service import Verification, VerifierFailed

from .kiosk import LIMITS, SELL_PEAR, Kiosk, a_run, all_gone, descriptors, runs

pytestmark = pytest.mark.asyncio(loop_scope="module")

PEARS = SqlAssertion("SELECT stock FROM goods WHERE id = 2", ((3,),))
BY_SQL = SqlCheck((PEARS,), may_change=frozenset({"goods", "sales"}))
SLOW = PythonCheck("import time\ndef verify(a, b):\n    time.sleep(1000)", "verify")
SELL_TWO = ToolCall("sell", {"good_id": 1, "quantity": 2})
SELL_ONE = ToolCall("sell", {"good_id": 1})


@pytest.fixture
def damaged(tmp_path: Path, kiosk: Kiosk) -> Path:
    """A copy of the final database, to be harmed."""
    return Path(shutil.copyfile(kiosk.final, tmp_path / "final.db"))


async def test_each_kind_tells_done_from_not_done(kiosk: Kiosk) -> None:
    by_state = kiosk.task("sell-pear-by-sql", id="kiosk/by-state", check=StateCheck())
    for task in (by_state, kiosk.task("sell-pear-by-sql"), kiosk.task("sell-pear-by-code")):
        assert (await kiosk.judge(task)).outcome == "complete"
        assert (await kiosk.judge(task, kiosk.initial)).outcome == "incomplete"


async def test_time_and_number_of_calls_before_do_not_count(kiosk: Kiosk) -> None:
    task = kiosk.task("sell-pear-by-sql", id="kiosk/late", check=StateCheck())
    looks = [("list_goods", {})] * 5
    assert (await kiosk.play(task, *looks, SELL_PEAR, *looks)).outcome == "complete"
    assert (await kiosk.play(task, SELL_PEAR, SELL_PEAR)).outcome == "incomplete"


async def test_one_of_several_solutions_will_do_and_the_nearest_is_shown(kiosk: Kiosk) -> None:
    check = StateCheck(alternatives=((SELL_ONE, SELL_ONE),))
    task = kiosk.task("sell-pear-by-sql", id="kiosk/either", check=check, solution=(SELL_TWO,))
    one, two = ("sell", {"good_id": 1}), ("sell", {"good_id": 1, "quantity": 2})
    assert (await kiosk.play(task, one, one)).outcome == "complete"
    assert (await kiosk.play(task, two)).outcome == "complete"
    half = await kiosk.play(task, one)
    assert (half.outcome, [change.table for change in half.receipt.made]) == ("incomplete", ["sales"])


async def test_what_a_gold_solution_reaches_is_learned_once(
    kiosk: Kiosk, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[dict[str, Any]] = []
    start_session = kiosk.manager.start_session

    async def start(scenario: str, **options: Any) -> Any:
        started.append(options)
        return await start_session(scenario, **options)

    monkeypatch.setattr(kiosk.manager, "start_session", start)
    task = kiosk.task("sell-pear-by-sql", id="kiosk/learned-once", check=StateCheck())
    verdicts = await asyncio.gather(*(kiosk.judge(task) for _ in range(5)))
    assert [verdict.outcome for verdict in verdicts] == ["complete"] * 5
    assert (await kiosk.judge(task)).outcome == "complete"
    assert [options["counted"] for options in started] == [False, False]
    assert len({options["seed"] for options in started}) == 2
    await kiosk.manager.settle()


async def test_what_could_not_be_learned_is_tried_again(
    kiosk: Kiosk, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = kiosk.task("sell-pear-by-sql", id="kiosk/second-try", check=StateCheck())

    async def refuse(*_: Any, **__: Any) -> None:
        raise ServerFull("no room")

    with monkeypatch.context() as patched:
        patched.setattr(kiosk.manager, "start_session", refuse)
        verdicts = await asyncio.gather(kiosk.judge(task), kiosk.judge(task))
    for verdict in verdicts:
        assert verdict.outcome == "verifier_error"
        assert verdict.reason == "the gold solution of 'kiosk/second-try' cannot be played: no room"
    assert (await kiosk.judge(task)).outcome == "complete"


async def test_learning_goes_on_for_others_when_one_gives_up(kiosk: Kiosk) -> None:
    task = kiosk.task("sell-pear-by-sql", id="kiosk/given-up", check=StateCheck())
    impatient, patient = (asyncio.create_task(kiosk.judge(task)) for _ in range(2))
    await asyncio.sleep(0)
    impatient.cancel()
    assert (await patient).outcome == "complete"


async def test_a_gold_solution_that_fails_is_told_with_its_call(kiosk: Kiosk) -> None:
    verdict = await kiosk.judge(kiosk.task("broken-gold"))
    assert (verdict.outcome, verdict.reason) == (
        "verifier_error",
        "the gold solution of 'kiosk/broken-gold' fails at call 0 (sell): tool_failed: only 0 left",
    )


@pytest.mark.parametrize(
    ("solution", "told"),
    [
        (None, "has no gold solution"),
        ((ToolCall("crash"),), "fails at call 0 (crash): world_crashed"),
        ((SELL_ONE, ToolCall("steal")), "fails at call 1 (steal): tool_not_found"),
        ((ToolCall("list_goods"),), "an agent that does nothing would solve the task"),
        ((), "an agent that does nothing would solve the task"),
    ],
)
async def test_a_task_that_cannot_be_judged_is_a_verifier_error(
    kiosk: Kiosk, solution: tuple[ToolCall, ...] | None, told: str
) -> None:
    name = f"kiosk/unfit-{told[-20:]}-{solution is None}-{solution and len(solution)}"
    verdict = await kiosk.judge(
        kiosk.task("sell-pear-by-sql", id=name, check=StateCheck(), solution=solution)
    )
    assert verdict.outcome == "verifier_error"
    assert told in verdict.reason


async def test_an_assertion_hears_the_worlds_time(kiosk: Kiosk) -> None:
    today = SqlAssertion("SELECT date('now'), CURRENT_TIMESTAMP", (("2026-03-02", "2026-03-02 09:00:01"),))
    recent = SqlAssertion("SELECT count(*) FROM sales WHERE sold_at >= date('now')", ((1,),))
    check = SqlCheck((PEARS, today, recent), may_change=BY_SQL.may_change)
    assert (await kiosk.judge(check)).outcome == "complete"


async def test_a_bad_assertion_is_a_verifier_error(kiosk: Kiosk) -> None:
    huge = "SELECT replace(hex(zeroblob(20000000)), '0', '12345678')"
    for sql in ("SELEKT", "PRAGMA user_version", "SELECT * FROM nowhere", huge):
        verdict = await kiosk.judge(SqlCheck((SqlAssertion(sql, ()),), unchanged=frozenset()))
        assert verdict.outcome == "verifier_error"
        assert verdict.reason.startswith(f"the assertion {sql} cannot be run: ")


async def test_an_answer_is_judged_with_the_state(kiosk: Kiosk) -> None:
    task = kiosk.task("sell-pear-by-sql", answer=Answer("text", "Dune"))
    right = await kiosk.judge(task, answer="dune.")
    wrong = await kiosk.judge(task, answer="\ud800" * 10)
    assert [(one.outcome, one.answer_matched) for one in (right, wrong)] == [
        ("complete", True),
        ("incomplete", False),
    ]


async def test_a_damaged_final_database_is_a_world_error(kiosk: Kiosk, damaged: Path) -> None:
    content = damaged.read_bytes()
    for harmed in (content[:5000], b"nothing" * 999, content[:4096] + b"\x0c" * (len(content) - 4096)):
        damaged.write_bytes(harmed)
        for name in ("sell-pear-by-sql", "sell-pear-by-code", "sell-apples"):
            verdict = await kiosk.judge(kiosk.task(name), damaged)
            assert (verdict.outcome, verdict.reason[:30]) == ("world_error", "the final database is damaged:")


@pytest.mark.parametrize("kind", ["missing", "folder", "link", "dangling link", "pipe"])
async def test_a_final_database_that_is_no_plain_file_is_a_world_error(
    kiosk: Kiosk, damaged: Path, kind: str
) -> None:
    damaged.unlink()
    match kind:
        case "folder":
            damaged.mkdir()
        case "link":
            damaged.symlink_to(kiosk.final)
        case "dangling link":
            damaged.symlink_to("nowhere")
        case "pipe":
            os.mkfifo(damaged)
        case _:
            pass
    before = damaged.exists()
    verdict = await kiosk.judge(BY_SQL, damaged)
    assert (verdict.outcome, verdict.reason) == (
        "world_error",
        "the final database is missing, or is no plain file",
    )
    assert damaged.exists() is before


async def test_changes_that_are_still_in_a_write_ahead_log_count(kiosk: Kiosk, tmp_path: Path) -> None:
    live, final = Path(shutil.copyfile(kiosk.initial, tmp_path / "live.db")), tmp_path / "final.db"
    with closing(sqlite3.connect(live, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("UPDATE goods SET stock = 3 WHERE id = 2")
        for suffix in ("", "-wal"):
            shutil.copyfile(f"{live}{suffix}", f"{final}{suffix}")
    assert (await kiosk.judge(BY_SQL, final)).outcome == "complete"
    assert sorted(path.name for path in tmp_path.glob("final*")) == ["final.db"]


async def test_changes_that_were_never_committed_do_not_count(kiosk: Kiosk, tmp_path: Path) -> None:
    live, final = Path(shutil.copyfile(kiosk.initial, tmp_path / "live.db")), tmp_path / "final.db"
    with closing(sqlite3.connect(live, isolation_level=None)) as connection:
        connection.executescript("PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN")
        connection.execute("UPDATE goods SET stock = 3 WHERE id = 2")
        connection.execute("CREATE TABLE spill AS SELECT hex(zeroblob(50000)) AS x FROM goods")
        for suffix in ("", "-journal"):
            shutil.copyfile(f"{live}{suffix}", f"{final}{suffix}")
    assert final.read_bytes() != kiosk.initial.read_bytes()
    assert (await kiosk.judge(BY_SQL, final)).outcome == "incomplete"


async def test_a_killed_zygote_is_replaced(kiosk: Kiosk) -> None:
    for _ in range(2):
        before = kiosk.verification.pid
        assert before is not None
        os.kill(before, signal.SIGKILL)
        verdicts = await asyncio.gather(*(kiosk.judge(BY_SQL) for _ in range(4)))
        assert {(verdict.outcome, verdict.reason) for verdict in verdicts} == {
            ("complete", "every assertion holds, and nothing else changed")
        }
        assert kiosk.verification.pid != before


async def test_a_killed_run_is_a_verifier_error_and_the_next_one_works(kiosk: Kiosk) -> None:
    judging, run = await a_run(kiosk, SLOW)
    run.kill()
    verdict = await judging
    assert (verdict.outcome, verdict.reason) == (
        "verifier_error",
        "the verifier's process died without a verdict",
    )
    await all_gone(kiosk.verification)
    assert (await kiosk.judge(BY_SQL)).outcome == "complete"


async def test_a_run_that_fails_says_what_failed(kiosk: Kiosk) -> None:
    nowhere = kiosk.initial.with_name("missing") / "final.db"
    with pytest.raises(VerifierFailed, match=r"the verifier's process failed: \w+Error \(.+\)"):
        await kiosk.verification.examine({"kind": "seal", "final": str(nowhere)})


async def test_a_killed_author_is_a_verifier_error(kiosk: Kiosk) -> None:
    judging, run = await a_run(kiosk, SLOW)
    while not (authors := run.children()):
        await asyncio.sleep(0)
    authors[0].kill()
    verdict = await judging
    assert verdict.outcome == "verifier_error"
    assert "ended by SIGKILL" in verdict.reason


async def test_who_gives_up_waiting_leaves_no_process(kiosk: Kiosk) -> None:
    judging, _ = await a_run(kiosk, SLOW)
    judging.cancel()
    with pytest.raises(asyncio.CancelledError):
        await judging
    await all_gone(kiosk.verification)


async def test_closing_leaves_no_process(kiosk: Kiosk) -> None:
    async with Verification(kiosk.manager, LIMITS) as verification:
        judging, run = await a_run(kiosk, SLOW, verification)
        family = [run, *run.children()]
    assert not any(process.is_running() for process in family)
    assert (await judging).outcome == "verifier_error"


async def test_many_verifications_leave_nothing_behind(kiosk: Kiosk) -> None:
    task = kiosk.task("sell-pear-by-sql", id="kiosk/many", check=StateCheck())
    checks = [task, BY_SQL, kiosk.task("sell-pear-by-code"), kiosk.task("forging-verifier"), SLOW]

    async def settled() -> tuple[int, int]:
        await all_gone(kiosk.verification)
        await kiosk.manager.settle()
        assert kiosk.verification.pid is not None
        return descriptors(os.getpid()), descriptors(kiosk.verification.pid)

    async def play(check: Any) -> None:
        judging = asyncio.create_task(kiosk.judge(check))
        if check is SLOW:
            while not runs(kiosk.verification):
                await asyncio.sleep(0)
            judging.cancel()
        await asyncio.wait([judging])

    await asyncio.gather(*map(play, checks))
    before = await settled()
    await asyncio.gather(*(play(check) for _ in range(10) for check in checks))
    assert await settled() == before
    assert not runs(kiosk.verification)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\xff",
        b"5",
        b"null",
        b"[]",
        b"{}",
        b'{"outcome": "won"}',
        b'{"outcome": "complete"}',
        b'{"outcome": ["complete"], "reason": "", "receipt": {}, "answer_matched": null}',
        b'{"outcome": "complete", "reason": "", "receipt": {"made": [1]}, "answer_matched": null}',
        b'{"outcome": "complete", "reason": "", "receipt": 3, "answer_matched": null}',
        b"[" * 100_000,
    ],
)
async def test_an_answer_that_is_no_verdict_is_a_verifier_error(
    kiosk: Kiosk, monkeypatch: pytest.MonkeyPatch, answer: bytes
) -> None:
    async def say(*_: object) -> bytes:
        return answer

    monkeypatch.setattr(kiosk.verification, "_ask_process", say)
    assert (await kiosk.judge(BY_SQL)).outcome == "verifier_error"


async def test_an_answer_without_end_is_not_read_to_its_end(
    kiosk: Kiosk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "_MAX_ANSWER_BYTES", 10)
    verdict = await kiosk.judge(BY_SQL)
    assert (verdict.outcome, verdict.reason) == (
        "verifier_error",
        "the verifier's process died without a verdict",
    )


async def test_a_server_out_of_descriptors_gives_a_verifier_error(
    kiosk: Kiosk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def exhausted() -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(errand.socket, "socketpair", exhausted)
    verdict = await kiosk.judge(BY_SQL)
    assert verdict.outcome == "verifier_error"
    assert verdict.reason.endswith("could not be started: Too many open files")
