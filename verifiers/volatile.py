"""Values that differ between two runs of one solution: which of them tell the time, and what may stand there.

A time is compared with the time of the episode at hand: it may be later by as many ticks as the episode made
calls, and no more. What chance chose (a uuid, a token) is free. Both may stand within a text, whose other
words count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

Kind: TypeAlias = Literal["moment", "compact", "hour", "epoch", "number", "random"]

_UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
_MOMENT = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?"
_COMPACT = r"(?<!\d)\d{8}T?\d{6}(?!\d)"
_HOUR = r"(?<![\d:])\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?![\d:])"
_EPOCH = r"(?<![\w.])\d{10}(?:\d{3}){0,3}(?:\.\d{1,9})?(?!\w)"
_HEX = r"(?<![0-9A-Za-z])[0-9a-fA-F]{8,}(?![0-9A-Za-z])"
_MARK = re.compile(
    f"(?P<uuid>{_UUID})|(?P<moment>{_MOMENT})|(?P<compact>{_COMPACT})|(?P<hour>{_HOUR})"
    f"|(?P<epoch>{_EPOCH})|(?P<hex>{_HEX})"
)
_WITH_SECONDS = re.compile(r"\d\d:\d\d:\d\d")
_WORD = r"[\w+/=.-]+"
_READABLE = {"moment": _MOMENT, "compact": _COMPACT, "hour": _HOUR, "epoch": _EPOCH, "random": _WORD}

_TIMES: dict[str, Kind] = {"moment": "moment", "compact": "compact", "hour": "hour", "epoch": "epoch"}

_DAY = 86_400.0
_UNITS = (1.0, 1e-3, 1e-6, 1e-9, _DAY)
"""Seconds in the units that numbers count time in: seconds since some day, parts of them, days."""

_EPOCH_DAY = datetime(1970, 1, 1, tzinfo=UTC)
_JULIAN_1970 = 2_440_587.5
_LONGEST = 10_000


@dataclass(frozen=True, slots=True)
class Hole:
    """A part of a value that differs between episodes."""

    kind: Kind
    sample: float = 0.0
    """The time in the first run: seconds since 1970, since midnight, or since what a number counts from."""
    resolution: float = 1.0
    """Seconds between two times that are told apart."""
    unit: float = 1.0
    """number only: seconds that it grows by one in; negative where it counts down."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """What may stand where two runs left two values."""

    texts: tuple[str, ...]
    """What stands before, between and after the holes."""
    holes: tuple[Hole, ...]
    is_now: bool = False
    """Whether all of it is the time of the run itself: when something was done, not when it is due."""

    def fits(self, value: Any, low: float, high: float) -> bool:
        """Whether `value` is as in the first run, its times later by `low` to `high` seconds."""
        times = self._times(value)
        return times is not None and all(
            hole.kind == "random" or _is_within(time - hole.sample, low, high, hole)
            for hole, time in zip(self.holes, times, strict=True)
        )

    def is_near(self, other: Pattern, seconds: float) -> bool:
        """Whether one value may fit both, in a window of so many seconds."""
        return self.texts == other.texts and all(
            (mine.kind, mine.unit) == (its.kind, its.unit)
            and abs(mine.sample - its.sample) <= seconds + 2 * (mine.resolution + its.resolution)
            for mine, its in zip(self.holes, other.holes, strict=True)
        )

    def _times(self, value: Any) -> list[float] | None:
        """The times that stand in the holes (0 for chance); None where `value` is something else."""
        if self.holes[0].kind == "number":
            return [value * self.holes[0].unit] if _is_number(value) else None
        if not isinstance(value, str) or len(value) > _LONGEST:
            return None
        found = re.fullmatch(self._expression(), value)
        if found is None:
            return None
        times = [_seconds(hole.kind, text) for hole, text in zip(self.holes, found.groups(), strict=True)]
        return None if None in times else [time for time in times if time is not None]

    def _expression(self) -> str:
        first, *rest = (re.escape(text) for text in self.texts)
        holes = (f"({_READABLE[hole.kind]})" for hole in self.holes)
        return first + "".join(hole + text for hole, text in zip(holes, rest, strict=True))


def pattern_of(first: Any, second: Any, shift_s: float, started: datetime, calls: int) -> Pattern | None:
    """What the values of two runs have in common; None where nothing but chance explains them.

    Args:
        shift_s: how much later the second run started; where it is 0 no value is a time.
        started: the world's time at the start of the first run.
        calls: how many calls each run made, each a second of the world's time.
    """
    if not shift_s:
        return None
    if _is_number(first) and _is_number(second):
        return _number_pattern(float(first), float(second), shift_s, started, calls)
    if isinstance(first, str) and isinstance(second, str) and max(len(first), len(second)) <= _LONGEST:
        return _text_pattern(first, second, shift_s, started, calls)
    return None


def grouped(patterns: Sequence[Pattern], seconds: float) -> list[int]:
    """For each pattern a number, the same for those that one value may fit (see Pattern.is_near)."""
    groups: list[int] = []
    for place, pattern in enumerate(patterns):
        near = {groups[other] for other in range(place) if pattern.is_near(patterns[other], seconds)}
        group = min(near, default=place)
        groups = [group if number in near else number for number in groups]
        groups.append(group)
    return groups


def _number_pattern(
    first: float, second: float, shift_s: float, started: datetime, calls: int
) -> Pattern | None:
    for unit in (*_UNITS, *(-unit for unit in _UNITS)):
        if abs((second - first) * unit - shift_s) < max(1e-3, min(1.0, abs(unit))):
            since = (first - _JULIAN_1970) * _DAY if unit == _DAY else first * unit
            is_now = unit > 0 and _is_during(since, started, calls, 1.0)
            return Pattern(("", ""), (Hole("number", first * unit, 1.0, unit),), is_now)
    return None


def _text_pattern(first: str, second: str, shift_s: float, started: datetime, calls: int) -> Pattern | None:
    texts, holes = [""], list[Hole]()
    mine, others = list(_pieces(first)), list(_pieces(second))
    if len(mine) != len(others):
        return None
    for (kind, text), (other_kind, other_text) in zip(mine, others, strict=True):
        if text == other_text:
            texts[-1] += text
            continue
        hole = _hole(kind, text, other_kind, other_text, shift_s)
        if hole is None:
            return None
        holes.append(hole)
        texts.append("")
    times = [hole for hole in holes if hole.kind != "random"]
    if not times and not "".join(texts).strip():
        return None
    is_now = bool(times) and all(_is_now(hole, started, calls) for hole in times)
    return Pattern(tuple(texts), tuple(holes), is_now)


def _pieces(text: str) -> Iterator[tuple[str | None, str]]:
    """The text in pieces: what may be a time or a token, with its kind, and what lies between."""
    end = 0
    for mark in _MARK.finditer(text):
        yield None, text[end : mark.start()]
        yield mark.lastgroup, mark.group()
        end = mark.end()
    yield None, text[end:]


def _hole(kind: str | None, text: str, other_kind: str | None, other: str, shift_s: float) -> Hole | None:
    if kind is None or other_kind is None:
        return None
    time = _TIMES.get(kind) if kind == other_kind else None
    if time is not None:
        first, second, resolution = _seconds(time, text), _seconds(time, other), _resolution(time, text)
        if first is not None and second is not None:
            passed = (second - first) % _DAY if time == "hour" else second - first
            if abs(passed - shift_s) < resolution:
                return Hole(time, first, resolution)
    return Hole("random")


def _seconds(kind: str, text: str) -> float | None:
    """The time that a text of this kind tells; None where there is no such time."""
    try:
        match kind:
            case "moment":
                return _since_1970(datetime.fromisoformat(text))
            case "compact":
                return _since_1970(datetime.strptime(text.replace("T", ""), "%Y%m%d%H%M%S"))
            case "hour":
                hours, minutes, *seconds = text.split(":")
                return int(hours) * 3600.0 + int(minutes) * 60.0 + float(seconds[0] if seconds else 0)
            case "epoch":
                whole = text.partition(".")[0]
                return float(text) / 10.0 ** (len(whole) - 10)
            case _:
                return 0.0
    except ValueError:
        return None


def _since_1970(moment: datetime) -> float:
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _resolution(kind: str, text: str) -> float:
    """Seconds: a minute where the text names no seconds."""
    return 60.0 if kind in ("moment", "hour") and not _WITH_SECONDS.search(text) else 1.0


def _is_now(hole: Hole, started: datetime, calls: int) -> bool:
    start = started.astimezone(UTC)
    if hole.kind == "hour":
        start = _EPOCH_DAY.replace(hour=start.hour, minute=start.minute, second=start.second)
    return _is_during(hole.sample, start, calls, hole.resolution)


def _is_during(seconds: float, started: datetime, calls: int, resolution: float) -> bool:
    return -resolution <= seconds - started.timestamp() <= calls + resolution


def _is_within(passed: float, low: float, high: float, hole: Hole) -> bool:
    if hole.kind == "hour":  # midnight may have passed
        passed = (passed + _DAY / 2) % _DAY - _DAY / 2
    return low - hole.resolution <= passed <= high + hole.resolution


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
