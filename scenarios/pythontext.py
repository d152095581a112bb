"""What can be said about an author's Python without running it."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator

from .task import RESERVED_TOOL_NAMES


class UnparsableCode(ValueError):
    """Not Python. `line` is where, from 1, if the parser could say."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        self.line = line
        super().__init__(reason)


def parse_python(source: str) -> ast.Module:
    """Raises UnparsableCode. Says nothing of dubious escapes and the like: those are the author's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(source)
        except SyntaxError as error:
            raise UnparsableCode(f"is not Python: {error.msg}", error.lineno) from error
        except ValueError as error:  # a NUL character
            raise UnparsableCode(f"is not Python: {error}") from error
        except (RecursionError, MemoryError) as error:
            raise UnparsableCode("is not usable Python: nested too deeply") from error


def functions_of(module: ast.Module) -> dict[str, ast.FunctionDef]:
    """The functions that the module defines at its top level, by name, in order."""
    return {node.name: node for node in module.body if isinstance(node, ast.FunctionDef)}


def positional_parameters(function: ast.FunctionDef) -> int:
    return len(function.args.posonlyargs) + len(function.args.args)


def reserved_operations(module: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and name of each `operation_id="…"` that is a name of the control plane."""
    for node in ast.walk(module):
        if isinstance(node, ast.keyword) and node.arg == "operation_id":
            name = node.value.value if isinstance(node.value, ast.Constant) else None
            if isinstance(name, str) and name in RESERVED_TOOL_NAMES:
                yield node.value.lineno, name
