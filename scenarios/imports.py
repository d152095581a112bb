"""Imports that a world's code will want: which libraries it may read, and which are made before it runs.

Made early, in the template, they are shared by every session. What code or a library imports late
(`datetime.strptime` imports `_strptime`) is read from the same libraries under confinement.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import os
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

_NEVER = frozenset({"subworlds", "antigravity", "this", "idlelib", "turtledemo"})
_OURS = Path(__file__).resolve().parent
_NO_LIBRARY = frozenset({"site-packages", "dist-packages"})


def library_folders() -> tuple[str, ...]:
    """The folders that Python imports from."""
    return tuple(path for path in sys.path if os.path.isdir(path))


def library_entries() -> tuple[str, ...]:
    """What lies in them, each module and package by itself; not we, whose packs come with solutions."""
    return tuple(
        str(entry)
        for folder in library_folders()
        for entry in Path(folder).iterdir()
        if entry.name not in _NO_LIBRARY and not _OURS.is_relative_to(entry.resolve())
    )


def standard_library() -> tuple[str, ...]:
    """What lies in the standard library's folders, each module and package by itself; nothing installed.

    Modules import others late (`datetime.strptime` imports `_strptime`), and then they must be readable.
    """
    folders = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib")}
    return tuple(
        str(entry)
        for folder in sorted(folders)
        for entry in sorted(Path(folder).iterdir())
        if entry.name not in _NO_LIBRARY
    )


def preload_imports(source: str) -> None:
    """Import every module that `source` imports anywhere, except under `if __name__ == "__main__"`.

    Only modules that are installed; one that fails is left for the code itself to fail on, with its own line.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for name in sorted(set(_modules(tree))):
        if _is_harmless(name) and name not in sys.modules:
            with contextlib.suppress(Exception, SystemExit):
                importlib.import_module(name)


def forgo_servers() -> None:
    """Let `uvicorn.run(app)` at the end of an app, outside of any guard, be no request to wait for ever."""
    uvicorn = sys.modules.get("uvicorn")
    if uvicorn is not None:
        setattr(uvicorn, "run", _do_nothing)  # noqa: B010 - a module's function, for a type checker
        setattr(uvicorn.Server, "run", _do_nothing)  # noqa: B010


def _do_nothing(*_: object, **__: object) -> None:
    pass


def _is_harmless(name: str) -> bool:
    parts = name.split(".")
    return parts[0] not in _NEVER and "__main__" not in parts


def _modules(tree: ast.AST) -> Iterator[str]:
    for node in _walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names if alias.name.islower())


def _walk(tree: ast.AST) -> Iterator[ast.AST]:
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if not _is_main_guard(node):
            yield node
            waiting.extend(ast.iter_child_nodes(node))


def _is_main_guard(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and any(
        isinstance(part, ast.Name) and part.id == "__name__" for part in ast.walk(node.test)
    )
