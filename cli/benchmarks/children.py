"""Child processes of the benchmark, and what memory a family of processes takes."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections import defaultdict
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from ..failure import CommandFailed

_START_TIMEOUT_S = 120.0
_STOP_TIMEOUT_S = 30.0


class Child:
    """A process that said one line when it was ready, and ends when its stdin does."""

    def __init__(self, process: asyncio.subprocess.Process, first_line: str) -> None:
        self.pid = process.pid
        self.first_line = first_line
        self._process = process

    async def kill(self) -> None:
        """End it at once; returns when it is gone."""
        await _kill(self._process)


@asynccontextmanager
async def child(*arguments: str) -> AsyncGenerator[Child]:
    """A Python process with these arguments, ready, for as long as the block lasts.

    Raises:
        CommandFailed: it ended, or said nothing in time.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,  # a Ctrl-C is ours alone: we end our children in order
    )
    try:
        yield Child(process, await _first_line(process))
    finally:
        await _end(process)


async def output_of(*arguments: str) -> str:
    """What a Python process with these arguments printed until it ended.

    Raises:
        CommandFailed: it failed.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", *arguments, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE
    )
    try:
        printed, _ = await process.communicate()
    except BaseException:
        await _kill(process)
        raise
    if process.returncode != 0:
        raise CommandFailed(
            f"a process of the benchmark failed ({arguments[-1][:80]}); its messages are above"
        )
    return printed.decode()


async def _first_line(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    try:
        line = await asyncio.wait_for(process.stdout.readline(), _START_TIMEOUT_S)
    except TimeoutError:
        line = b""
    if not line:
        raise CommandFailed("a process of the benchmark did not start; its messages are above")
    return line.decode().strip()


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.stdin is not None:
        process.stdin.close()
    try:
        await asyncio.wait_for(process.wait(), _STOP_TIMEOUT_S)
    except TimeoutError as error:
        await _kill(process)
        raise CommandFailed("a process of the benchmark did not stop and was killed") from error
    except BaseException:
        await _kill(process)
        raise


async def _kill(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    await process.wait()


def generations(pid: int) -> list[list[int]]:
    """Process ids by generation: `pid` itself, its children, their children, and so on."""
    children = _children()
    found = [[pid]]
    while youngest := [child for parent in found[-1] for child in children[parent]]:
        found.append(youngest)
    return found


def memory_mib(pids: Sequence[int]) -> float:
    """Their proportional set size, all together."""
    return sum(_pss_kib(pid) for pid in pids) / 1024


def _children() -> defaultdict[int, list[int]]:
    found: defaultdict[int, list[int]] = defaultdict(list)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                stat = (entry / "stat").read_bytes()
                found[int(stat.rpartition(b")")[2].split()[1])].append(int(entry.name))
    return found


def _pss_kib(pid: int) -> int:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    return 0
