"""Pages that messages send their reader to are there, in a checkout and in an installed package."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from typer.testing import CliRunner

from subworlds.cli.main import app
from subworlds.scenarios.checking.finding import KINDS
from subworlds.scenarios.checking.remedies import _FILES
from subworlds.scenarios.manual import AUTHORING, MANUAL, SCHEMAS

from .conftest import ROOT


def pages(text: str) -> list[Path]:
    return [Path(found) for found in re.findall(r"/\S+?\.(?:md|json)\b", text)]


def test_pages_that_remedies_name_are_there() -> None:
    named = pages(" ".join([*_FILES.values(), *(kind.remedy for kind in KINDS.values())]))
    assert {AUTHORING, SCHEMAS / "task.json", SCHEMAS / "scenario.json"} <= set(named)
    assert all(page.is_file() for page in named)


def test_new_world_comes_with_a_page_to_read(tmp_path: Path) -> None:
    ran = CliRunner().invoke(app, ["new", "my_pack", "--in", str(tmp_path)])
    assert AUTHORING in pages(ran.output)


def test_installed_package_has_the_pages_beside_its_code() -> None:
    setuptools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    assert setuptools["package-dir"]["subworlds.docs"] == str(MANUAL.relative_to(ROOT))
    assert "subworlds.docs" in setuptools["packages"]
    shipped = {
        page for pattern in setuptools["package-data"]["subworlds.docs"] for page in MANUAL.glob(pattern)
    }
    assert shipped == {page for page in MANUAL.rglob("*") if page.is_file()}
