"""Whether what the agent said is the expected answer.

Made to accept a right answer in a person's words, and to refuse a list of guesses: an answer with two
different numbers, or with more than what was asked for, is wrong.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, cast

from ..scenarios.task import Answer

LONGEST = 10_000
"""Characters after which an answer is wrong without being read."""

_NUMBER = re.compile(
    r"(?<![\w.])([-+\u2212]?)[$€£¥]?([-+\u2212]?)"
    r"(\d++(?:[,.]\d++)*+|\.\d++)((?:[eE][-+]?\d{1,3}+)?+)(?!\w*\d)"
)
"""Signs, digits with their commas and points, exponent. A word that holds digits is no number."""

_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_PLAIN = re.compile(r"\d*\.?\d+")
_GROUP_SPACE = re.compile("(?<=\\d)[\u00a0\u2007\u2009\u202f](?=\\d{3})")
_FLOAT_SLACK = Decimal("1e-9")

_SEPARATOR = re.compile(r"\s*(?:[,;\n•]|\band\b)\s*", re.IGNORECASE)
_BULLET = re.compile(r"(?m)^[ \t]*(?:[-*•]|\d{1,3}[.)])[ \t]+")
_QUOTES = " \t\r\n\"'`*\u201c\u201d\u2018\u2019\u00ab\u00bb"
_STOPS = ".,;:!"
_MOST_GROUPS = 6
_WORDS_FOR_NONE = frozenset({"[]", "none", "nothing", "empty"})


def matches(expected: Answer, given: str | None) -> bool:
    """Whether `given` is the expected answer. No answer is never right."""
    if given is None or len(given) > LONGEST:
        return False
    text = unicodedata.normalize("NFKC", _GROUP_SPACE.sub("", given)).strip()
    match expected.kind:
        case "number":
            return _is_number(text, expected.value, expected.tolerance)
        case "text":
            return _phrase(_unquoted(text)) == _phrase(str(expected.value))
        case "list":
            return _is_list(text, list(expected.value), ordered=expected.ordered)


def answer_text(answer: Answer) -> str:
    """The answer as an agent says it: a number or a text as such, a list as a JSON array."""
    if answer.kind == "text":
        return str(answer.value)
    return json.dumps(answer.value, ensure_ascii=False)


def _is_number(text: str, expected: Any, tolerance: float = 0.0) -> bool:
    found = set(_numbers(text))
    wanted = _decimal(str(expected))
    if len(found) != 1 or wanted is None:
        return False
    slack = Decimal(str(tolerance))
    if isinstance(expected, float) and not expected.is_integer():
        slack = max(slack, abs(wanted) * _FLOAT_SLACK)
    return abs(found.pop() - wanted) <= slack


def _numbers(text: str) -> Iterator[Decimal]:
    for sign, inner_sign, digits, exponent in _NUMBER.findall(text):
        is_one = _GROUPED.fullmatch(digits) or _PLAIN.fullmatch(digits)
        minus = "-" if (sign or inner_sign) in ("-", "\u2212") else ""
        for part in [digits.replace(",", "")] if is_one else re.findall(r"\d+", digits):
            number = _decimal(minus + part + exponent)
            if number is not None:
                yield number


def _decimal(text: str) -> Decimal | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _phrase(text: str) -> str:
    """`text` without what does not count: case, spacing, quotes around it, punctuation at its end."""
    words = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return words.strip(_QUOTES).rstrip(_STOPS + _QUOTES) or words


def _unquoted(text: str) -> str:
    value = _json(text)
    return value if isinstance(value, str) else text


def _json(text: str) -> Any:
    """The JSON value that `text` is, or None."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _is_list(text: str, expected: list[Any], *, ordered: bool) -> bool:
    if not expected:
        return _phrase(text) in _WORDS_FOR_NONE
    if (items := _items_of_json(text)) is not None:
        return _are_items([[item] for item in items], expected, ordered=ordered)
    most = max(_pieces_of(item) for item in expected)
    return _are_items(list(_readings(text, most)), expected, ordered=ordered)


def _items_of_json(text: str) -> list[str] | None:
    value = _json(text)
    if not isinstance(value, list):
        return None
    items = cast("list[object]", value)
    return [item if isinstance(item, str) else json.dumps(item) for item in items]


def _readings(text: str, most: int) -> Iterator[list[str]]:
    """For each piece of a list in prose: what an item that starts there may be, of 1 to `most` pieces."""
    text = _BULLET.sub("", text.removeprefix("[").removesuffix("]"))
    ends = [match.span() for match in _SEPARATOR.finditer(text)]
    starts = [0, *(end for _, end in ends)]
    stops = [*(start for start, _ in ends), len(text)]
    pieces = [(start, stop) for start, stop in zip(starts, stops, strict=True) if _phrase(text[start:stop])]
    for number, (start, _) in enumerate(pieces):
        yield [text[start:stop] for _, stop in pieces[number : number + most]]


def _are_items(readings: Sequence[list[str]], expected: Sequence[Any], *, ordered: bool) -> bool:
    """Whether the readings, the longest that fits first, are the expected items and nothing else."""
    rest = list(expected)
    place = 0
    while rest and place < len(readings):
        found = _next_item(readings[place], rest[:1] if ordered else rest)
        if found is None:
            return False
        size, number = found
        rest.pop(number)
        place += size
    return not rest and place == len(readings)


def _next_item(readings: Sequence[str], expected: Sequence[Any]) -> tuple[int, int] | None:
    """How many pieces the next item takes, and which of the expected ones it is."""
    for size in range(len(readings), 0, -1):
        for number, item in enumerate(expected):
            if _is_item(readings[size - 1], item, in_one_piece=size == 1):
                return size, number
    return None


def _is_item(text: str, expected: Any, *, in_one_piece: bool) -> bool:
    if isinstance(expected, int | float):
        return (in_one_piece or _NUMBER.fullmatch(text) is not None) and _is_number(text, expected)
    return _phrase(text) == _phrase(str(expected))


def _pieces_of(expected: Any) -> int:
    """How many pieces an expected item may be read as: numbers have commas between their thousands."""
    return _MOST_GROUPS if isinstance(expected, int | float) else len(_SEPARATOR.split(str(expected)))
