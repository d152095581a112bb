"""Libraries that are left out while something is imported are back afterwards."""

from __future__ import annotations

import importlib
import sys

import pytest

from subworlds.cli.absences import standing_in, without


def test_module_is_missing_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "this", raising=False)
    with without("this"), pytest.raises(ImportError):
        importlib.import_module("this")
    assert "this" not in sys.modules


def test_module_has_a_stand_in_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    with standing_in("colorsys", rgb_to_yiq=42):
        assert importlib.import_module("colorsys").rgb_to_yiq == 42
    assert callable(importlib.import_module("colorsys").rgb_to_yiq)


def test_module_that_is_imported_already_stays() -> None:
    with without("sys"), standing_in("json", loads=None):
        assert importlib.import_module("sys") is sys
        assert importlib.import_module("json").loads('"x"') == "x"
