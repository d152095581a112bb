"""A server of the trainer's own: `subworlds serve` in a process, for as long as a `with` block lasts."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

_STOP_S = 60.0


class ServerDidNotStart(RuntimeError):
    """What it wrote to stderr says why."""


# The first lines (1 is PR_SET_PDEATHSIG) make a server end with its trainer, even with one that was killed.
_COMMAND = """
import ctypes, signal
ctypes.CDLL(None).prctl(1, signal.SIGTERM)
from subworlds.cli.main import main
main()
"""


@contextmanager
def env_server(packs: Sequence[Path] = (), *, port: int = 0, capacity: int = 1024) -> Generator[str]:
    """Serve `packs` (the built-in ones if there are none); yields the URL.

    Args:
        port: 0 for any free one.
        capacity: episodes that may be played at once.

    Raises:
        ServerDidNotStart: its port is taken, or a pack is broken; it said so itself, on stderr.
    """
    command = [
        sys.executable,
        "-P",
        "-c",
        _COMMAND,
        "serve",
        "--port",
        str(port),
        "--capacity",
        str(capacity),
    ]
    for pack in packs:
        command += ["--pack", str(pack)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield _await_ready(process)
        finally:
            process.terminate()
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()


def _await_ready(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    for word in line.split():
        if word.startswith("http"):
            return word
    raise ServerDidNotStart("the env server could not start; the lines above are its own and say why")
