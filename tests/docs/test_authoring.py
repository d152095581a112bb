"""docs/authoring.md, followed by a newcomer: every command and every block, in order."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from subworlds.scenarios.errors import Problem
from subworlds.scenarios.fields import Fields, Place
from subworlds.scenarios.native_tasks import read_task

from ..scenarios.generated_awm import write_awm_folder
from .conftest import ROOT

PAGE = (ROOT / "docs" / "authoring.md").read_text()
SUBWORLDS = Path(sys.executable).with_name("subworlds")


@dataclass(frozen=True)
class Step:
    """A fenced block, and what the comment before it says to do with it."""

    language: str
    text: str
    order: str


def steps() -> Iterator[Step]:
    pattern = r"(?:^<!-- ([^\n]*) -->\n)?^```(\w+)\n(.*?)^```$"
    for found in re.finditer(pattern, PAGE, re.DOTALL | re.MULTILINE):
        yield Step(found[2], found[3], found[1] or "")


@dataclass
class Newcomer:
    """Somebody in an empty folder, who does what the page says."""

    folder: Path
    seen: str = ""
    """What the last command or program printed."""
    server: list[subprocess.Popen[str]] = field(default_factory=list)
    url: str = ""

    def follow(self, step: Step) -> None:
        verb, _, file = step.order.partition(" my_pack/")
        match step.language, verb:
            case "console", "":
                for line in step.text.splitlines():
                    self.type_in(line)
            case "text", "":
                self.find(step.text)
            case "python", "":
                self.seen = self.run(
                    [sys.executable, "-c", step.text.replace("http://127.0.0.1:8000", self.url)], 0
                )
            case "diff", "change":
                self.change(self.folder / "my_pack" / file, step.text)
            case _, "append to":
                with (self.folder / "my_pack" / file).open("a") as opened:
                    opened.write(step.text)
            case "json", "a task line":
                self.read_as_a_task(step.text)
            case _:
                pytest.fail(f"nobody knows what to do with {step}")

    def type_in(self, line: str) -> None:
        """Run a command of the page; it exits with 0, unless the line says otherwise."""
        command = re.fullmatch(r"\$ subworlds (.*?)(?:  # exits with (\d))?", line)
        assert command is not None, line
        arguments = command[1].split()
        if arguments[0] == "serve":
            self.serve([*arguments, "--port", "0"])
        else:
            self.seen = self.run([SUBWORLDS, *arguments], int(command[2] or 0))

    def run(self, command: list[str | Path], status: int) -> str:
        ran = subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False
        )
        assert ran.returncode == status, f"{command}\n{ran.stdout}\n{ran.stderr}"
        return ran.stdout

    def find(self, text: str) -> None:
        """Look for each line of what the page shows in what was printed."""
        for line in text.splitlines():
            assert line in self.seen

    def change(self, file: Path, diff: str) -> None:
        before = "".join(line[1:] for line in diff.splitlines(keepends=True) if line[0] in " -")
        after = "".join(line[1:] for line in diff.splitlines(keepends=True) if line[0] in " +")
        text = file.read_text()
        assert text.count(before) == 1
        file.write_text(text.replace(before, after))

    def read_as_a_task(self, text: str) -> None:
        problems: list[Problem] = []
        fields = Fields(json.loads(text), Place(problems, "tasks.jsonl"))
        assert read_task(fields, "my_pack", 0, self.folder / "my_pack") is not None
        assert problems == []

    def serve(self, arguments: list[str]) -> None:
        server = subprocess.Popen(
            [SUBWORLDS, *arguments], cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, text=True
        )
        self.server.append(server)
        ready = re.search(r"http://\S+", server.stdout.readline())
        assert ready is not None
        self.url = ready[0]

    def leave(self) -> None:
        """Stop what was started; a server ends in good order."""
        for server in self.server:
            with server:
                server.send_signal(signal.SIGTERM)
                assert server.wait(60) == 0

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "XDG_CACHE_HOME": str(self.folder / "cache"), "COLUMNS": "120"}


@pytest.fixture
def newcomer(tmp_path: Path) -> Iterator[Newcomer]:
    newcomer = Newcomer(tmp_path)
    yield newcomer
    newcomer.leave()


@pytest.mark.timeout(1500)
def test_newcomer_follows_the_page_from_new_to_serve(newcomer: Newcomer) -> None:
    write_awm_folder(newcomer.folder / "path" / "to" / "awm", 1)
    for step in steps():
        newcomer.follow(step)


def test_readme_leads_to_the_page_and_the_page_names_what_is_there() -> None:
    assert "docs/authoring.md" in (ROOT / "README.md").read_text()
    for path in re.findall(r"`(docs/[\w/.]*)`", PAGE):
        assert (ROOT / path).exists(), path
