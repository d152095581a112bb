"""An author's code in its own process: what it may use, what it is refused, and what it cannot forge."""

from __future__ import annotations

import asyncio
from textwrap import dedent

import pytest

from subworlds.verifiers.service import Verification, VerifierLimits

from .kiosk import Kiosk, all_gone

pytestmark = pytest.mark.asyncio(loop_scope="module")

COMPLETE = "def verify(a, b):\n    return {'result': 'complete'}"

TIME_ZONES = "from datetime import datetime\nfrom zoneinfo import ZoneInfo"

EVERY_DESCRIPTOR = """
import os
from contextlib import suppress
def write_everywhere(data):
    for descriptor in range(64):
        with suppress(OSError):
            os.write(descriptor, data)
"""

FORGERY = (
    EVERY_DESCRIPTOR
    + """
import struct
def nonces():
    for descriptor in range(64):
        with suppress(OSError):
            os.set_blocking(descriptor, False)
            nonce = os.read(descriptor, 16)
            if len(nonce) == 16:
                yield nonce
def claim(failed, text):
    for nonce in nonces():
        write_everywhere(nonce + struct.pack("?I", failed, len(text)) + text)
def verify(a, b):
    CLAIM
    os._exit(0)
"""
)


def returns(expression: str, imports: str = "") -> str:
    """Code whose verifier returns a text."""
    return f"{imports}\ndef verify(a, b):\n    return {{'result': {expression}}}"


def does(statement: str, imports: str = "import os") -> str:
    """Code whose verifier does something and claims success."""
    return f"{imports}\ndef verify(a, b):\n    {statement}\n    return {{'result': 'complete'}}"


async def says(kiosk: Kiosk, code: str) -> str:
    """The word that a verifier returned."""
    verdict = await kiosk.run(code)
    assert verdict.outcome == "incomplete", verdict.reason
    return verdict.reason.removeprefix("the task's verifier says ")


async def test_complete_is_complete_beside_a_receipt_of_ours(kiosk: Kiosk) -> None:
    verdict = await kiosk.run(COMPLETE)
    assert (verdict.outcome, verdict.reason) == ("complete", "the task's verifier says 'complete'")
    assert {change.table for change in verdict.receipt.unsorted} == {"goods", "sales"}


async def test_both_databases_are_read_and_the_answer_is_heard(kiosk: Kiosk) -> None:
    code = """
import sqlite3
def pears(path):
    return sqlite3.connect(path).execute("SELECT stock FROM goods WHERE id = 2").fetchone()[0]
def verify(initial_db_path, final_db_path, final_answer):
    sold = pears(initial_db_path) - pears(final_db_path)
    return {"result": "complete" if sold == 1 and final_answer == "one" else "others"}
"""
    assert (await kiosk.run(code, "one")).outcome == "complete"
    assert (await kiosk.run(code, "two")).outcome == "incomplete"


@pytest.mark.parametrize(
    ("code", "word"),
    [
        (returns("datetime.now().isoformat()", "from datetime import datetime"), "2026-03-02T09:00:01"),
        (
            returns("datetime.now(ZoneInfo('Asia/Tokyo')).isoformat()", TIME_ZONES),
            "2026-03-02T18:00:01+09:00",
        ),
        (
            returns(
                "' '.join(sqlite3.connect(b).execute(\"SELECT CURRENT_TIMESTAMP, date('now')\").fetchone())",
                "import sqlite3",
            ),
            "2026-03-02 09:00:01 2026-03-02",
        ),
    ],
    ids=["Python", "time zones", "SQLite"],
)
async def test_it_is_the_worlds_time(kiosk: Kiosk, code: str, word: str) -> None:
    assert await says(kiosk, code) == repr(word)


