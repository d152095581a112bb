"""Public data that confined processes may read: the time zone database."""

from __future__ import annotations

import importlib.util
import os


def time_zone_folders() -> tuple[str, ...]:
    """The system's time zone folder and that of the tzdata package. Looked up before confinement."""
    spec = importlib.util.find_spec("tzdata")
    package = () if spec is None or spec.origin is None else (os.path.dirname(spec.origin),)
    return ("/usr/share/zoneinfo", *package)
