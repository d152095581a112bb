"""Attacks of a world's code on what is around it. Each is one test; what it may do is tested as well.

The code runs twice over: as a tool, inside a session, and at import, inside the template.
"""

from __future__ import annotations

import asyncio
import os
import platform
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

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

FILES = {
    "read a file": "open(SECRET).read()",
    "read a system file": "open('/etc/passwd').read()",
    "read a file by a path with dots": "open('../' * 20 + SECRET).read()",
    "read a file by a link": "os.symlink(SECRET, 'link')",
    "read a file by a hard link": "os.link(SECRET, 'link')",
    "read a file by its descriptor": "os.open(SECRET, os.O_RDONLY)",
    "read a file by /proc/self/root": "open('/proc/self/root' + SECRET).read()",
    "read a file by the working directory": "os.chdir(OUTSIDE); open('secret').read()",
    "list a folder": "os.listdir(OUTSIDE)",
    "list the root": "os.listdir('/')",
    "read its own memory": "open('/proc/self/mem', 'rb')",
    "read its own environment": "open('/proc/self/environ').read()",
    "read the environment of process 1": "open('/proc/1/environ').read()",
    "read the server's environment": "open(f'/proc/{SERVER}/environ').read()",
    "read the server's memory": "open(f'/proc/{SERVER}/mem', 'rb').read(1)",
    "write a file": "open(OUTSIDE + '/new', 'w')",
    "overwrite a file": "open(SECRET, 'w')",
    "append to a file": "open(SECRET, 'a')",
    "truncate a file": "os.truncate(SECRET, 0)",
    "remove a file": "os.remove(SECRET)",
    "rename a file": "os.rename(SECRET, 'mine')",
    "rename a file to outside": "open('mine', 'w').close(); os.rename('mine', OUTSIDE + '/mine')",
    "make a folder": "os.mkdir(OUTSIDE + '/new')",
    "remove a folder": "os.rmdir(OUTSIDE)",
    "change a file's mode": "os.chmod(SECRET, 0o777)",
    "change the mode of a file it may read": "os.fchmod(os.open(os.__file__, os.O_RDONLY), 0o777)",
    "change a file's owner": "os.chown(SECRET, 1, 1)",
    "change a file's times": "os.utime(SECRET, (1, 1))",
    "change the times of a file it may read": "os.utime(os.open(os.__file__, os.O_RDONLY), (1, 1))",
    "make a pipe by name": "os.mkfifo('pipe')",
    "write the libraries": "open(os.path.dirname(os.__file__) + '/os.py', 'a')",
    "add a library": "open(os.path.dirname(os.__file__) + '/evil.py', 'w')",
    "read the packs": "open(PACKS + '/library/scenario.json').read()",
    "read the snapshots of other worlds": "os.listdir(os.path.dirname(os.path.dirname(SIBLING)))",
    "read random numbers of the kernel": "open('/dev/urandom', 'rb').read(1)",
    "use a device": "open('/dev/kmsg', 'rb').read(1)",
    "mount": "ctypes_call(165, b'none', b'.', b'tmpfs', 0, 0)",
    "change the root": "os.chroot('.')",
    "make a file of memory": "os.memfd_create('x')",
}
DATABASES = {
    "attach a system file": "sqlite3.connect('w').execute('ATTACH ? AS a', ('/etc/passwd',))",
    "attach a sibling's database": "sqlite3.connect('w').execute('ATTACH ? AS a', (SIBLING,)).connection"
    ".execute('SELECT * FROM a.notes').fetchall()",
    "write a sibling's database": "sqlite3.connect('w').execute('ATTACH ? AS a', (SIBLING,)).connection"
    ".execute('DELETE FROM a.notes')",
    "open a sibling's database": "sqlite3.Connection(SIBLING).execute('SELECT * FROM notes').fetchall()",
    "vacuum into outside": "sqlite3.connect('w').execute('VACUUM INTO ?', (OUTSIDE + '/copy.db',))",
    "back up to outside": "sqlite3.connect('w').backup(sqlite3.Connection(OUTSIDE + '/copy.db'))",
    "load an extension": "c = sqlite3.connect('w'); c.enable_load_extension(True); c.load_extension(SECRET)",
}
NETWORK = {
    "open a TCP socket": "socket.socket(socket.AF_INET, socket.SOCK_STREAM)",
    "open a UDP socket": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
    "open an IPv6 socket": "socket.socket(socket.AF_INET6, socket.SOCK_STREAM)",
    "open a Unix socket": "socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)",
    "open a netlink socket": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
    "open a packet socket": "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
    "open datagram sockets": "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)",
    "connect": "socket.create_connection(('127.0.0.1', 1))",
    "listen": "socket.create_server(('127.0.0.1', 0))",
    "fetch a page": "urllib.request.urlopen('http://127.0.0.1:1/')",
}
PROCESSES = {
    "run a program": "subprocess.run(['/bin/true'])",
    "run a shell": "print(1 / (os.system('true') == 0))",
    "spawn": "os.posix_spawn('/bin/true', ['true'], {})",
    "replace itself": "os.execv(sys.executable, ['python'])",
    "kill the server": "os.kill(SERVER, signal.SIGKILL)",
    "kill its parent": "os.kill(os.getppid(), signal.SIGKILL)",
    "kill everybody": "os.kill(-1, signal.SIGKILL)",
    "kill its group": "os.killpg(0, signal.SIGKILL)",
    "signal a sibling": "os.kill(SIBLING_PID, signal.SIGSTOP)",
    "hold a process": "os.pidfd_open(SERVER)",
    "have the kernel signal the server": "fcntl.fcntl(0, fcntl.F_SETOWN, SERVER)",
    "have the kernel send another signal": "fcntl.fcntl(0, fcntl.F_SETSIG, signal.SIGKILL)",
    "trace its parent": "ctypes_call(101, 16, os.getppid(), 0, 0)",
    "read its parent's memory": "ctypes_call(310, os.getppid(), 0, 0, 0, 0, 0)",
    "lower the server's limits": "resource.prlimit(SERVER, resource.RLIMIT_NOFILE, (1, 1))",
    "read the server's limits": "resource.prlimit(SERVER, resource.RLIMIT_NOFILE)",
    "leave its session": "os.setsid()",
    "leave its process group": "os.setpgid(0, 0)",
    "become somebody else": "os.setuid(1)",
    "enter new namespaces": "ctypes_call(272, 0x10000000)",
    "start a thread in a new namespace": "ctypes_call(56, 0x00010000 | 0x40000000, 0, 0, 0, 0)",
    "start a child of its parent": "ctypes_call(56, 0x8000, 0, 0, 0, 0)",
    "load a program into the kernel": "ctypes_call(321, 0, 0, 0)",
    "watch files": "ctypes_call(253)",
    "use io_uring": "ctypes_call(425, 1, 0)",
    "reach the kernel by its 32-bit table": "ctypes_call(0x40000000 | 41, 2, 1, 0)",
    "set the clock": "time.clock_settime(time.CLOCK_REALTIME, 0)",
    "change its priority": "os.setpriority(os.PRIO_PROCESS, SERVER, 5)",
    "raise its limits": "resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)",
}
OF_SESSIONS_ONLY = {
    "fork": "os.fork()",
    "start a process": "multiprocessing.get_context('fork').Process(target=print).start()",
    "open a pair of sockets": "socket.socketpair()",
    "set limits": "resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))",
    "outlive its parent": "ctypes_call(157, 1, 0, 0, 0, 0)",
    "write the snapshot": "open(SNAPSHOT, 'r+b')",
    "take over its channel": "socket.socket(fileno=next(filter(os.get_blocking, range(3, 9))))",
}
HELPERS = """
import ctypes, os
_libc = ctypes.CDLL(None, use_errno=True)

def ctypes_call(number, *arguments):
    if _libc.syscall(ctypes.c_long(number), *arguments) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
"""


