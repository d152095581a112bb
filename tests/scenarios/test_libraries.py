"""What a world's code may import: the libraries, early or late, and nothing of ours."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import fastapi
import pytest
import sqlalchemy
import tzdata

from subworlds import scenarios
from subworlds.scenarios.imports import library_entries, library_folders, preload_imports

OURS = Path(str(scenarios.__file__)).resolve().parent


def test_every_installed_library_may_be_read() -> None:
    entries = set(library_entries())
    for module in (json, fastapi, sqlalchemy, tzdata):
        assert str(Path(str(module.__file__)).parent) in entries


def test_our_own_packages_may_not() -> None:
    assert not [entry for entry in library_entries() if OURS.is_relative_to(Path(entry).resolve())]
    assert not [entry for entry in library_entries() if Path(entry).name in ("site-packages", "subworlds")]


def test_a_repository_on_the_path_does_not_give_itself_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(OURS.parent), *sys.path])
    assert str(OURS.parent) in library_folders()
    assert str(OURS) not in library_entries()


def test_what_code_imports_anywhere_is_imported_early(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("colorsys", "wave", "sndhdr", "chunk", "this", "antigravity", "venv.__main__")
    for name in names:
        monkeypatch.delitem(sys.modules, name, raising=False)
    preload_imports(
        """
import colorsys, no_such_library, this, antigravity
import venv.__main__

def later():
    from wave import open as open_wave

if __name__ == "__main__":
    import chunk
"""
    )
    assert [name for name in names if name in sys.modules] == ["colorsys", "wave"]


@pytest.mark.parametrize("source", ["import (", "\0", "x = " + "(" * 10_000, "x = " + "1 + " * 50_000 + "1"])
def test_code_that_cannot_be_read_is_left_to_fail_by_itself(source: str) -> None:
    preload_imports(source)
