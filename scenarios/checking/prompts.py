"""What prompts may not give away: the query that checks them, the answer, the names of tools."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from ..fields import is_list
from ..task import Answer, SqlCheck, Task
from .finding import Findings
from .worlds import Spots

_SQL = re.compile(
    r"\b(SELECT\b.+?\bFROM|INSERT\s+INTO|UPDATE\b.+?\bSET|DELETE\s+FROM|DROP\s+TABLE)\b", re.DOTALL
)
"""Keywords in capitals: nobody writes them so by chance."""
_QUERY_OF = (
    r"\bselect\s+(?:\*|[\w.,\s()*]+?)\s+from\s+{table}\b|\b(?:insert\s+into|delete\s+from)\s+{table}\b"
)
_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?](?=\S)[^.!?\n]*)*")
_CHOICE = re.compile(r"\bor\b|/|\beither\b|\bwhether\b", re.IGNORECASE)
_SHORTEST = 3
"""Characters of an answer below which it stands in a prompt by chance."""


def check_prompts(
    tasks: Sequence[Task],
    tools: Collection[str],
    tables: Collection[str],
    reads: Collection[str],
    spots: Spots,
    findings: Findings,
) -> None:
    """Look at every prompt of a world, and at those that are the same.

    Args:
        reads: ids of the tasks whose solution changes nothing.
    """
    patterns = _Patterns(tools, tables)
    for task in tasks:
        spot = spots.task(task).at("prompt")
        for kind, reason in patterns.told(task, is_read=task.id in reads):
            findings.add(kind, spot, reason)
    _compare(tasks, spots, findings)


class _Patterns:
    """What to look for in the prompts of one world."""

    def __init__(self, tools: Iterable[str], tables: Iterable[str]) -> None:
        names = "|".join(map(re.escape, tables))
        self._query = re.compile(_QUERY_OF.format(table=f"(?:{names})"), re.IGNORECASE) if names else None
        self._tools = {name: _mention(name) for name in tools}

    def told(self, task: Task, *, is_read: bool) -> Iterator[tuple[str, str]]:
        """What the prompt gives away: the kind of finding, and its reason."""
        yield from self._sql(task)
        if is_read and task.answer is not None and _gives_away(task.prompt, task.answer):
            yield "prompt-has-answer", f"the answer, {task.answer.value!r}, stands in the prompt"
        for name, mention in self._tools.items():
            if mention.search(task.prompt):
                yield "prompt-names-tool", f"names the tool {name!r}"

    def _sql(self, task: Task) -> Iterator[tuple[str, str]]:
        if isinstance(task.check, SqlCheck):
            prompt = _plain(task.prompt)
            for assertion in task.check.assertions:
                if _plain(assertion.sql).rstrip("; ") in prompt:
                    yield "prompt-has-sql", f"holds the query that checks it: {assertion.sql}"
                    return
        found = _SQL.search(task.prompt) or (self._query.search(task.prompt) if self._query else None)
        if found is not None:
            yield "prompt-has-sql", f"holds SQL: {found[0]!r}"


def _mention(tool: str) -> re.Pattern[str]:
    """A tool's name as nobody writes it who does not know the tool: with its underscores, or as code."""
    name = re.escape(tool)
    if "_" in tool:
        return re.compile(rf"(?<!\w){name}(?!\w)", re.IGNORECASE)
    return re.compile(rf"`{name}`|(?<!\w){name}\(")


def _gives_away(prompt: str, answer: Answer) -> bool:
    """Whether the whole answer can be read off the prompt, and not as one of several to choose from."""
    wanted = answer.value if is_list(answer.value) else [answer.value]
    texts = [_as_text(item) for item in wanted]
    if not texts or any(len(text) < _SHORTEST for text in texts):
        return False
    return all(_stands_alone(prompt, text) for text in texts)


def _stands_alone(prompt: str, text: str) -> bool:
    pattern = re.compile(rf"(?<![\w.]){re.escape(text)}(?!\w|\.\d)", re.IGNORECASE)
    return any(
        pattern.search(sentence[0]) and not _CHOICE.search(pattern.sub("", sentence[0]))
        for sentence in _SENTENCE.finditer(prompt)
    )


def _as_text(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _compare(tasks: Sequence[Task], spots: Spots, findings: Findings) -> None:
    first: dict[str, Task] = {}
    for task in tasks:
        other = first.setdefault(_plain(task.prompt), task)
        if other is task:
            continue
        line = spots.task(other).line
        where = other.id if line is None else f"{other.id} (line {line})"
        spot = spots.task(task).at("prompt")
        if _gold(task) != _gold(other):
            findings.add(
                "prompt-ambiguous", spot, f"is that of {where}, which has another solution or answer"
            )
        else:
            findings.add("prompt-repeated", spot, f"is that of {where}, and so is the solution")


def _gold(task: Task) -> tuple[object, object]:
    calls = (
        None if task.solution is None else [(call.tool, _sorted(call.arguments)) for call in task.solution]
    )
    return calls, None if task.answer is None else (task.answer.kind, task.answer.value)


def _sorted(arguments: Mapping[str, object]) -> list[tuple[str, object]]:
    return sorted(arguments.items(), key=lambda item: item[0])


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