@pytest.mark.parametrize(
    ("code", "word"),
    [
        (returns("str(datetime.strptime('2026', '%Y').year)", "from datetime import datetime"), "2026"),
        (returns("b'\\xe4'.decode('cp1252') + 'x'.encode('idna').decode()"), "äx"),
        (
            returns(
                "''.join(ThreadPoolExecutor(2).map(str, [1, 2]))",
                "from concurrent.futures import ThreadPoolExecutor",
            ),
            "12",
        ),
        ("def verify(a, b):\n    import decimal, uuid\n    return {'result': str(decimal.Decimal(3))}", "3"),
        (
            "def verify(a, b):\n    import importlib\n"
            "    return {'result': importlib.import_module('colorsys').__name__}",
            "colorsys",
        ),
        (
            dedent("""
            from __future__ import annotations
            from dataclasses import dataclass
            @dataclass
            class Sale:
                goods: list[str]
            def verify(a, b):
                return {'result': Sale(['pear']).goods[0]}
            """),
            "pear",
        ),
    ],
    ids=["strptime", "codecs", "threads", "import in a function", "import by name", "dataclass"],
)
async def test_the_standard_library_works_to_its_last_corner(kiosk: Kiosk, code: str, word: str) -> None:
    assert await says(kiosk, code) == repr(word)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (does("raise KeyError('pear')"), "raised KeyError at line 3: 'pear'"),
        (does("raise SystemExit(0)"), "raised SystemExit at line 3"),
        (does("import nothing_like_this"), "raised ModuleNotFoundError at line 3"),
        (does("x = 'x' * 10**10"), "raised MemoryError at line 3"),
        (does("os._exit(0)"), "ended its process instead of returning"),
        (does("os.closerange(0, 64)"), "ended its process instead of returning"),
        (
            does("signal.setitimer(signal.ITIMER_REAL, 0.01)\n    while True: pass", "import signal"),
            "SIGALRM",
        ),
        (does("ctypes.string_at(0)", "import ctypes"), "SIGSEGV: it broke the interpreter"),
        (
            "class Odd(Exception):\n    def __str__(self): raise ValueError\n"
            "def verify(a, b):\n    raise Odd",
            "raised Odd at line 4",
        ),
        ("def verify(a, b:", "raised SyntaxError"),
        ("def check(a, b): pass", "defines no function verify"),
        ("async def verify(a, b): pass", "must return"),
        (returns("None"), "must return"),
    ],
)
async def test_what_breaks_is_a_verifier_error_that_says_where(kiosk: Kiosk, code: str, told: str) -> None:
    verdict = await kiosk.run(code)
    assert verdict.outcome == "verifier_error"
    assert told in verdict.reason


@pytest.mark.parametrize(
    "code",
    [
        does("os.fork()"),
        does("os.execv('/bin/true', ['true'])"),
        does("subprocess.run(['true'])", "import subprocess"),
        does("socket.socket()", "import socket"),
        does("socket.socketpair()", "import socket"),
        does("os.kill(os.getppid(), 9)"),
        does("os.kill(os.getpid(), 9)"),
        does("open('/etc/passwd').read()"),
        does("open('/proc/self/maps').read()"),
        does("os.listdir('/proc/self/fd')"),
        does("os.listdir(os.path.dirname(b))"),
        does("open(b, 'r+b')"),
        does("open(os.path.join(os.path.dirname(b), 'mine'), 'w')"),
        does("open('/dev/shm/mine', 'w')"),
        does("os.unlink(b)"),
        does("os.rename(a, b)"),
        does("sqlite3.connect(b).execute('DELETE FROM sales')", "import sqlite3"),
        does("sqlite3.connect(a).execute('CREATE TABLE t (x)')", "import sqlite3"),
        does("os.setuid(1)"),
        does("os.chmod(b, 0o777)"),
    ],
    ids=lambda code: code.splitlines()[2].strip(),
)
async def test_what_is_refused_is_a_verifier_error(kiosk: Kiosk, code: str) -> None:
    before = kiosk.initial.read_bytes(), kiosk.final.read_bytes()
    verdict = await kiosk.run(code)
    assert verdict.outcome == "verifier_error"
    assert any(word in verdict.reason for word in ("PermissionError", "OperationalError", "raised OSError"))
    assert (kiosk.initial.read_bytes(), kiosk.final.read_bytes()) == before


async def test_it_holds_no_descriptor_but_its_two_pipes(kiosk: Kiosk) -> None:
    code = """
import os
def is_open(descriptor):
    try:
        return os.fstat(descriptor) is not None
    except OSError:
        return False
def verify(a, b):
    return {'result': str(sum(map(is_open, range(256))))}
"""
    assert await says(kiosk, code) == "'5'"


async def test_it_knows_nothing_of_the_server(kiosk: Kiosk) -> None:
    code = returns("' '.join(sorted({'HOME', 'PATH', 'USER'} & {*os.environ}))", "import os")
    assert await says(kiosk, code) == "''"


@pytest.mark.parametrize(
    "written",
    ["b'complete'", """b'{"outcome": "complete", "reason": "trust me"}'""", "b'x' * 100_000", "bytes(64)"],
)
@pytest.mark.parametrize("then", ["os._exit(0)", "return {'result': 'complete'}"])
async def test_what_it_writes_to_descriptors_is_no_claim(kiosk: Kiosk, written: str, then: str) -> None:
    code = f"{EVERY_DESCRIPTOR}\ndef verify(a, b):\n    write_everywhere({written})\n    {then}"
    assert (await kiosk.run(code)).outcome == "verifier_error"


