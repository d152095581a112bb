"""What a world's code may do, and what its bombs break: itself. Attacks on the outside: tests/attacks."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass

import psutil
import pytest
import pytest_asyncio

from subworlds.scenarios.errors import ScenarioError
from subworlds.scenarios.manager import ManagerSettings
from subworlds.scenarios.session import Session, SessionLimits
from subworlds.scenarios.tool import FailureKind

from .toys import Worlds, ask, fail, gone, hold, make_scenario, open_worlds

pytestmark = pytest.mark.asyncio(loop_scope="module")

ATTACKER = """
import array, ctypes, fcntl, mmap, multiprocessing, os, pathlib, resource, shutil, signal, socket, sqlite3
import stat, subprocess, sys, threading, time, urllib.request
from fastapi import Body, FastAPI
from typing import Any
app = FastAPI()

@app.post("/", operation_id="run")
def run(code: str = Body(embed=True)) -> Any:
    names = {**globals()}
    exec(code, names)
    return names.get("result")
"""


@dataclass(frozen=True, slots=True)
class Target:
    """A session to attack from, and one beside it."""

    session: Session
    sibling: Session


@pytest_asyncio.fixture(loop_scope="module")
async def target(worlds: Worlds) -> AsyncIterator[Target]:
    """A fresh session, and another beside it."""
    worlds.scenarios.setdefault("attacker", make_scenario(ATTACKER, name="attacker"))
    session, sibling = await worlds.start("attacker"), await worlds.start("attacker")
    yield Target(session, sibling)
    assert await ask(sibling, "run", code="result = 'alive'") == "alive"
    await asyncio.gather(session.close(), sibling.close())


@pytest.mark.parametrize(
    ("code", "result"),
    [
        ("open('note', 'w').write('mine'); result = open('note').read(); os.remove('note')", "mine"),
        ("os.mkdir('f'); os.rename('f', 'g'); result = os.path.isdir('g'); os.rmdir('g')", True),
        ("import tempfile, io; result = tempfile.SpooledTemporaryFile().read().decode()", ""),
        (
            "import zoneinfo, datetime as d; result = str(d.datetime(2026, 7, 1, "
            "tzinfo=zoneinfo.ZoneInfo('Europe/Berlin')).utcoffset())",
            "2:00:00",
        ),
        ("import datetime; result = datetime.datetime.strptime('2026', '%Y').year", 2026),
        ("import colorsys; result = colorsys.rgb_to_hsv(1, 1, 1)[2]", 1),
        ("result = 'é'.encode('idna').decode()", "xn--9ca"),
        ("import asyncio; result = asyncio.iscoroutine(None)", False),
        ("t = threading.Thread(target=lambda: None); t.start(); t.join(); result = t.is_alive()", False),
        (
            "from concurrent.futures import ThreadPoolExecutor\n"
            "with ThreadPoolExecutor() as pool: result = list(pool.map(abs, [-1]))",
            [1],
        ),
        ("result = sqlite3.connect(':memory:').execute('SELECT 1').fetchone()[0]", 1),
        (
            "r, w = os.pipe(); os.write(w, b'x'); result = os.read(r, 1).decode(); os.close(r); os.close(w)",
            "x",
        ),
        ("print('to nobody'); sys.stderr.write('either'); result = sys.stdin.read()", ""),
        ("result = os.environ.get('HOME', 'homeless')", "homeless"),
    ],
)
async def test_a_tool_can(target: Target, code: str, result: object) -> None:
    assert await ask(target.session, "run", code=code) == result


async def test_a_session_holds_no_descriptor_but_its_own(target: Target) -> None:
    code = """
def kind(fd):
    try:
        return stat.S_IFMT(os.fstat(fd).st_mode)
    except OSError:
        return None

