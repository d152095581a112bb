"""An author's own verifier function: what it imports, how it is called, what it claims."""

from __future__ import annotations

import ast
import inspect
import json
import sys
import traceback
import types
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

from .world_time import world_time

_NEVER_IMPORTED = frozenset(
    {"antigravity", "this", "turtle", "turtledemo", "idlelib", "tkinter", "webbrowser"}
)
_MOST_EVIDENCE = 32_000
"""Characters of evidence that are kept."""
_MODULE = "verifier"
_FILE = f"{_MODULE}.py"


class FunctionFailed(Exception):
    """The author's function raised, or answered with something that is no claim."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What the author's function says: a result, or why there is none."""

    result: str | None
    failure: str | None


def imports_of(code: str) -> list[str]:
    """Modules of the standard library that `code` may import anywhere; they are loaded before confinement.

    `from a import b` names `a.b` as well, for it may be a module; not every name here is one.
    """
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError):
        return []
    names = {name for node in ast.walk(tree) for name in _imported(node)}
    return sorted(name for name in names if _is_loaded_ahead(name))


def call_function(code: str, name: str, first: str, final: str, answer: str | None, clock: str) -> str:
    """Run the function at the world's time and return its result word.

    Raises:
        FunctionFailed: it did not return `{"result": "..."}`.
    """
    return _call(code, name, (first, final, answer), clock, _result_of)


def gather_evidence(code: str, name: str, first: str, final: str, answer: str | None, clock: str) -> str:
    """Run the function at the world's time and return what it found, as JSON: `evidence` (JSON in a text, cut
    where it is too long) and `result` (what the code itself thinks, if it says so).

    Raises:
        FunctionFailed: it did not return a dict.
    """
    return _call(code, name, (first, final, answer), clock, _evidence_in)


def _call(
    code: str,
    name: str,
    arguments: tuple[str, str, str | None],
    clock: str,
    read: Callable[[object, str], str],
) -> str:
    with world_time(clock), _module() as module:
        try:
            function = _load(code, name, module)
            return read(function(*_arguments(function, *arguments)), name)
        except FunctionFailed:
            raise
        except BaseException as error:  # the author's code may raise anything: its failure, not ours
            raise FunctionFailed(_describe(error)) from error


def _imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield node.module
        yield from (f"{node.module}.{alias.name}" for alias in node.names if alias.name != "*")


def _is_loaded_ahead(name: str) -> bool:
    top, *rest = name.split(".")
    return top in sys.stdlib_module_names and top not in _NEVER_IMPORTED and "__main__" not in rest


@contextmanager
def _module() -> Generator[types.ModuleType]:
    """A module for the author's code, where dataclasses and the like look for it."""
    module, modules = types.ModuleType(_MODULE), sys.modules
    modules[_MODULE] = module
    try:
        yield module
    finally:
        modules.pop(_MODULE, None)


def _load(code: str, name: str, module: types.ModuleType) -> Callable[..., Any]:
    exec(compile(code, _FILE, "exec", dont_inherit=True), module.__dict__)
    function = module.__dict__.get(name)
    if not callable(function):
        raise FunctionFailed(f"the verifier's code defines no function {name}")
    return cast("Callable[..., Any]", function)


def _arguments(function: Callable[..., Any], first: str, final: str, answer: str | None) -> list[str]:
    """Two or three arguments, as many as the function takes: by AWM's names for them, else in AWM's order.

    AWM passes '' for no answer.
    """
    by_name = {"initial_db_path": first, "final_db_path": final, "final_answer": answer or ""}
    parameters = [
        parameter
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind
        in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD, parameter.VAR_POSITIONAL)
    ]
    if all(parameter.name in by_name for parameter in parameters):
        return [by_name[parameter.name] for parameter in parameters]
    wants_answer = len(parameters) >= 3 or any(p.kind is p.VAR_POSITIONAL for p in parameters)
    return list(by_name.values())[: 3 if wants_answer else 2]


def _result_of(claim: object, name: str) -> str:
    result = _result_in(claim)
    if type(result) is str:
        return result
    hint = "; True and False are no results" if bool in (type(claim), type(result)) else ""
    wanted = f'{name} must return {{"result": "complete"}} or another word'
    raise FunctionFailed(f"{wanted}, not {repr(claim)[:200]}{hint}")


def _evidence_in(found: Any, name: str) -> str:
    if type(found) is not dict:
        raise FunctionFailed(f"{name} must return a dict of evidence, not {repr(found)[:200]}")
    evidence = json.dumps(found, ensure_ascii=False, default=str)
    if len(evidence) > _MOST_EVIDENCE:
        evidence = f"{evidence[:_MOST_EVIDENCE]}… [cut]"
    result = _result_in(cast("Any", found))
    return json.dumps({"evidence": evidence, "result": result if type(result) is str else None})


def _result_in(claim: Any) -> Any:
    return cast("dict[str, Any]", claim).get("result") if type(claim) is dict else None


def _describe(error: BaseException) -> str:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == _FILE]
    where = f" at line {lines[-1]}" if lines else ""
    return f"the verifier's code raised {type(error).__name__}{where}: {_message(error)}"[:500]


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # its message is the author's code, too
        return ""
