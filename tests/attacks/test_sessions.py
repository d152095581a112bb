"""Attacks of a world's code, under every mode of confinement that this machine has. Each is refused.

The code runs twice over: as a tool, inside a session, and at import, inside the template.
"""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path

import pytest

from .catalog import ANYWHERE, IN_SESSIONS, REFUSALS
from .modes import MODES, Endings, Mode, lacking, play

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="system calls by their x86-64 numbers")


@cache
def why_not(mode: Mode) -> str | None:
    """Asked once."""
    return lacking(mode)


@pytest.fixture(scope="module", params=MODES)
def outside(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A mode, and a folder that is no session's business."""
    return request.param, tmp_path_factory.mktemp("attacked") / "outside"


@pytest.fixture(scope="module")
def endings(outside: tuple[str, Path]) -> Endings:
    """How all attacks ended under a mode, played once."""
    name, folder = outside
    reason = why_not(MODES[name])
    if reason is not None:
        pytest.skip(reason)
    for parent in (folder.parent, folder.parent.parent, folder.parent.parent.parent):
        parent.chmod(0o755)
    return play(MODES[name], folder)


@pytest.mark.parametrize("attack", IN_SESSIONS)
def test_a_tool_cannot(endings: Endings, attack: str) -> None:
    assert_refused(endings["tool"][attack])


@pytest.mark.parametrize("attack", ANYWHERE)
def test_an_app_cannot_at_import(endings: Endings, attack: str) -> None:
    assert_refused(endings["import"][attack])


def test_what_lies_outside_is_as_it_was(endings: Endings, outside: tuple[str, Path]) -> None:
    _, folder = outside
    assert [path.name for path in folder.iterdir()] == ["secret"]
    assert (folder / "secret").read_text() == "the answer is 42"
    assert endings["sibling"] == {"live": "done"}


def assert_refused(ending: str) -> None:
    """Nothing but a refusal counts."""
    assert any(refusal in ending for refusal in REFUSALS), ending
