"""An AWM scenario written as a native world: the same world and tasks, as files that an author can change."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..native import APP, SCHEMA, SEED, TASKS
from ..native_about import ABOUT
from ..pythontext import UnparsableCode, functions_of, parse_python, positional_parameters
from ..sqltext import UnclosedText, split_statements
from ..task import JudgeCheck, PythonCheck, Scenario, Statement, Task

VERIFIERS = "verifiers.py"


class NotNative(Exception):
    """What a native world has no form for; says what and why."""


def native_name(name: str) -> str:
    """The scenario's name as a native folder may be called: it starts with a letter."""
    return name if name[:1].isalpha() else f"w_{name}"


@dataclass(frozen=True, slots=True)
class NativeWorld:
    """The files of a native world, by name, and the tasks that have no place in them."""

    name: str
    files: dict[str, str]
    tasks_left_out: dict[str, str]
    """By id in the AWM folder: why."""

    def write(self, pack: Path) -> None:
        """Write the world's folder into `pack`. Raises OSError."""
        folder = pack / self.name
        folder.mkdir()
        for file, content in self.files.items():
            (folder / file).write_text(content, encoding="utf-8", newline="")


def to_native(scenario: Scenario, tasks: Iterable[Task], seed: Sequence[Statement], file: str) -> NativeWorld:
    """The native form of a scenario.

    Args:
        seed: the seed rows that are kept.
        file: where the scenario comes from, for a comment.

    Raises:
        NotNative: its SQL cannot be written as a file that reads back as the same statements.
    """
    name = native_name(scenario.name)
    about = {
        "name": name,
        "title": scenario.title.strip() or name,
        "description": scenario.description.strip() or scenario.title.strip() or name,
        "strict_references": False,
    }
    writing = _Tasks(name)
    for task in tasks:
        writing.add(task)
    files = {
        ABOUT: json.dumps(about, ensure_ascii=False, indent=2) + "\n",
        SCHEMA: _sql(scenario.schema, f"-- Imported from {file}.\n", SCHEMA),
        SEED: _sql(seed, "", SEED),
        APP: scenario.app_source,
        TASKS: "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in writing.lines),
        **writing.code_files(),
    }
    return NativeWorld(name, files, writing.left_out)


class _Tasks:
    """The task lines of a world and their verifiers' code, while they are being written."""

    def __init__(self, world: str) -> None:
        self.lines: list[dict[str, Any]] = []
        self.left_out: dict[str, str] = {}
        self._world = world
        self._functions: list[str] = []
        self._files: dict[str, str] = {}

    def add(self, task: Task) -> None:
        slug = task.id.partition("/")[2]
        try:
            verify = self._verify(task, slug)
        except (NotNative, UnparsableCode) as error:
            self.left_out[task.id] = f"its verifier {error}"
            return
        line = {"id": f"{self._world}/{slug}", "prompt": task.prompt, "split": task.split}
        self.lines.append({**line, "tags": list(task.tags), "verify": verify})

    def code_files(self) -> dict[str, str]:
        """The Python files that the lines name."""
        if not self._functions:
            return self._files
        return {VERIFIERS: "\n\n\n".join(self._functions) + "\n", **self._files}

    def _verify(self, task: Task, slug: str) -> dict[str, Any]:
        check = task.check
        assert isinstance(check, PythonCheck | JudgeCheck)  # AWM has no others
        code, kind = check.code or "", "judge" if isinstance(check, JudgeCheck) else "python"
        module = parse_python(code)
        function = functions_of(module).get(check.function)
        if function is None:
            raise NotNative(f"defines no function {check.function}")
        if positional_parameters(function) not in (2, 3):
            raise NotNative(f"takes {positional_parameters(function)} arguments, not 2 or 3")
        alone = _renamed(code, module, function, f"verify_{re.sub(r'[^a-z0-9]', '_', slug)}")
        if alone is None:
            file = f"verifier_{slug}.py"
            self._files[file] = code
            return {"kind": kind, "file": file, "function": check.function}
        name, source = alone
        self._functions.append(source)
        return {"kind": kind, "file": VERIFIERS, "function": name}


def _renamed(code: str, module: ast.Module, function: ast.FunctionDef, name: str) -> tuple[str, str] | None:
    """The function under another name, if the code is this function alone and never speaks of itself."""
    mentions = any(isinstance(node, ast.Name) and node.id == function.name for node in ast.walk(function))
    if len(module.body) != 1 or function.decorator_list or mentions:
        return None
    source = code.strip("\n").rstrip()
    renamed = re.sub(rf"\Adef(\s+){function.name}\b", rf"def\g<1>{name}", source)
    return None if renamed == source else (name, renamed)


def _sql(statements: Sequence[Statement], head: str, file: str) -> str:
    """The statements as one file, checked to read back as they are."""
    written = head + "".join(f"{_closed(statement.sql)}\n" for statement in statements)
    try:
        found = split_statements(written, file)
    except UnclosedText as error:
        raise NotNative(f"{file}:{error.line}: {error}") from error
    if len(found) != len(statements) or "\0" in written:
        raise NotNative(f"{file}: its statements do not stay apart when they are written one after another")
    return written


def _closed(sql: str) -> str:
    text = sql.strip()
    if text.endswith(";") and "--" not in text.rpartition("\n")[2]:
        return text
    return f"{text}\n;" if "--" in text else f"{text};"


def duplicate_routes(app_source: str) -> Iterator[str]:
    """Each method and path that an earlier route has already, with the function that repeats it."""
    try:
        module = parse_python(app_source)
    except UnparsableCode:
        return
    seen: dict[tuple[str, str], str] = {}
    for node in module.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for route in _routes(node):
                first = seen.setdefault(route, node.name)
                if first != node.name:
                    yield f"{route[0].upper()} {route[1]}: {node.name} repeats {first}"


def _routes(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[str, str]]:
    for decorator in function.decorator_list:
        match decorator:
            case ast.Call(
                func=ast.Attribute(attr=("get" | "post" | "put" | "patch" | "delete") as method),
                args=[ast.Constant(value=str(path)), *_],
            ):
                yield method, path
            case _:
                pass
