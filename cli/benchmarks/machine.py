"""The machine that was measured on. Nothing that names it or its user."""

from __future__ import annotations

import os
import platform
from typing import Any


def describe_machine() -> dict[str, Any]:
    """Cores, memory, kernel, architecture and Python."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(memory / 2**30, 1),
        "kernel": platform.release().partition("-")[0],
        "architecture": platform.machine(),
        "python": platform.python_version(),
    }