kinds = [kind(fd) for fd in range(256)]
result = [kinds[:3] == [stat.S_IFCHR] * 3, kinds.count(stat.S_IFSOCK), len(kinds) - kinds.count(None)]
"""
    channel_and_loop, standard_streams, epoll = 3, 3, 1
    found = await ask(target.session, "run", code=code)
    assert found == [True, channel_and_loop, standard_streams + channel_and_loop + epoll]


async def test_a_world_sees_nothing_of_the_servers_environment(target: Target) -> None:
    known = set(await ask(target.session, "run", code="result = list(os.environ)"))
    ours = {name for name in known if name.startswith(("PYTHON", "MALLOC_")) or name.endswith("_NUM_THREADS")}
    assert known - ours <= {"LANG", "TZ", "LC_CTYPE"}


BOMBS = {
    "one large allocation": ("bytearray(8 << 30)", "MemoryError"),
    "many allocations": (
        "hoard = []\nwhile True: hoard.append(mmap.mmap(-1, 1 << 26))",
        "Cannot allocate memory",
    ),
    "a large file": ("open('big', 'wb').truncate(2 << 30)", "File too large"),
    "a write past the limit": (
        "f = open('big', 'wb'); f.seek(1 << 30); f.write(b'x'); f.flush()",
        "File too large",
    ),
    "many descriptors": ("hoard = []\nwhile True: hoard.append(open('big', 'w'))", "Too many open files"),
    "many threads": (
        "wait = threading.Event()\nwhile True: threading.Thread(target=wait.wait, daemon=True).start()",
        "can't start new thread",
    ),
    "endless recursion": ("def f(): f()\nf()", "RecursionError"),
}


@pytest.mark.parametrize("bomb", BOMBS)
async def test_a_bomb_in_a_tool_goes_off_in_its_session_only(target: Target, bomb: str) -> None:
    code, error = BOMBS[bomb]
    kind, message = await fail(target.session, "run", code=code)
    assert (kind, error in message) == (FailureKind.TOOL_FAILED, True), message
    assert await ask(target.session, "run", code="result = 'alive'") == "alive"


@pytest.mark.parametrize(
    "bomb", ["one large allocation", "many allocations", "a large file", "endless recursion"]
)
async def test_a_bomb_at_import_is_a_broken_world(worlds: Worlds, bomb: str) -> None:
    code, error = BOMBS[bomb]
    with pytest.raises(ScenarioError, match=error):
        await worlds.start(make_scenario(f"{ATTACKER}\n{code}\n"))


async def test_whatever_a_session_left_in_its_folder_goes_with_it(target: Target) -> None:
    code = "for _ in range(1500):\n    os.mkdir('deep')\n    os.chdir('deep')\nos.mkdir('closed', 0)"
    await ask(target.session, "run", code=code)
    await target.session.close()
    assert not target.session.database.parent.exists()


@pytest.mark.parametrize("code", ["ctypes.string_at(0)", "os.abort()", "os._exit(0)"])
async def test_a_process_that_breaks_is_a_crash_of_its_session_only(target: Target, code: str) -> None:
    assert (await fail(target.session, "run", code=code))[0] is FailureKind.WORLD_CRASHED


async def test_processor_time_is_limited() -> None:
    limits = SessionLimits(call_timeout_s=20.0, cpu_seconds=1)
    async with open_worlds(settings=ManagerSettings(limits=limits)) as worlds:
        session = await worlds.start()
        assert (await fail(session, "wait", how="stubborn"))[0] is FailureKind.WORLD_CRASHED


async def test_processes_that_an_app_forks_at_import_end_with_its_template() -> None:
    """Two generations of them, deaf to every signal that can be blocked."""
    app = ATTACKER.replace(
        "app = FastAPI()",
        """
if os.fork() == 0:
    os.fork()
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
    while True:
        time.sleep(3600)
app = FastAPI()
""",
    )
    async with open_worlds(make_scenario(app)) as own:
        await own.start()
        template = own.manager.processes()["toy"]
        held = [hold(pid) for pid in group_of(template)]
        assert len(held) >= 4
    await asyncio.wait_for(asyncio.gather(*map(gone, held)), 20)


def group_of(leader: int) -> list[int]:
    """Processes of a process group."""
    return [process.pid for process in psutil.process_iter() if is_in_group(process.pid, leader)]


def is_in_group(pid: int, leader: int) -> bool:
    try:
        return os.getpgid(pid) == leader
    except ProcessLookupError:
        return False
