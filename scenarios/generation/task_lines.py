"""The lines of tasks.jsonl that a generator's drafts become, and the tasks that those lines are."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from ..errors import Problem
from ..fields import Fields, Place
from ..native_tasks import read_task
from ..task import JSON, Task
from .answers import DrawnTask
from .generator import GENERATOR, GeneratorError, TakenTask
from .world_folder import HandWritten


def task_lines(
    world: str, drafts: Iterable[DrawnTask], hand_written: Sequence[HandWritten]
) -> list[dict[str, JSON]]:
    """A line for each draft, ids counted by template: `world/template-001`.

    Raises:
        GeneratorError: an id is that of a task written by hand.
    """
    numbers: Counter[str] = Counter()
    lines: list[dict[str, JSON]] = []
    for draft in drafts:
        numbers[draft.template] += 1
        lines.append(_line(f"{world}/{draft.template}-{numbers[draft.template]:03}", draft))
    _refuse_clashes(lines, hand_written)
    return sorted(lines, key=lambda line: list(numbers).index(line["template"]))


def as_jsonl(lines: Iterable[dict[str, JSON]]) -> str:
    """The lines as text."""
    return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)


def read_lines(lines: Sequence[dict[str, JSON]], world: str, folder: Path) -> list[Task]:
    """The tasks of generated lines, read as those of a file are.

    Raises:
        GeneratorError: with everything that is wrong with any of them.
    """
    problems: list[Problem] = []
    tasks: list[Task] = []
    for index, line in enumerate(lines):
        place = Place(problems, str(folder / GENERATOR), None, f"template '{line['template']}'")
        task = read_task(Fields(line, place), world, index, folder)
        if task is not None:
            tasks.append(task)
    if problems:
        raise GeneratorError(list(dict.fromkeys(problems)))
    return tasks


def taken(hand_written: Iterable[HandWritten]) -> tuple[TakenTask, ...]:
    """What a generator must not draw again."""
    return tuple((task.prompt, task.solution, task.answer) for task in hand_written)


def _line(task_id: str, draft: DrawnTask) -> dict[str, JSON]:
    line = {
        "id": task_id,
        "prompt": draft.prompt,
        "difficulty": draft.difficulty,
        "split": draft.split,
        "tags": draft.tags,
        "template": draft.template,
        "solution": draft.solution,
    }
    optional = {"answer": draft.answer, "verify": draft.verify}
    return line | {name: value for name, value in optional.items() if value is not None}


def _refuse_clashes(lines: Iterable[dict[str, JSON]], hand_written: Sequence[HandWritten]) -> None:
    by_hand = {task.id for task in hand_written}
    for line in lines:
        if line["id"] in by_hand:
            reason = (
                f"the id {line['id']!r} is that of a task written by hand: give the template another name"
            )
            raise GeneratorError([Problem(GENERATOR, None, f"template '{line['template']}'", reason)])
