"""What a world's app keeps in its memory between calls, made comparable.

A session starts from a fork of a template that has called every tool once (see warming.py). That is sound for
an app that keeps everything in its database. This page finds out: it walks from the app's module through all
that it can reach, and writes down what it sees, place by place. Libraries that cache for themselves are left
out, except where an app is known to leave things in them.
"""

from __future__ import annotations

import builtins
import contextlib
import contextvars
import functools
import os
import random
import threading
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, time, timedelta, tzinfo
from decimal import Decimal
from enum import Enum
from typing import Any, TypeAlias

from sqlalchemy.orm import Session, scoped_session
from starlette.applications import Starlette
from starlette.datastructures import State

Memory: TypeAlias = Mapping[str, str]
"""Place in the app's memory (`world_app._counter['n']`, say) to what is there, as text."""

_MOST_PLACES = 50_000
_NOT_THE_APPS = ("__builtins__", "__warningregistry__")
_LEAVES: tuple[Any, ...] = (
    *(type(None), bool, int, float, complex, str, bytes, bytearray, range, slice, Decimal, Enum),
    *(date, time, timedelta, tzinfo),
)
_SIZED: tuple[Any, ...] = (list, tuple, dict, set, frozenset, deque)
_CACHING_LIBRARIES = frozenset(
    [
        *(
            "annotated_types",
            "anyio",
            "asyncio",
            "fastapi",
            "inspect",
            "logging",
            "pydantic",
            "pydantic_core",
        ),
        *("re", "sqlalchemy", "sqlite3", "starlette", "subworlds", "time_machine", "typing"),
        *("typing_extensions", "weakref", "zoneinfo"),
    ]
)

_Place: TypeAlias = tuple[str, Any]


class TooMuchMemory(Exception):
    """The app holds more than can be compared."""


def read_memory(module: types.ModuleType) -> Memory:
    """What the app in `module` holds now.

    Raises:
        TooMuchMemory: more places than anybody would compare.
    """
    return _Walk(module.__name__).read(
        [
            *((module.__name__ + step, value) for step, value in _named(vars(module))),
            ("os.environ", dict(os.environ)),
            ("builtins", sorted(vars(builtins))),
        ]
    )


def first_difference(before: Memory, after: Memory) -> str | None:
    """The first place that is not as it was; None if there is none."""
    places = (*after, *(place for place in before if place not in after))
    return next((place for place in places if before.get(place) != after.get(place)), None)


class _Walk:
    """One walk through everything that can be reached from some roots, each object once."""

    def __init__(self, app: str) -> None:
        self._app = app
        self._seen: dict[int, str] = {}
        self._kept: list[Any] = []
        """What was made on the way, kept alive so that no address is used twice."""

    def read(self, roots: Iterable[_Place]) -> Memory:
        found: dict[str, str] = {}
        waiting = deque(roots)
        while waiting:
            place, thing = waiting.popleft()
            if len(found) > _MOST_PLACES:
                raise TooMuchMemory(f"more than {_MOST_PLACES:,} places")
            if _is_leaf(thing):
                found[place] = f"{type(thing).__name__} {thing!r}"
            elif id(thing) in self._seen:
                found[place] = f"the same as {self._seen[id(thing)]}"
            else:
                self._seen[id(thing)] = place
                self._kept.append(thing)
                found[place] = _kind(thing)
                waiting.extend((place + step, part) for step, part in self._parts(thing))
        return found

    def _parts(self, thing: Any) -> Iterator[_Place]:
        """What `thing` holds, and the step that leads there."""
        for kind, read in _READERS:
            if isinstance(thing, kind):
                yield from read(thing)
                break
        if isinstance(thing, type | types.FunctionType):
            if thing.__module__ == self._app:
                yield from _named(vars(thing))
        elif not self._is_a_librarys(thing):
            yield from _attributes(thing)

    def _is_a_librarys(self, thing: Any) -> bool:
        module = str(type(thing).__module__).partition(".")[0]
        return module in _CACHING_LIBRARIES or isinstance(thing, types.ModuleType)


def _is_leaf(thing: Any) -> bool:
    return isinstance(thing, _LEAVES)


def _kind(thing: Any) -> str:
    size = f" of {len(thing)}" if isinstance(thing, _SIZED) else ""
    return f"{type(thing).__module__}.{type(thing).__qualname__}{size}"


