"""What it costs a fresh process to confine itself, measured where it happens: in forks of a warm zygote.

Run as `python -m subworlds.cli.benchmarks.confinement TIMES` it prints the laps as JSON.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import sys
import tempfile
import time
from pathlib import Path
from typing import NoReturn

from ...sandbox import Confinement, Limits, Profile, confine
from ...sandbox.confinement import prepare_confinement
from ...sandbox.identity import entrust
from ...sandbox.timezones import time_zone_folders
from ...scenarios import template
from ...scenarios.imports import library_folders
from ...verifiers import process as verifier
from .children import output_of
from .figures import Figure, Figures
from .plan import Plan

_LAP = struct.Struct("d")


async def measure_confinement(plan: Plan) -> Figures:
    """Milliseconds from the first limit to the last filter, for sessions and for verifier runs."""
    laps: dict[str, list[float]] = json.loads(await output_of("-m", __name__, str(plan.confinements)))
    return {name: Figure.of(found) for name, found in laps.items()}


def _measure(times: int) -> dict[str, list[float]]:
    with tempfile.TemporaryDirectory(prefix="subworlds-bench-") as folder:
        databases = tuple(str(Path(folder, name)) for name in ("initial.db", "final.db"))
        for database in databases:
            Path(database).touch()
        entrust((folder, *databases), 0)
        verifier.warm_up()
        template.warm_up()
        prepare_confinement()
        readable = (*time_zone_folders(), *library_folders())
        of_template = Confinement(Profile.FORKSERVER, readable, (folder,))
        of_session = Confinement(Profile.LEAF, readable, (folder,), Limits(memory_bytes=None))
        return {
            "confine_session": _laps(times, of_session, inside=of_template),
            "confine_verifier": _laps(
                times, Confinement(Profile.LEAF, (*databases, *time_zone_folders())), inside=None
            ),
        }


def _laps(times: int, confinement: Confinement, *, inside: Confinement | None) -> list[float]:
    """One for each of as many forks of a process that is itself confined by `inside`."""
    with mmap.mmap(-1, times * _LAP.size) as shared:
        pid = os.fork()
        if pid == 0:
            _fork_often(shared, times, confinement, inside)
        _, status = os.waitpid(pid, 0)
        if status != 0:
            raise SystemExit("the process whose forks are measured failed")
        return [lap for (lap,) in _LAP.iter_unpack(shared[:])]


def _fork_often(
    shared: mmap.mmap, times: int, confinement: Confinement, inside: Confinement | None
) -> NoReturn:
    try:
        if inside is not None:
            confine(inside)
        for place in range(times):
            pid = os.fork()
            if pid == 0:
                _confine_and_leave(shared, place, confinement)
            os.waitpid(pid, 0)
        os._exit(0)
    finally:
        os._exit(1)


def _confine_and_leave(shared: mmap.mmap, place: int, confinement: Confinement) -> NoReturn:
    try:
        start = time.perf_counter()
        confine(confinement)
        _LAP.pack_into(shared, place * _LAP.size, (time.perf_counter() - start) * 1000)
    finally:
        os._exit(0)


if __name__ == "__main__":
    print(json.dumps(_measure(int(sys.argv[1]))))
