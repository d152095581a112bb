"""Nothing is in a process that runs a world or a verifier but what is its own. Their memory is searched."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psutil
import pytest
import pytest_asyncio

from subworlds.scenarios.task import PythonCheck

from ..scenarios.toys import ask, open_worlds
from ..verifiers.kiosk import Kiosk, a_run, open_kiosk
from .memory import found_in

pytestmark = pytest.mark.asyncio(loop_scope="module")

OTHER_VERIFIER = f"code-{secrets.token_hex(8)}"
GOLD = f"gold-{secrets.token_hex(8)}"
ANSWER = f"answer-{secrets.token_hex(8)}"
PROMPT = f"prompt-{secrets.token_hex(8)}"
ENVIRONMENT = f"environment-{secrets.token_hex(8)}"
EVERY_SECRET = {OTHER_VERIFIER, GOLD, ANSWER, PROMPT, ENVIRONMENT}

TASK = (
    f'{{"id": "kiosk/secret", "prompt": "{PROMPT}", "difficulty": "easy", "split": "train",'
    f' "solution": [{{"tool": "sell", "arguments": {{"good_id": 2}}, "note": "x"}}],'
    f' "answer": {{"text": "{ANSWER}"}}}}\n'
)


def look(pid: int, wanted: set[str]) -> set[str]:
    """What of it a process has, where we may look."""
    try:
        return found_in(pid, wanted)
    except PermissionError:
        pytest.skip("this user may not look into the memory of other processes")


@pytest.fixture(scope="module")
def environment() -> Iterator[None]:
    """The server's environment holds a secret."""
    os.environ["SUBWORLDS_TEST_SECRET"] = ENVIRONMENT
    yield
    del os.environ["SUBWORLDS_TEST_SECRET"]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def kiosk(
    worlds: Path, tmp_path_factory: pytest.TempPathFactory, environment: None
) -> AsyncIterator[Kiosk]:
    """The toy world, with a task and a verifier that say something which can be searched for."""
    pack = tmp_path_factory.mktemp("packs") / "kiosk"
    shutil.copytree(worlds / "kiosk", pack, ignore=shutil.ignore_patterns("__pycache__"))
    tasks, verifiers = pack / "tasks.jsonl", pack / "verifiers.py"
    tasks.write_text(tasks.read_text() + TASK.replace(', "note": "x"', ""))
    verifiers.write_text(f"{verifiers.read_text()}\n# {OTHER_VERIFIER}\n")
    async with open_kiosk(pack.parent) as opened:
        yield opened


async def test_the_search_finds_what_is_there() -> None:
    assert found_in(os.getpid(), {PROMPT}) == {PROMPT}


async def test_no_process_of_a_world_holds_a_task_a_verifier_or_the_servers_environment(kiosk: Kiosk) -> None:
    task = kiosk.task("secret")
    await kiosk.play(task, ("sell", {"good_id": 2}))
    await kiosk.play(kiosk.task("sell-pear-by-code"), ("sell", {"good_id": 2}))
    session = await kiosk.manager.start_session("kiosk")
    try:
        pids = {"session": session.pid, **kiosk.manager.processes()}
        held = {name: look(pid, EVERY_SECRET) for name, pid in pids.items()}
        assert held == {"session": set(), "zygote": set(), "kiosk": set()}
        knows_itself = look(session.pid, {"Sell a good. Refuses what is out of stock."})
        assert knows_itself
    finally:
        await session.close()


async def test_a_verifier_run_holds_its_own_task_only(kiosk: Kiosk) -> None:
    own = f"own-{secrets.token_hex(8)}"
    code = f"def verify(a, b):\n    '{own}'\n    while True: pass"
    await kiosk.play(kiosk.task("secret"), ("sell", {"good_id": 2}))
    judging, run = await a_run(kiosk, PythonCheck(code, "verify"))
    while not (authors := run.children()):
        await asyncio.sleep(0)
    assert look(run.pid, {*EVERY_SECRET, own}) == {own}
    assert look(authors[0].pid, {*EVERY_SECRET, own}) == {own}
    assert kiosk.verification.pid is not None
    assert look(kiosk.verification.pid, {*EVERY_SECRET, own}) == set()
    psutil.Process(run.pid).kill()
    assert (await judging).outcome == "verifier_error"


async def test_no_session_holds_what_another_was_told() -> None:
    mine = f"note-{secrets.token_hex(8)}"
    async with open_worlds() as worlds:
        one, other = await worlds.start(), await worlds.start()
        await ask(one, "add_note", text=mine)
        assert look(one.pid, {mine}) == {mine}
        assert look(other.pid, {mine}) == set()
        assert [look(pid, {mine}) for pid in worlds.manager.processes().values()] == [set(), set()]


async def test_no_environment_of_a_process_is_the_servers(kiosk: Kiosk) -> None:
    session = await kiosk.manager.start_session("kiosk")
    try:
        for pid in (session.pid, *kiosk.manager.processes().values()):
            assert ENVIRONMENT.encode() not in Path(f"/proc/{pid}/environ").read_bytes()
    finally:
        await session.close()