def _attributes(thing: Any) -> Iterator[_Place]:
    yield from _named(getattr(thing, "__dict__", {}))
    for kind in type(thing).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(thing, name):
                yield f".{name}", getattr(thing, name)


def _named(names: Mapping[str, Any]) -> Iterator[_Place]:
    return ((f".{name}", value) for name, value in dict(names).items() if name not in _NOT_THE_APPS)


def _of_attributes(thing: object) -> Iterator[_Place]:
    return _named(vars(thing))


def _of_mapping(thing: Mapping[Any, Any]) -> Iterator[_Place]:
    for number, (key, value) in enumerate(list(thing.items())):
        step = repr(key) if _is_leaf(key) else str(number)
        yield f"[{step}]", value
        if not _is_leaf(key):
            yield f"[{step}:key]", key


def _of_sequence(thing: Iterable[Any]) -> Iterator[_Place]:
    return ((f"[{number}]", part) for number, part in enumerate(list(thing)))


def _of_set(thing: Iterable[Any]) -> Iterator[_Place]:
    yield "{}", sorted(repr(part) if _is_leaf(part) else _kind(part) for part in thing)


def _of_function(thing: types.FunctionType) -> Iterator[_Place]:
    for name, cell in zip(thing.__code__.co_freevars, thing.__closure__ or (), strict=True):
        yield f":{name}", cell
    yield ":defaults", thing.__defaults__
    yield ":keywords", thing.__kwdefaults__


def _of_cell(thing: types.CellType) -> Iterator[_Place]:
    try:
        yield "", thing.cell_contents
    except ValueError:
        yield "", "(empty)"


def _of_partial(thing: functools.partial[Any]) -> Iterator[_Place]:
    yield ".func", thing.func
    yield ".args", thing.args
    yield ".keywords", thing.keywords


def _of_cache(thing: Any) -> Iterator[_Place]:
    yield ":cache", repr(thing.cache_info())
    yield ":wrapped", getattr(thing, "__wrapped__", None)


def _of_generator(thing: types.GeneratorType[Any, Any, Any]) -> Iterator[_Place]:
    yield (
        ":frame",
        None if thing.gi_frame is None else (thing.gi_frame.f_lasti, dict(thing.gi_frame.f_locals)),
    )


def _of_variable(thing: contextvars.ContextVar[Any]) -> Iterator[_Place]:
    with contextlib.suppress(LookupError):
        yield ":value", thing.get()


def _of_session(thing: Session) -> Iterator[_Place]:
    """A session that outlives a call: whether it holds rows or a transaction."""
    yield ":rows", (len(thing.identity_map), len(thing.new), len(thing.dirty), thing.in_transaction())


def _of_registry(thing: scoped_session[Any]) -> Iterator[_Place]:
    yield ":session", thing.registry() if thing.registry.has() else None


def _of_iterator(thing: Any) -> Iterator[_Place]:
    """How far a built-in iterator has come, a counter among them."""
    try:
        state: tuple[Any, ...] | str = thing.__reduce__()
    except TypeError:
        return
    yield ":state", [part for part in state if not callable(part)]


_READERS: tuple[tuple[Any, Callable[[Any], Iterator[_Place]]], ...] = (
    (random.SystemRandom, lambda _: iter(())),
    (random.Random, lambda thing: iter([(":state", repr(hash(thing.getstate())))])),
    (dict, _of_mapping),
    (types.MappingProxyType, _of_mapping),
    ((list, tuple, deque), _of_sequence),
    ((set, frozenset), _of_set),
    (types.FunctionType, _of_function),
    (types.MethodType, lambda thing: iter([(".self", thing.__self__), (".func", thing.__func__)])),
    (types.CellType, _of_cell),
    (functools.partial, _of_partial),
    (type(functools.lru_cache(lambda: None)), _of_cache),
    (types.GeneratorType, _of_generator),
    (contextvars.ContextVar, _of_variable),
    (threading.local, _of_attributes),
    (scoped_session, _of_registry),
    (Session, _of_session),
    (Starlette, lambda thing: iter([(".state", thing.state)])),
    (State, _of_attributes),
    (Iterator, _of_iterator),
)
