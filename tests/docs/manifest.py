"""The task counts in openenv.yaml. `make manifest` brings them up to date with the built-in packs."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from subworlds.scenarios.pack import BUILTIN_PACKS, Catalog

MANIFEST = Path(__file__).parent.parent.parent / "openenv.yaml"

_COUNTS = re.compile(r"(?<=declared_task_count:\n)(?: {6}\w+: \d+\n)+")


def counted_tasks() -> Counter[str]:
    """Tasks of the built-in packs, by split."""
    return Counter(task.split for task in Catalog.load([BUILTIN_PACKS]).tasks.values())


def refreshed(manifest: str) -> str:
    """The manifest with the counts that are so."""
    counts = counted_tasks()
    lines = "".join(f"      {split}: {counts[split]}\n" for split in ("train", "validation", "test"))
    return _COUNTS.sub(lines, manifest)


if __name__ == "__main__":
    MANIFEST.write_text(refreshed(MANIFEST.read_text()))
