"""The command, run as a user runs it, but in this process."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest

from subworlds.cli.main import main


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Command(Protocol):
    """Runs `subworlds` with these arguments."""

    def __call__(self, *arguments: str | Path) -> Ran: ...


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of the test's own."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder / "subworlds"


@pytest.fixture
def subworlds(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    def run(*arguments: str | Path) -> Ran:
        monkeypatch.setattr("sys.argv", ["subworlds", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            main()
        printed = capsys.readouterr()
        assert isinstance(stopped.value.code, int)
        return Ran(stopped.value.code, printed.out, printed.err)

    return run


@pytest.fixture
def kiosk(worlds: Path, tmp_path: Path) -> Path:
    """A copy of the toy world, to break."""
    return shutil.copytree(worlds / "kiosk", tmp_path / "kiosk", ignore=shutil.ignore_patterns("__pycache__"))
