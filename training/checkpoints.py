"""The checkpoints of a run, and which of them a run can go on from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

TRAINER_STATE = "trainer_state.json"
"""What transformers writes last into a checkpoint."""


def last_whole_checkpoint(folder: Path, states: Sequence[str] = ()) -> Path | None:
    """The newest checkpoint in `folder` that was written to its end: a trainer may be killed while it writes.

    Args:
        states: further JSON files that one of this run has, written after transformers' own.
    """
    newest_first = sorted(folder.glob("checkpoint-*"), key=_step, reverse=True)
    files = (TRAINER_STATE, *states)
    return next((each for each in newest_first if all(_is_json(each / name) for name in files)), None)


def _step(checkpoint: Path) -> int:
    step = checkpoint.name.removeprefix("checkpoint-")
    return int(step) if step.isdecimal() else -1


def _is_json(path: Path) -> bool:
    try:
        json.loads(path.read_text())
    except (OSError, ValueError):
        return False
    return True
