"""How a call ends: with a result, or with a failure whose kind says whose fault it was."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import pytest_asyncio

from subworlds.scenarios import session as session_module
from subworlds.scenarios.session import Session, SessionLimits, WorldCrashed
from subworlds.scenarios.tool import FailureKind

from .toys import SETTINGS, Worlds, ask, fail, make_scenario, open_worlds

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module")
async def session(worlds: Worlds) -> AsyncIterator[Session]:
    """A fresh session of the toy world."""
    started = await worlds.start()
    yield started
    await started.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def hasty() -> AsyncIterator[Worlds]:
    """The toy world, where a call may take a second and answer with 100 characters."""
    limits = SessionLimits(call_timeout_s=1.0, output_characters=100)
    async with open_worlds(settings=replace(SETTINGS, limits=limits)) as opened:
        yield opened


async def test_tools_are_listed_with_description_and_schema(session: Session) -> None:
    tools = {tool.name: tool for tool in session.tools}
    assert tools["list_notes"].description == "List notes\n\nAll of them, oldest first."
    assert tools["rewrite_note"].input_schema["required"] == ["id", "text"]
    assert {"elder_twin", "younger_twin", "add_notes"} <= set(tools)


async def test_a_call_reads_and_writes_rows(session: Session) -> None:
    assert await ask(session, "rewrite_note", id=1, text="cream", shout=True) == {"id": 1, "shout": True}
    assert await ask(session, "add_notes", body=[{"text": "jam"}, {"text": "tea"}]) == 2
    assert [note["text"] for note in await ask(session, "list_notes")] == ["CREAM", "bread", "jam", "tea"]
    assert await ask(session, "list_notes", limit=1) == [{"id": 1, "text": "CREAM"}]


async def test_twins_on_one_route_are_two_tools(session: Session) -> None:
    assert [await ask(session, name) for name in ("elder_twin", "younger_twin")] == ["elder", "younger"]


async def test_background_tasks_are_done_before_the_next_call(session: Session) -> None:
    assert await ask(session, "add_note_later", text="later") == "soon"
    assert (await ask(session, "read_note", id=3))["text"] == "later"


async def test_an_unknown_tool_is_not_found(session: Session) -> None:
    for name in ("no_such_tool", "done", "world/finish", ""):
        kind, message = await fail(session, name)
        assert (kind, message) == (FailureKind.TOOL_NOT_FOUND, f"there is no tool '{name}' in this world")


async def test_arguments_are_checked_before_the_world_sees_them(session: Session) -> None:
    kind, message = await fail(session, "add_note", title="butter")
    assert kind is FailureKind.INVALID_ARGUMENTS
    assert "'text' is a required property" in message
    assert "'title' was unexpected" in message
    assert (await ask(session, "tell_time"))["python"] == "2026-03-01T09:00:01"


async def test_arguments_that_are_not_json_are_refused_and_the_session_goes_on(session: Session) -> None:
    for body in (object(), {1, 2}, b"bytes"):
        kind, message = await fail(session, "add_notes", body=body)
        assert (kind, "add_notes" in message) == (FailureKind.INVALID_ARGUMENTS, True)
    assert await ask(session, "elder_twin") == "elder"


async def test_text_that_is_no_unicode_does_not_break_the_session(session: Session) -> None:
    assert await ask(session, "add_note", text="\ud800 \0 \n é") == {"id": 3}
    assert (await ask(session, "read_note", id=3))["text"] == "? \0 \n é"


async def test_a_tools_own_refusal_is_its_detail(session: Session) -> None:
    assert await fail(session, "read_note", id=99) == (FailureKind.TOOL_FAILED, "there is no note 99")


async def test_an_exception_is_one_line_without_a_traceback(session: Session) -> None:
    expected = "'fall_over' failed: RuntimeError: the shelf fell over"
    assert await fail(session, "fall_over") == (FailureKind.TOOL_FAILED, expected)


async def test_a_tool_that_exits_fails_and_the_world_goes_on(session: Session) -> None:
    expected = "'exit_process' failed: SystemExit: 3"
    assert await fail(session, "exit_process", how="sys.exit") == (FailureKind.TOOL_FAILED, expected)
    assert await ask(session, "elder_twin") == "elder"


async def test_a_tool_that_ends_its_process_is_a_crash(session: Session) -> None:
    assert (await fail(session, "exit_process", how="os._exit"))[0] is FailureKind.WORLD_CRASHED
    assert (await fail(session, "elder_twin"))[0] is FailureKind.WORLD_CRASHED
    assert not session.alive
    with pytest.raises(WorldCrashed):
        await session.finish()


async def test_text_and_bytes_are_results_too(session: Session) -> None:
    assert await ask(session, "poem") == "roses are red"
    assert await ask(session, "picture") == "[6 bytes of image/png]"


async def test_a_long_answer_is_cut_and_says_so(hasty: Worlds) -> None:
    session = await hasty.start()
    outcome = await session.call("recite", {"length": 5_000})
    assert outcome.truncated
    assert outcome.result == '"' + "x" * 99 + "… [cut: the first 100 of 5002 characters; ask for less]"
    whole = await session.call("recite", {"length": 98})
    assert (whole.result, whole.truncated) == ("x" * 98, False)


@pytest.mark.parametrize("how", ["spin", "sleep", "await", "sql"])
async def test_a_call_that_takes_too_long_fails_and_the_session_goes_on(hasty: Worlds, how: str) -> None:
    session = await hasty.start()
    for _ in range(2):
        expected = "'wait' failed: it did not answer within 1 s"
        assert await fail(session, "wait", how=how) == (FailureKind.TIMEOUT, expected)
        assert await ask(session, "add_note", text="butter")
    assert (await ask(session, "tell_time"))["python"] == "2026-03-01T09:00:05"
    await session.finish()


@pytest.mark.parametrize("how", ["stubborn", "deaf"])
async def test_a_call_that_will_not_be_interrupted_ends_its_world(
    hasty: Worlds, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_module, "_GRACE_S", 0.3)
    session = await hasty.start()
    kind, message = await fail(session, "wait", how=how)
    assert kind is FailureKind.TIMEOUT
    assert message == "'wait' did not answer within 1 s, and its world had to be stopped"
    assert not session.alive
    assert (await fail(session, "elder_twin"))[0] is FailureKind.WORLD_CRASHED


async def test_calls_made_at_once_are_answered_one_by_one(session: Session) -> None:
    answers = await asyncio.gather(*(ask(session, "bump") for _ in range(20)))
    assert sorted(answers) == list(range(1, 21))


async def test_a_call_that_nobody_waits_for_ends_before_the_next_begins(hasty: Worlds) -> None:
    session = await hasty.start()
    for how in ("spin", "await"):
        call = asyncio.create_task(session.call("wait", {"how": how}))
        await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert await ask(session, "elder_twin") == "elder"


async def test_a_session_is_used_as_long_as_it_is_called(session: Session) -> None:
    before = session.last_activity
    await ask(session, "elder_twin")
    assert session.last_activity > before


async def test_finishing_waits_for_the_call_under_way(session: Session) -> None:
    call = asyncio.create_task(session.call("add_note", {"text": "butter"}))
    await asyncio.sleep(0)
    await session.finish()
    assert (await call).result == {"id": 3}


async def test_closing_does_not_wait_for_the_call_under_way(session: Session) -> None:
    call = asyncio.create_task(session.call("wait", {"how": "sleep"}))
    await asyncio.sleep(0)
    await session.close()
    failure = (await call).failure
    assert failure is not None
    assert failure.kind is FailureKind.WORLD_CRASHED
    assert session.closed


WRITER = """
import os, stat
from fastapi import Body, FastAPI
app = FastAPI()

