"""The folder of a world that is being written: what there is to generate from, and where it goes.

Its seed.sql and its tasks.jsonl may be missing: they are what is generated.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from ..draft import Draft
from ..errors import PackError
from ..fields import Place
from ..files import read_json_lines
from ..native import SEED, TASKS, read_scenario
from ..native_about import ABOUT, About, Generated, read_about
from ..task import JSON, Scenario


@dataclass(frozen=True, slots=True)
class HandWritten:
    """A line of tasks.jsonl that no generator wrote."""

    id: str
    prompt: str
    solution: JSON
    answer: JSON
    text: str
    """The line as it stands in the file."""


class WorldFolder:
    """One world's folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = Path(os.path.abspath(path)).name

    def about(self) -> About:
        """What scenario.json says. Raises PackError."""
        draft = Draft()
        file = self.path / ABOUT
        about = read_about(file, self.name, Place(draft.problems, str(file)))
        if about is None or draft.problems:
            raise PackError(draft.problems)
        return about

    def scenario(self) -> Scenario:
        """The world without its tasks. Raises PackError."""
        draft = read_scenario(self.path, tasks=False)
        if draft.problems:
            raise PackError(draft.problems)
        return draft.scenarios[self.name]

    def hand_written(self) -> tuple[HandWritten, ...]:
        """The tasks that were written by hand; none where there is no file yet.

        Raises:
            PackError: a line is no JSON object.
        """
        file = self.path / TASKS
        if not file.exists():
            return ()
        draft = Draft()
        lines = list(read_json_lines(file, Place(draft.problems, str(file))))
        if draft.problems:
            raise PackError(draft.problems)
        texts = file.read_text(encoding="utf-8-sig").split("\n")
        return tuple(
            HandWritten(
                str(fields.values.get("id")),
                str(fields.values.get("prompt")),
                fields.values.get("solution"),
                fields.values.get("answer"),
                texts[(fields.place.line or 1) - 1].rstrip("\r"),
            )
            for fields in lines
            if "template" not in fields
        )

    def write_seed(self, sql: str) -> Path:
        """Write seed.sql."""
        return _replace(self.path / SEED, sql)

    def write_tasks(self, generated: str, note: Generated) -> Path:
        """Write tasks.jsonl, what was written by hand first, and note in scenario.json how to do it again."""
        by_hand = "".join(f"{task.text}\n" for task in self.hand_written())
        about = json.loads((self.path / ABOUT).read_text(encoding="utf-8-sig"))
        about["generated"] = {"seed": note.seed, "count": note.count}
        _replace(self.path / ABOUT, f"{json.dumps(about, indent=2, ensure_ascii=False)}\n")
        return _replace(self.path / TASKS, by_hand + generated)


def _replace(file: Path, text: str) -> Path:
    """Write the whole file or nothing of it."""
    unfinished = file.with_name(f".{file.name}.unfinished")
    unfinished.write_text(text, encoding="utf-8", newline="\n")
    os.replace(unfinished, file)
    return file
