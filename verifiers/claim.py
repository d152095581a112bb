"""An author's own verifier function: what it imports, how it is called, what it claims."""

from __future__ import annotations

import ast
import inspect
import sqlite3
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from sqlite3 import dbapi2
from typing import Any, cast

from ..scenarios.clock import WorldClock, install_clock

_NEVER_IMPORTED = frozenset(
    {"antigravity", "this", "turtle", "turtledemo", "idlelib", "tkinter", "webbrowser"}
)
_FILE = "verifier.py"


class FunctionFailed(Exception):
    """The author's function raised, or answered with something that is no claim."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What the author's function says: a result, or why there is none."""

    result: str | None
    failure: str | None


def imports_of(code: str) -> list[str]:
    """Modules of the standard library that `code` imports anywhere; they are loaded before confinement."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError):
        return []
    names = {name for node in ast.walk(tree) for name in _imported(node)}
    allowed = sys.stdlib_module_names - _NEVER_IMPORTED
    return sorted(name for name in names if name.split(".")[0] in allowed)


def call_function(code: str, name: str, first: str, final: str, answer: str | None, clock: str) -> str:
    """Run the function at the world's time and return its result word.

    Raises:
        FunctionFailed: it did not return `{"result": "..."}`.
    """
    WorldClock(datetime.fromisoformat(clock))
    _keep_world_time_in_sqlite()
    try:
        function = _load(code, name)
        claim = function(*_arguments(function, first, final, answer))
    except FunctionFailed:
        raise
    except BaseException as error:  # the author's code may raise anything, and each is its failure, not ours
        raise FunctionFailed(_describe(error)) from error
    result = cast("dict[str, Any]", claim).get("result") if type(claim) is dict else None
    if type(result) is not str:
        raise FunctionFailed(
            f'{name} must return {{"result": "complete"}} or another word, not {claim!r:.200}'
        )
    return result


def _imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield node.module


def _load(code: str, name: str) -> Callable[..., Any]:
    namespace: dict[str, Any] = {"__name__": "verifier"}
    exec(compile(code, _FILE, "exec", dont_inherit=True), namespace)
    function = namespace.get(name)
    if not callable(function):
        raise FunctionFailed(f"the verifier's code defines no function {name}")
    return cast("Callable[..., Any]", function)


def _arguments(function: Callable[..., Any], first: str, final: str, answer: str | None) -> list[Any]:
    """Two or three arguments, by position, as many as the function takes. AWM passes '' for no answer."""
    parameters = [
        parameter
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind
        in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD, parameter.VAR_POSITIONAL)
    ]
    wants_answer = len(parameters) >= 3 or any(p.kind is p.VAR_POSITIONAL for p in parameters)
    return [first, final, answer or ""] if wants_answer else [first, final]


def _keep_world_time_in_sqlite() -> None:
    connect = sqlite3.connect

    def connect_in_world_time(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*arguments, **options)
        install_clock(connection)
        return connection

    for module in (sqlite3, dbapi2):
        setattr(module, "connect", connect_in_world_time)  # noqa: B010 - the type of connect is overloaded


def _describe(error: BaseException) -> str:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == _FILE]
    where = f" at line {lines[-1]}" if lines else ""
    return f"the verifier's code raised {type(error).__name__}{where}: {error}"[:500]