@app.post("/", operation_id="write")
def write(text: str = Body(embed=True), times: int = 1) -> str:
    channel = next(fd for fd in range(3, 32) if is_channel(fd))
    for _ in range(times):
        os.write(channel, text.encode())
    return "written"

def is_channel(fd):
    try:
        return stat.S_ISSOCK(os.fstat(fd).st_mode) and os.get_blocking(fd)
    except OSError:
        return False

@app.get("/", operation_id="look")
def look() -> str:
    return "seen"
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def writers() -> AsyncIterator[Worlds]:
    """A world that writes to its channel. Not warmed up: it would write to its template's."""
    writer = make_scenario(WRITER, name="writer")
    async with open_worlds(writer, settings=replace(SETTINGS, warm=False)) as opened:
        yield opened


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("garbage\n", 1),
        ("\n", 1),
        ("[]\n", 1),
        ("7\n", 1),
        ('{"jsonrpc": "2.0", "method": "world/ready"}\n', 1),
        ('{"jsonrpc": "2.0", "method": "world/ready"}\n', 100_000),
        ('{"jsonrpc": "2.0", "id": 99, "result": {}}\n', 1),
        ('{"jsonrpc": "2.0", "id": [], "result": {}}\n', 1),
        ('{"jsonrpc": "2.0", "id": 2, "result": 7}\n', 1),
        ('{"jsonrpc": "2.0", "id": 2, "error": {"code": 1, "message": "x"}}\n', 1),
        ('{"jsonrpc": "2.0", "id": 2, "result": {"content": []}}\n', 1),
        ('{"jsonrpc": "2.0", "id": 2, "result": {"content": [{"text": "1"}], "_meta": 1}}\n', 1),
        ("[" * 100_000 + "\n", 1),
        ("x" * 1_000_000, 18),
    ],
)
async def test_a_world_that_sends_anything_but_its_answer_is_cut_off(
    writers: Worlds, text: str, times: int
) -> None:
    session = await writers.start("writer")
    kind, _ = await fail(session, "write", text=text, times=times)
    assert kind is FailureKind.WORLD_CRASHED
    assert not session.alive
    bystander = await writers.start("writer")
    assert await ask(bystander, "look") == "seen"
    await asyncio.gather(session.close(), bystander.close())
