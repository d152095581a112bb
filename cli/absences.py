"""Libraries that OpenEnv imports and we never use, left out where they would cost a start too much."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from types import ModuleType
from typing import Any


@contextmanager
def without(name: str) -> Generator[None]:
    """Let whoever imports the module called `name` find none, unless it is imported already."""
    yield from _replaced(name, None)


@contextmanager
def standing_in(name: str, **contents: Any) -> Generator[None]:
    """Let whoever imports from the module called `name` find `contents`, unless it is imported already."""
    module = ModuleType(name)
    module.__dict__.update(contents)
    yield from _replaced(name, module)


def _replaced(name: str, module: ModuleType | None) -> Generator[None]:
    modules: dict[str, Any] = sys.modules
    if name in modules:
        yield
        return
    modules[name] = module
    try:
        yield
    finally:
        del modules[name]
