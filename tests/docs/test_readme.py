"""The README, executed: its programs run, its output is real, its tables are complete."""

from __future__ import annotations

import ast
import contextlib
import io
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from typer.testing import CliRunner

from subworlds.cli.main import app
from subworlds.envs import ErrorType

from .conftest import ROOT

README = (ROOT / "README.md").read_text()


@dataclass(frozen=True)
class Block:
    """A fenced block."""

    line: int
    language: str
    text: str


def blocks() -> list[Block]:
    fenced = re.finditer(r"^```(\w*)\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    return [Block(README.count("\n", 0, found.start()) + 1, found[1], found[2]) for found in fenced]


def programs() -> list[tuple[Block, Block]]:
    """Each Python block with the block after it: what it prints."""
    found = blocks()
    return [(block, after) for block, after in itertools.pairwise(found) if block.language == "python"]


def commands() -> dict[str, str]:
    """Every command's help, by name."""
    names = [
        command.name or command.callback.__name__ for command in app.registered_commands if command.callback
    ]
    names += [group.name for group in app.registered_groups if isinstance(group.name, str)]
    return {name: CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "200"}).output for name in names}


@pytest.mark.parametrize("program", programs(), ids=lambda program: f"line {program[0].line}")
def test_program_prints_what_the_readme_says(program: tuple[Block, Block], builtin_url: str) -> None:
    block, output = program
    source = block.text.replace("http://127.0.0.1:8000", builtin_url)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile("\n" * block.line + source, "README.md", "exec"), {"__name__": "__main__"})
    assert (output.language, printed.getvalue()) == ("text", output.text)


def test_demo_output_in_the_readme_is_that_of_the_demo() -> None:
    shown = blocks()[1].text
    played = CliRunner().invoke(app, ["demo"])
    assert played.exit_code == 0, played.output
    assert _timeless(shown) == _timeless(played.output)


def test_every_command_in_the_readme_exists_and_every_command_is_in_its_table() -> None:
    mentioned = set(re.findall(r"subworlds ([a-z-]+)\b(?= |`|$)", "\n".join(_commands_shown())))
    in_table = set(re.findall(r"^\| `subworlds ([a-z-]+)", README, re.MULTILINE))
    assert mentioned <= set(commands())
    assert in_table == set(commands())


def test_every_option_in_the_readme_exists() -> None:
    known = set(re.findall(r"--[a-z-]+", "\n".join(commands().values()))) | set(_options_of_scripts())
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", README)) <= known


def test_every_kind_of_error_is_in_the_table() -> None:
    section = README.partition("| `error_type` |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)`", section, re.MULTILINE) == [kind.value for kind in ErrorType]


def test_every_make_target_and_folder_in_the_readme_exists() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in set(re.findall(r"make ([a-z]+)\b(?=`|\s+#|$)", README, re.MULTILINE)):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    for path in set(re.findall(r"`((?:[\w.]+/)+[\w.]*|\w+\.(?:md|py))`", README)):
        if not path.startswith(("gen_", ".venv")):
            assert (ROOT / path).exists(), path


def test_readme_names_no_machine_of_ours() -> None:
    hosts = set(re.findall(r"https?://([^/\s:\"')]+)", README))
    assert hosts <= {"127.0.0.1", "github.com"}
    assert not re.search(r"(?<![\w.])/(?:work|tmp|home|root)/", README)


def _options_of_scripts() -> Iterator[str]:
    """What the training scripts read from the command line: the fields of their arguments."""
    for script in ("train_grpo", "warmup"):
        (arguments,) = (
            node
            for node in ast.parse((ROOT / "training" / f"{script}.py").read_text()).body
            if isinstance(node, ast.ClassDef) and node.name == "Args"
        )
        for line in arguments.body:
            if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
                yield f"--{line.target.id.replace('_', '-')}"


def _commands_shown() -> list[str]:
    """What the README tells its reader to type."""
    typed = [line for block in blocks() if block.language == "console" for line in block.text.splitlines()]
    return [*typed, *re.findall(r"`(subworlds [^`]+)`", README)]


def _timeless(text: str) -> str:
    """Without what differs from run to run: ports, seconds, and blanks at line ends."""
    text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", text)
    return re.sub(r"[ ]+$", "", re.sub(r"\d+\.\d+ s\b", "N s", text), flags=re.MULTILINE)