async def test_a_forged_claim_says_no_more_than_a_returned_one(kiosk: Kiosk) -> None:
    """Who looks for the nonce finds it: the process that claims is the one that could have returned."""
    forged = await kiosk.run(FORGERY.replace("CLAIM", "claim(False, b'complete')"))
    assert forged == await kiosk.run(COMPLETE)
    failed = await kiosk.run(FORGERY.replace("CLAIM", "claim(True, b'oh no')"))
    assert (failed.outcome, failed.reason) == ("verifier_error", "oh no")


@pytest.mark.parametrize(
    "written",
    [
        "nonce",
        "nonce + struct.pack('?I', False, 9) + b'complete'",
        "nonce + struct.pack('?I', False, 7) + b'complete'",
        "nonce + struct.pack('?I', False, 2**32 - 1)",
        "nonce + struct.pack('?I', False, 10**5) + b'complete' * 12_500",
        "bytes(16) + struct.pack('?I', False, 8) + b'complete'",
    ],
    ids=["empty", "too short", "too long", "huge", "a flood", "a guessed nonce"],
)
async def test_a_misshapen_claim_is_a_verifier_error(kiosk: Kiosk, written: str) -> None:
    code = FORGERY.replace("CLAIM", f"[write_everywhere({written}) for nonce in nonces()]")
    assert (await kiosk.run(code)).outcome == "verifier_error"


@pytest.mark.parametrize(
    "statement",
    [
        "json.dumps = json.loads = struct.pack = struct.Struct = os.write = os.read = os._exit = None",
        "atexit.register(os._exit, 3)",
        "threading.Thread(target=time.sleep, args=(1000,)).start()",
        "sys.setrecursionlimit(40)",
        "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))",
        "sqlite3.connect = sys.exit = print = None",
        "sys.stdout = sys.stderr = sys.modules = None",
    ],
)
async def test_what_it_patches_or_leaves_running_changes_nothing(kiosk: Kiosk, statement: str) -> None:
    imports = "import atexit, json, os, signal, sqlite3, struct, sys, threading, time"
    verdict = await kiosk.run(does(statement, imports))
    assert (verdict.outcome, len(verdict.receipt.unsorted)) == ("complete", 2)
    assert (await kiosk.run(COMPLETE)).outcome == "complete"
    await all_gone(kiosk.verification)


@pytest.mark.parametrize(
    ("result", "shown"),
    [
        ("'Complete'", "'Complete'"),
        ("'complete '", "'complete '"),
        ("'complete\\0'", "'complete\\x00'"),
        ("'\\ud800'", "'?'"),
        ("'x' * 10**6", repr("x" * 80)),
        ("''", "''"),
    ],
)
async def test_any_other_word_is_incomplete(kiosk: Kiosk, result: str, shown: str) -> None:
    assert await says(kiosk, returns(result)) == shown


async def test_an_endless_verifier_is_stopped_and_leaves_no_process(kiosk: Kiosk) -> None:
    async with Verification(kiosk.manager, VerifierLimits(wall_s=0.3)) as verification:
        verdict = await kiosk.judge(kiosk.task("endless-verifier"), verification=verification)
        await all_gone(verification)
    assert (verdict.outcome, verdict.reason) == (
        "verifier_error",
        "the verifier gave no verdict within 0.3 s",
    )


async def test_a_verifier_that_uses_up_its_time_is_told_so(kiosk: Kiosk) -> None:
    async with Verification(kiosk.manager, VerifierLimits(cpu_seconds=1)) as verification:
        verdict = await kiosk.judge(kiosk.task("endless-verifier"), verification=verification)
    assert (verdict.outcome, verdict.reason) == (
        "verifier_error",
        "the verifier's code was ended by SIGKILL: it used up its time",
    )


async def test_a_memory_bomb_is_its_own_failure(kiosk: Kiosk) -> None:
    bomb = "def verify(a, b):\n    hoard = []\n    while True: hoard.append(bytearray(10**7))"
    verdicts = await asyncio.gather(kiosk.run(bomb), kiosk.run(COMPLETE))
    assert [verdict.outcome for verdict in verdicts] == ["verifier_error", "complete"]
    assert "MemoryError" in verdicts[0].reason
