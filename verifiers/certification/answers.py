"""Wrong answers that come near the right one, and right ones in other words."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta
from typing import Any, cast

from ...scenarios.task import Answer
from ..answer import answer_text
from .contents import Contents

_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def wrong_answers(answer: Answer, contents: Contents, chance: random.Random) -> list[tuple[str, str]]:
    """What is said, with what is wrong about it. None of them means the right answer."""
    found = {"nothing at all": "", "words that say nothing": "I could not find it."}
    found.update(_WRONG[answer.kind](answer, contents, chance))
    right = _plain(answer_text(answer))
    return [(said, what) for what, said in found.items() if _plain(said) != right]


def equal_answers(answer: Answer) -> list[tuple[str, str]]:
    """The right answer in other words, with what is other about them."""
    said = answer_text(answer)
    found = {"spaces around it": f"  {said}\n", **dict(_EQUAL[answer.kind](answer))}
    return [(text, what) for what, text in found.items() if text != said]


def _wrong_numbers(answer: Answer, contents: Contents, chance: random.Random) -> Iterator[tuple[str, str]]:
    value = answer.value
    step = max(1, 2 * answer.tolerance)
    near = {"one more": value + step, "one less": value - step, "ten times as much": value * 10 or 10}
    if isinstance(value, float) or answer.tolerance:
        near["a cent more"] = round(value + max(0.01, 2 * answer.tolerance), 4)
    near["the opposite"] = -value if value else 100
    near["half of it"] = value / 2 if value else 0.5
    for what, number in near.items():
        if abs(number - value) > answer.tolerance:
            yield what, json.dumps(number)
    yield "two numbers, one of them right", f"{json.dumps(value)} or {json.dumps(value + step)}"


def _wrong_texts(answer: Answer, contents: Contents, chance: random.Random) -> Iterator[tuple[str, str]]:
    text = str(answer.value)
    for place, other in enumerate(_others(text, contents, chance), 1):
        yield f"what stands in another row ({place})", other
    yield "the right answer and another one", f"{text}, {next(iter(_others(text, contents, chance)), 'none')}"
    if " " in text:
        yield "half of it", text.rpartition(" ")[0]
        yield "its words in another order", " ".join(reversed(text.split()))
    yield "a letter too many", f"{text}s"
    yield "a letter too few", text[:-1]


def _wrong_lists(answer: Answer, contents: Contents, chance: random.Random) -> Iterator[tuple[str, str]]:
    items = cast("list[Any]", answer.value)
    extra = _other_item(items, contents, chance)
    yield "one too many", _list([*items, extra])
    if items:
        yield "the last one missing", _list(items[:-1])
        yield "one exchanged", _list([*items[:-1], extra])
        yield "another one exchanged", _list([extra, *items[1:]])
        yield "the first one twice", _list([items[0], *items])
    if len(items) > 1:
        yield "the first one missing", _list(items[1:])
        yield "only the first one", _list(items[:1])
        if answer.ordered and items[0] != items[-1]:
            yield "the other way round", _list(items[::-1])


_WRONG = {"number": _wrong_numbers, "text": _wrong_texts, "list": _wrong_lists}


def _equal_numbers(answer: Answer) -> Iterator[tuple[str, str]]:
    value = answer.value
    yield "a sentence around it", f"It is {value}."
    yield "commas between thousands", f"{value:,}"
    if isinstance(value, int) or float(value).is_integer() or round(value, 2) == value:
        yield "two decimals", f"{value:.2f}"


def _equal_texts(answer: Answer) -> Iterator[tuple[str, str]]:
    text = str(answer.value)
    yield "capital letters", text.upper()
    yield "small letters", text.lower()
    yield "quotes", f'"{text}"'
    yield "a full stop", f"{text}."


def _equal_lists(answer: Answer) -> Iterator[tuple[str, str]]:
    items = cast("list[Any]", answer.value)
    if not items:
        yield "a word for none", "none"
        return
    yield "commas", ", ".join(map(str, items))
    yield "lines", "\n".join(f"- {item}" for item in items)
    if not answer.ordered:
        yield "another order", ", ".join(map(str, items[::-1]))


_EQUAL = {"number": _equal_numbers, "text": _equal_texts, "list": _equal_lists}


def _others(text: str, contents: Contents, chance: random.Random) -> list[str]:
    """Other texts that stand where the right one stands; other dates for a date."""
    if _DATE.fullmatch(text):
        return [(date.fromisoformat(text) + timedelta(days=days)).isoformat() for days in (1, -1, 7)]
    columns = [
        [value for value in table.values(column) if isinstance(value, str)]
        for table in contents.tables.values()
        for column in table.columns
        if text in table.values(column)
    ]
    found = sorted({value for values in columns for value in values if _plain(value) != _plain(text)})
    return chance.sample(found, min(4, len(found)))


def _other_item(items: Sequence[Any], contents: Contents, chance: random.Random) -> Any:
    known = {_plain(str(item)) for item in items}
    if items and isinstance(items[0], str):
        found = (other for item in items for other in _others(item, contents, chance))
        return next((other for other in found if _plain(other) not in known), "somebody else")
    number = max((item for item in items if not isinstance(item, str)), default=0)
    return number + 1


def _list(items: Iterable[Any]) -> str:
    return json.dumps(list(items), ensure_ascii=False)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).strip("\"'.")
