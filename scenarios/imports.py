"""Imports that a world's code will want, made before it is confined and can no longer read modules."""

from __future__ import annotations

import ast
import contextlib
import importlib
import sys
from collections.abc import Iterator

_NEVER = frozenset({"subworlds", "antigravity", "this", "idlelib", "turtledemo", "__main__"})


def preload_imports(source: str) -> None:
    """Import every module that `source` imports anywhere, except under `if __name__ == "__main__"`.

    Only modules that are installed; one that fails is left for the code itself to fail on, with its own line.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return
    for name in sorted(set(_modules(tree))):
        if name.split(".")[0] not in _NEVER and name not in sys.modules:
            with contextlib.suppress(Exception):
                importlib.import_module(name)


def _modules(tree: ast.AST) -> Iterator[str]:
    for node in _walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names if alias.name.islower())


def _walk(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(tree):
        if not _is_main_guard(node):
            yield node
            yield from _walk(node)


def _is_main_guard(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and any(
        isinstance(part, ast.Name) and part.id == "__name__" for part in ast.walk(node.test)
    )
