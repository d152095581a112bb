"""What the command does with input that it cannot use."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Command

COMMANDS = ("serve", "list", "show", "run", "demo", "certify", "estimate", "bench", "doctor")


def test_help_names_every_command(subworlds: Command) -> None:
    ran = subworlds("--help")
    assert ran.status == 0
    assert all(command in ran.out for command in COMMANDS)


def test_help_and_list_import_no_server_and_no_torch(worlds: Path) -> None:
    code = (
        "import sys; from subworlds.cli.main import main; sys.argv = {argv!r}\n"
        "try: main()\n"
        "except SystemExit as stopped: assert stopped.code == 0\n"
        "heavy = {{'torch', 'openenv', 'uvicorn', 'mcp'}} & set(sys.modules); assert not heavy, heavy"
    )
    for arguments in (["list", "--help"], ["list", "--json", "--pack", str(worlds)]):
        program = code.format(argv=["subworlds", *arguments])
        subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, timeout=60)


def test_unknown_command_is_bad_usage(subworlds: Command) -> None:
    ran = subworlds("frobnicate")
    assert (ran.status, ran.out) == (2, "")
    assert "No such command 'frobnicate'" in ran.err


@pytest.mark.parametrize("arguments", [("serve", "--port", "http"), ("run",)])
def test_wrong_options_are_bad_usage(subworlds: Command, arguments: tuple[str, ...]) -> None:
    ran = subworlds(*arguments)
    assert (ran.status, ran.out) == (2, "")
    assert "Error: " in ran.err


@pytest.mark.parametrize("command", [("serve",), ("list",), ("show", "kiosk"), ("run", "kiosk/sell-apples")])
def test_unreadable_pack_lists_every_problem_once_and_starts_nothing(
    subworlds: Command, kiosk: Path, command: tuple[str, ...]
) -> None:
    tasks = kiosk / "tasks.jsonl"
    tasks.write_text('{"id": "kiosk/a", "solution": []}\n{"id": 7}\n')
    ran = subworlds(*command, "--pack", kiosk, "--pack", kiosk / "nowhere")
    first, *problems = ran.err.splitlines()
    assert (ran.status, ran.out) == (2, "")
    assert first == f"subworlds: {len(problems)} problems found, nothing was loaded:"
    assert f"{tasks}:1: prompt: is missing" in "\n".join(problems)
    assert f"{tasks}:2: id: " in "\n".join(problems)
    assert f"{kiosk / 'nowhere'}: is missing" in "\n".join(problems)
    assert len(set(problems)) == len(problems)


def test_packs_may_come_from_the_environment(
    subworlds: Command, worlds: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUBWORLDS_PACK", str(worlds))
    assert [row["name"] for row in subworlds("list", "--json").json] == ["kiosk"]


def test_machine_without_a_sandbox_is_refused_in_words(
    subworlds: Command, worlds: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("subworlds.sandbox.confinement._landlock_version", lambda: 0)
    for command in (("serve", "--port", "0"), ("list",), ("show", "kiosk"), ("run", "kiosk/sell-apples")):
        ran = subworlds(*command, "--pack", worlds)
        assert (ran.status, ran.out) == (1, "")
        assert "Landlock" in ran.err
        assert "--allow-unconfined" in ran.err
        assert "Traceback" not in ran.err
