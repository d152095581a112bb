"""The memory of another process, searched from outside."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

_REGION = re.compile(r"([0-9a-f]+)-([0-9a-f]+) r\S+ \S+ \S+ \S+\s*(.*)")
_CHUNK = 1 << 24


def found_in(pid: int, secrets: Iterable[str]) -> set[str]:
    """Which of `secrets` a process has in its memory. Raises PermissionError where we may not look."""
    wanted = {secret: secret.encode() for secret in secrets}
    with open(f"/proc/{pid}/maps") as maps:
        regions = [match.groups() for match in map(_REGION.match, maps) if match]
    memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
    try:
        return {
            secret
            for first, last, name in regions
            if name not in ("[vvar]", "[vsyscall]", "[vvar_vclock]")
            for chunk in _chunks(memory, int(first, 16), int(last, 16))
            for secret, text in wanted.items()
            if text in chunk
        }
    finally:
        os.close(memory)


def _chunks(memory: int, first: int, last: int) -> Iterable[bytes]:
    for start in range(first, last, _CHUNK):
        try:
            yield os.pread(memory, min(_CHUNK + 4096, last - start), start)
        except OSError:  # a mapping past the end of its file
            return
