"""Whether what the agent said is the expected answer.

Made to accept a right answer in a person's words, and to refuse a list of guesses: an answer with two
different numbers, or with more than what was asked for, is wrong.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from decimal import Decimal, InvalidOperation
from typing import Any, cast

from ..scenarios.task import Answer

LONGEST = 10_000
"""Characters after which an answer is wrong without being read."""

_NUMBER = re.compile(
    r"(?<![\w.])[-+\u2212]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d{1,3})?(?![\w]*\d)"
)
_SEPARATORS = re.compile(r"\s*(?:,|;|\n|\band\b|•)\s*", re.IGNORECASE)
_EDGES = " \t\r\n\"'`.,;:!*\u201c\u201d\u2018\u2019\u00ab\u00bb"
_BULLET = re.compile(r"(?m)^\s*(?:[-*•]|\d{1,3}[.)])\s+")


def matches(expected: Answer, given: str | None) -> bool:
    """Whether `given` is the expected answer. No answer is never right."""
    if given is None or len(given) > LONGEST:
        return False
    text = unicodedata.normalize("NFKC", given).strip()
    match expected.kind:
        case "number":
            return _is_number(text, expected.value, expected.tolerance)
        case "text":
            return _plain(_unquote(text)) == _plain(str(expected.value))
        case "list":
            return _is_list(text, [_plain(str(item)) for item in expected.value], ordered=expected.ordered)


def _is_number(text: str, expected: Any, tolerance: float) -> bool:
    found = {number for token in _NUMBER.findall(text) if (number := _decimal(token)) is not None}
    if len(found) != 1:
        return False
    return abs(found.pop() - Decimal(str(expected))) <= Decimal(str(tolerance))


def _decimal(token: str) -> Decimal | None:
    try:
        return Decimal(token.replace(",", "").replace("\u2212", "-"))
    except InvalidOperation:
        return None


def _unquote(text: str) -> str:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, str) else text


def _plain(text: str) -> str:
    """Case, white space, and punctuation at the edges do not count; neither does how a number is written."""
    words = " ".join(unicodedata.normalize("NFKC", text).strip(_EDGES).casefold().split())
    number = _decimal(words) if _NUMBER.fullmatch(words) else None
    return words if number is None else format(number.normalize(), "f")


def _is_list(text: str, expected: list[str], *, ordered: bool) -> bool:
    return any(
        found == expected if ordered else Counter(found) == Counter(expected)
        for found in (_items_of_json(text), _items_of_text(text, expected))
    )


def _items_of_json(text: str) -> list[str] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return [_plain(str(item)) for item in cast("list[Any]", value)] if isinstance(value, list) else None


def _items_of_text(text: str, expected: list[str]) -> list[str]:
    """The items of a list in prose. Separators inside an expected item do not split it."""
    pieces = [_plain(piece) for piece in _SEPARATORS.split(_BULLET.sub("", text)) if _plain(piece)]
    known = {
        tuple(_plain(piece) for piece in _SEPARATORS.split(item) if _plain(piece)): item for item in expected
    }
    items: list[str] = []
    while pieces:
        size, item = _longest_known(pieces, known)
        items.append(item)
        pieces = pieces[size:]
    return items


def _longest_known(pieces: list[str], known: dict[tuple[str, ...], str]) -> tuple[int, str]:
    for size in range(len(pieces), 1, -1):
        if tuple(pieces[:size]) in known:
            return size, known[tuple(pieces[:size])]
    return 1, pieces[0]
