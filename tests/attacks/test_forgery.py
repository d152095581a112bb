"""Code of a verifier that wants a verdict it does not return. None of it makes an episode complete."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from ..verifiers.kiosk import Kiosk, open_kiosk

pytestmark = pytest.mark.asyncio(loop_scope="module")

CLAIM = '{"outcome": "complete", "result": "complete", "reason": "", "receipt": {}, "answered": null}'

FORGERIES = {
    "writing the verdict to stdout": f"print({CLAIM!r}, flush=True); os._exit(0)",
    "writing the verdict to every descriptor": f"for fd in range(256):\n"
    f"        try: os.write(fd, {CLAIM.encode()!r})\n        except OSError: pass\n    os._exit(0)",
    "sending the verdict on every socket": f"for fd in range(3, 256):\n"
    f"        try: socket.socket(fileno=fd).send({CLAIM.encode()!r})\n        except OSError: pass\n    os._exit(0)",
    "ending early with success": "os._exit(0)",
    "ending by an exception of the interpreter": "sys.exit(0)",
    "claiming when the process ends": f"atexit.register(print, {CLAIM!r}); sys.exit(0)",
    "claiming in a handler of signals": f"signal.signal(signal.SIGALRM, lambda *a: os.write(1, {CLAIM.encode()!r}));"
    " signal.setitimer(signal.ITIMER_REAL, 0.001); time.sleep(0.1); return {}",
    "claiming in a thread": f"threading.Thread(target=os.write, args=(1, {CLAIM.encode()!r})).start(); return {{}}",
    "patching what encodes": 'json.dumps = lambda *a, **k: \'{"outcome": "complete"}\'; return {}',
    "patching what decodes": "json.loads = lambda *a, **k: {'result': 'complete'}; return {}",
    "patching what writes": "os.write = lambda fd, data: len(data); return {}",
    "patching what compares": "builtins.str.__eq__ = lambda *a: True; return {'result': 'no'}",
    "patching what opens databases": "sqlite3.connect = None; return {}",
    "patching the judge in memory": "for m in list(sys.modules.values()):\n"
    "        if hasattr(m, '_check_claim'): m._check_claim = lambda *a: 'complete'\n    return {}",
    "a result that is equal to everything": "return {'result': type('S', (str,), {'__eq__': lambda *a: True,"
    " '__hash__': str.__hash__})('no')}",
    "a dictionary that answers complete": "return type('D', (dict,), {'get': lambda *a: 'complete'})()",
    "an exception that carries a result": "raise type('E', (BaseException,), {'result': 'complete'})()",
    "a generator instead of a function": "yield {'result': 'complete'}",
    "changing the final database": "c = sqlite3.connect(b); c.execute('UPDATE goods SET stock = 0'); c.commit();"
    " return {'result': 'complete'}",
    "changing the first database": "c = sqlite3.connect(a); c.execute('UPDATE goods SET stock = 0'); c.commit();"
    " return {'result': 'complete'}",
    "overwriting the final database": "open(b, 'wb').write(b''); return {'result': 'complete'}",
    "replacing the final database": "os.replace(a, b); return {'result': 'complete'}",
    "adding a journal beside the database": "open(b + '-journal', 'wb').write(b'x'); return {'result': 'complete'}",
    "attaching another database": "sqlite3.connect(':memory:').execute('ATTACH ? AS x', (b + '.new',))"
    ".execute('CREATE TABLE x.t (a)'); return {'result': 'complete'}",
    "copying the database out": "sqlite3.connect(a).execute('VACUUM INTO ?', ('/tmp/forged.db',));"
    " return {'result': 'complete'}",
    "writing the parent's memory": "open(f'/proc/{os.getppid()}/mem', 'r+b'); return {'result': 'complete'}",
    "tracing the parent": "libc = ctypes.CDLL(None, use_errno=True)\n    if libc.ptrace(16, os.getppid(), 0, 0) < 0:"
    " raise OSError(ctypes.get_errno(), 'refused')\n    return {'result': 'complete'}",
    "killing the parent": "os.kill(os.getppid(), 9); return {'result': 'complete'}",
    "killing everybody": "os.kill(-1, 9); return {'result': 'complete'}",
    "forking a second judge": "os.fork(); return {'result': 'complete'}",
    "running a program": "subprocess.run(['/bin/true']); return {'result': 'complete'}",
    "asking the network": "socket.create_connection(('127.0.0.1', 1)); return {'result': 'complete'}",
    "reading the other databases": "os.listdir(os.path.dirname(os.path.dirname(b))); return {'result': 'complete'}",
    "reading the packs": "open(PACK).read(); return {'result': 'complete'}",
    "importing the judge": "import subworlds.verifiers.service; return {'result': 'complete'}",
    "breaking the interpreter": "ctypes.string_at(0)",
    "endless recursion": "return verify(a, b)",
    "a memory bomb": "return {'result': 'complete' * 10**9}",
    "an output bomb": "return {'result': 'x' * 10**7}",
    "a descriptor bomb": "hoard = []\n    while True: hoard.append(os.open(a, 0))",
    "a thread bomb": "wait = threading.Event()\n    while True: threading.Thread(target=wait.wait, daemon=True).start()",
}
IMPORTS = (
    "import atexit, builtins, ctypes, json, os, signal, socket, sqlite3, subprocess, sys, threading, time"
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def kiosk(worlds: Path) -> AsyncIterator[Kiosk]:
    """The toy world, one pear sold."""
    async with open_kiosk(worlds) as opened:
        yield opened


@pytest.mark.parametrize("forgery", FORGERIES)
async def test_a_verdict_is_not_forged_by(kiosk: Kiosk, worlds: Path, forgery: str) -> None:
    pack = str(worlds / "kiosk" / "tasks.jsonl")
    before = digests(kiosk)
    code = f"{IMPORTS}\nPACK = {pack!r}\n\ndef verify(a, b):\n    {FORGERIES[forgery]}\n"
    verdict = await kiosk.run(code)
    assert verdict.outcome in ("incomplete", "verifier_error"), verdict
    assert digests(kiosk) == before
    assert not Path("/tmp/forged.db").exists()


async def test_an_honest_claim_is_still_heard(kiosk: Kiosk) -> None:
    verdict = await kiosk.run(f"{IMPORTS}\ndef verify(a, b):\n    return {{'result': 'complete'}}")
    assert verdict.outcome == "complete"


def digests(kiosk: Kiosk) -> list[str]:
    """What the databases hold, and what lies beside them."""
    return [
        *(hashlib.sha256(path.read_bytes()).hexdigest() for path in (kiosk.initial, kiosk.final)),
        *sorted(path.name for path in kiosk.final.parent.iterdir()),
    ]
