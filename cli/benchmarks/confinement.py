"""What it costs a fresh process to confine itself, measured where it happens: in forks of a warm zygote.

Run as `python -m subworlds.cli.benchmarks.confinement TIMES` it prints the laps as JSON.
"""

from __future__ import annotations

import json
import os
import struct
import sys
import tempfile
import time
from pathlib import Path
from typing import NoReturn

from ...sandbox import Confinement, Profile, confine
from ...sandbox.timezones import time_zone_folders
from ...scenarios import template
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
        profiles = {
            "confine_session": Confinement(Profile.LEAF, time_zone_folders(), (folder,)),
            "confine_verifier": Confinement(Profile.LEAF, (*databases, *time_zone_folders())),
        }
        verifier.warm_up()
        template.warm_up()
        return {
            name: [_in_a_fork(confinement) for _ in range(times)] for name, confinement in profiles.items()
        }


def _in_a_fork(confinement: Confinement) -> float:
    laps, laps_in = os.pipe()
    pid = os.fork()
    if pid == 0:
        _confine_and_leave(confinement, laps_in)
    os.close(laps_in)
    with os.fdopen(laps, "rb") as pipe:
        lap = pipe.read()
    os.waitpid(pid, 0)
    return float(_LAP.unpack(lap)[0])


def _confine_and_leave(confinement: Confinement, laps: int) -> NoReturn:
    try:
        start = time.perf_counter()
        confine(confinement)
        os.write(laps, _LAP.pack((time.perf_counter() - start) * 1000))
    finally:
        os._exit(0)


if __name__ == "__main__":
    print(json.dumps(_measure(int(sys.argv[1]))))