@dataclass(frozen=True, slots=True)
class Target:
    """A session to attack from, and what lies around it."""

    session: Session
    sibling: Session
    outside: Path

    def write(self, attack: str) -> str:
        """The attack as a program that knows what it is after."""
        code = {**ATTACKS, **OF_SESSIONS_ONLY}[attack]
        if "ctypes_call" in code and platform.machine() != "x86_64":
            pytest.skip("numbers of system calls are those of x86-64")
        names = {
            "SECRET": str(self.outside / "secret"),
            "OUTSIDE": str(self.outside),
            "SIBLING": str(self.sibling.database),
            "SIBLING_PID": self.sibling.pid,
            "SNAPSHOT": str(self.session.snapshot),
            "SERVER": os.getpid(),
            "PACKS": str(Path(__file__).parents[2] / "scenarios" / "packs"),
        }
        known = "\n".join(f"{name} = {value!r}" for name, value in names.items())
        return f"{known}\n{HELPERS}\n{code}\n"

    def assert_refused(self, message: str) -> None:
        """Nothing but a refusal counts, and nothing outside has changed."""
        assert any(refusal in message for refusal in REFUSALS), message
        assert (self.outside / "secret").read_text() == "the answer is 42"
        assert [path.name for path in self.outside.iterdir()] == ["secret"]


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that is no session's business, with a secret in it."""
    folder = tmp_path_factory.mktemp("outside")
    (folder / "secret").write_text("the answer is 42")
    return folder


@pytest_asyncio.fixture(loop_scope="module")
async def target(worlds: Worlds, outside: Path) -> AsyncIterator[Target]:
    """A fresh session, and another beside it."""
    worlds.scenarios.setdefault("attacker", make_scenario(ATTACKER, name="attacker"))
    session, sibling = await worlds.start("attacker"), await worlds.start("attacker")
    yield Target(session, sibling, outside)
    assert await ask(sibling, "run", code="result = 'alive'") == "alive"
    await asyncio.gather(session.close(), sibling.close())


ATTACKS = {**FILES, **DATABASES, **NETWORK, **PROCESSES}
REFUSALS = (
    "Operation not permitted",
    "Permission denied",
    "unable to open database",
    "Invalid cross-device link",
    "not allowed to raise maximum limit",
    "no attribute 'enable_load_extension'",
    "not authorized",
    "ZeroDivisionError",
)


@pytest.mark.parametrize("attack", [*ATTACKS, *OF_SESSIONS_ONLY])
async def test_a_tool_cannot(target: Target, attack: str) -> None:
    kind, message = await fail(target.session, "run", code=target.write(attack))
    assert kind is FailureKind.TOOL_FAILED
    target.assert_refused(message)


@pytest.mark.parametrize("attack", ATTACKS)
async def test_an_app_cannot_at_import(worlds: Worlds, target: Target, attack: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        await worlds.start(make_scenario(ATTACKER + target.write(attack)))
    target.assert_refused(str(caught.value))


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
