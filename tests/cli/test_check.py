"""`subworlds check`: an author hears what is wrong with a pack, where, why, and what to do.

Most tests look at one run over a pack of many small worlds, each broken in one way.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from .conftest import Command

SUBWORLDS = Path(sys.executable).with_name("subworlds")
READ, WRITE = "part-in-stock-001", "finish-job-001"
"""The tasks of the worlds here: one reads, one writes."""

Line: TypeAlias = dict[str, Any]
Change: TypeAlias = Callable[["Broken"], object]


@dataclass(frozen=True)
class Broken:
    """A world that a test breaks."""

    folder: Path

    def app(self, old: str, new: str) -> None:
        """Replace a piece of the app."""
        self._replace("app.py", old, new)

    def file(self, name: str, old: str, new: str) -> None:
        self._replace(name, old, new)

    def tool(self, code: str) -> None:
        """Add routes to the app."""
        with (self.folder / "app.py").open("a") as app:
            app.write("\n\n" + code)

    def tasks(self) -> dict[str, Line]:
        lines = map(json.loads, (self.folder / "tasks.jsonl").read_text().splitlines())
        return {line["id"].partition("/")[2]: line for line in lines}

    def write(self, tasks: Iterator[Line] | list[Line]) -> None:
        (self.folder / "tasks.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in tasks))

    def task(self, slug: str, **changes: Any) -> None:
        """Change fields of one task."""
        tasks = self.tasks()
        tasks[slug] |= changes
        self.write(list(tasks.values()))

    def copy_of(self, slug: str, **changes: Any) -> None:
        """Add a task that is like another."""
        tasks = self.tasks()
        self.write([*tasks.values(), {**tasks[slug], "id": f"{self.folder.name}/copy", **changes}])

    def _replace(self, name: str, old: str, new: str) -> None:
        text = (self.folder / name).read_text()
        assert old in text
        (self.folder / name).write_text(text.replace(old, new))


COUNTING = """
calls = 0

@app.get("/calls", operation_id="count_calls")
def count_calls() -> int:
    \"\"\"How often it was asked.\"\"\"
    global calls
    calls += 1
    return calls
"""
REMEMBERING = """
seen: list[str] = []

@app.get("/recent", operation_id="note_look")
def note_look() -> str:
    \"\"\"Note that somebody looked.\"\"\"
    seen.append("x")
    return "noted"
"""
FAILING = """
@app.get("/broken", operation_id="sum_up")
def sum_up() -> int:
    \"\"\"Sum up the day.\"\"\"
    return undefined_name
"""
BY_CHANCE = """
@app.get("/ticket", operation_id="draw_ticket")
def draw_ticket() -> str:
    \"\"\"A ticket.\"\"\"
    return str(id(object()))
"""
ENDING = """
@app.get("/end", operation_id="end_day")
def end_day() -> str:
    \"\"\"End the day.\"\"\"
    import os
    os._exit(3)
"""
SHADOWED = """
@app.get("/jobs/latest", operation_id="latest_job")
def latest_job() -> int:
    \"\"\"The newest job.\"\"\"
    return 1
"""
TAKEN = """
@app.get("/again", operation_id="list_jobs")
def jobs_again() -> int:
    \"\"\"A second tool of the same name.\"\"\"
    return 1
"""


def with_verifier(world: Broken, body: str) -> None:
    (world.folder / "verifiers.py").write_text(f"def verify_it(initial, final):\n    {body}\n")
    world.task(WRITE, verify={"kind": "python", "file": "verifiers.py", "function": "verify_it"})


def always_true(world: Broken) -> None:
    (world.folder / "verifiers.py").write_text(
        "def verify_it(initial, final):\n    return {'result': 'complete'}\n"
    )
    world.task(WRITE, verify={"kind": "python", "file": "verifiers.py", "function": "verify_it"})


def raising(world: Broken) -> None:
    with_verifier(world, "return 1 / 0")


def by_chance(world: Broken) -> None:
    world.app("due=(today + REPAIR_TIME).isoformat()", "due=str(id(object()))")
    tasks = world.tasks()
    gold = [{"tool": "book_job", "arguments": {"bike_id": 1, "work": "new lights"}}]
    world.write([*tasks.values(), {**tasks[WRITE], "id": f"{world.folder.name}/book", "prompt": "Book it.",
                                   "solution": gold}])  # fmt: skip


def sql(**fields: Any) -> Line:
    return {
        "kind": "sql",
        "assert": [{"sql": "SELECT status FROM jobs WHERE id = 35", "equals": "ready"}],
        **fields,
    }


def task(slug: str, **changes: Any) -> Change:
    return lambda world: world.task(slug, **changes)


def tool(code: str) -> Change:
    return lambda world: world.tool(code)


def edit(file: str, old: str, new: str) -> Change:
    return lambda world: world.file(file, old, new)


def calls(*named: tuple[str, Line]) -> list[Line]:
    return [{"tool": name, "arguments": arguments} for name, arguments in named]


def state(**fields: Any) -> Line:
    return {"kind": "state", **fields}


SADDLE = task(
    READ,
    prompt="The saddle costs 42.5. What does the saddle cost?",
    solution=calls(("find_parts", {"query": "saddle"})),
    answer={"number": 42.5},
)
REFUSED = calls(("get_job", {"job_id": 1}), ("finish_job", {"job_id": 1}))
BREAKAGES: Mapping[str, tuple[Change, str, str]] = {
    "sound": (lambda world: None, "", ""),
    "bad_seed": (edit("seed.sql", "INTO policy", "INTO rules"), "seed.sql", "world-does-not-start"),
    "bad_app": (edit("app.py", "= create_engine", "= create_motor"), "app.py", "world-does-not-start"),
    "same_tool_twice": (tool(TAKEN), "app.py: list_jobs", "tool-lost"),
    "same_route_twice": (tool(SHADOWED), "app.py: latest_job", "route-shadowed"),
    "tool_that_raises": (tool(FAILING), "app.py: sum_up", "tool-never-succeeds"),
    "tool_that_ends": (tool(ENDING), "app.py: end_day", "tool-never-succeeds"),
    "counts_calls": (tool(COUNTING), "app.py: count_calls", "hidden-state"),
    "keeps_a_list": (tool(REMEMBERING), "app.py", "keeps-memory"),
    "by_chance": (by_chance, "tasks.jsonl: solution", "nondeterministic"),
    "draws_by_chance": (tool(BY_CHANCE), "app.py: draw_ticket", "nondeterministic"),
    "unfinished_schema": (
        edit("schema.sql", ");\n\nCREATE TABLE bikes", ")\n\nCREATE TABLE bikes"),
        "schema.sql",
        "world-does-not-start",
    ),
    "answers_no_question": (task(WRITE, solution=[]), "tasks.jsonl: solution", "invalid"),
    "calls_by_text": (task(WRITE, solution="finish_job(35)"), "tasks.jsonl: solution", "invalid"),
    "unknown_tool": (
        task(READ, solution=calls(("find_part", {}))),
        "tasks.jsonl: solution[0].tool",
        "unknown-tool",
    ),
    "wrong_arguments": (
        task(READ, solution=calls(("find_parts", {"q": "bell"}))),
        "tasks.jsonl: solution[0].arguments",
        "wrong-arguments",
    ),
    "refused_gold": (task(WRITE, solution=REFUSED), "tasks.jsonl: solution[1]", "gold-fails"),
    "other_gold": (task(WRITE, verify=sql(may_change=["parts"])), "tasks.jsonl: solution", "gold-incomplete"),
    "passes_idle": (always_true, "tasks.jsonl", "passes-idle"),
    "raising_verifier": (raising, "tasks.jsonl: verify", "verifier-fails"),
    "ignores_no_table": (
        task(WRITE, verify=state(ignore={"job": ["due_on"]})),
        "tasks.jsonl: verify.ignore.job",
        "unknown-table",
    ),
    "ignores_no_column": (
        task(WRITE, verify=state(ignore={"jobs": ["due"]})),
        "tasks.jsonl: verify.ignore.jobs",
        "unknown-column",
    ),
    "no_natural_key": (
        task(WRITE, verify=state(natural_keys=["job_parts"])),
        "tasks.jsonl: verify.natural_keys",
        "needless-natural-key",
    ),
    "may_change_nothing": (
        task(WRITE, verify=sql(may_change=["jobs", "bills"])),
        "tasks.jsonl: verify.may_change",
        "unknown-table",
    ),
    "says_the_answer": (SADDLE, "tasks.jsonl: prompt", "prompt-has-answer"),
    "says_the_query": (
        task(READ, prompt="SELECT stock FROM parts WHERE name = 'bell'"),
        "tasks.jsonl: prompt",
        "prompt-has-sql",
    ),
    "says_the_tool": (
        task(WRITE, prompt="Call finish_job for the bike of Hugo Martins."),
        "tasks.jsonl: prompt",
        "prompt-names-tool",
    ),
    "asks_twice": (lambda world: world.copy_of(READ), "tasks.jsonl: prompt", "prompt-repeated"),
    "asks_for_two_things": (
        lambda world: world.copy_of(READ, answer={"number": 9}),
        "tasks.jsonl: prompt",
        "prompt-ambiguous",
    ),
}
"""By world: how it is broken, where the finding is, and of which kind; none for the sound one."""


def begin(parent: Path, name: str) -> Broken:
    """A new world with two of the tasks that `subworlds new` gives."""
    subprocess.run([SUBWORLDS, "new", name, "--in", parent], check=True, capture_output=True)
    world = Broken(parent / name)
    (world.folder / "scenario.json").write_text(
        json.dumps(
            {"name": name, "title": "Bikes", "description": "A workshop.", "clock": "2026-03-02T09:00:00Z"}
        )
    )
    kept = world.tasks()
    world.write([kept[READ], kept[WRITE]])
    return world


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Broken:
    return begin(tmp_path_factory.mktemp("first"), "sound")


@pytest.fixture
def world(first: Broken, tmp_path: Path) -> Broken:
    """A sound world, to break."""
    return Broken(shutil.copytree(first.folder, tmp_path / "sound"))


@pytest.fixture(scope="module")
def report(first: Broken, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Line]]:
    """What one check of all broken worlds finds, by world."""
    pack = tmp_path_factory.mktemp("pack")
    for name, (break_it, _, _) in BREAKAGES.items():
        copy = Broken(shutil.copytree(first.folder, pack / name))
        for file in copy.folder.iterdir():
            if file.is_file():
                text = file.read_text().replace('"sound"', f'"{name}"').replace('"sound/', f'"{name}/')
                file.write_text(text)
        break_it(copy)
    ran = subprocess.run([SUBWORLDS, "check", pack, "--json"], capture_output=True, text=True, check=False)
    assert ran.returncode == 1, ran.stderr
    told = json.loads(ran.stdout)
    assert (told["worlds"], told["tasks"] > 2 * len(BREAKAGES)) == (len(BREAKAGES), True)
    found: dict[str, list[Line]] = {name: [] for name in BREAKAGES}
    for finding in told["findings"]:
        path = Path(finding["file"]).relative_to(pack)
        found[path.parts[0]].append({**finding, "file": "/".join(path.parts[1:])})
    return found


@pytest.mark.parametrize("name", BREAKAGES)
def test_each_broken_world_is_told_with_place_reason_and_remedy(
    name: str, report: dict[str, list[Line]]
) -> None:
    _, place, kind = BREAKAGES[name]
    others = {"hidden-state"} if kind == "nondeterministic" else set()  # which may look like it, too
    assert {finding["kind"] for finding in report[name]} - others == ({kind} if kind else set()), report[name]
    if not kind:
        return
    finding = next(finding for finding in report[name] if finding["kind"] == kind)
    told = finding["file"] if finding["field"] is None else f"{finding['file']}: {finding['field']}"
    assert told.startswith(place)
    assert finding["severity"] in ("error", "warning")
    assert finding["reason"]
    assert finding["remedy"].endswith(".")
    assert finding["line"] is not None or name in ("keeps_a_list", "bad_seed")


def test_sound_world_exits_with_0_and_says_so(subworlds: Command, world: Broken) -> None:
    ran = subworlds("check", world.folder)
    assert (ran.status, ran.err) == (0, "")
    assert "checked 1 world, 2 tasks" in ran.out
    assert ran.out.endswith("nothing found\n")


def test_page_for_people_shows_the_line_and_the_remedy(subworlds: Command, world: Broken) -> None:
    world.task(WRITE, prompt="Call finish_job for Hugo.", difficulty="hardest")
    ran = subworlds("check", world.folder)
    file = world.folder / "tasks.jsonl"
    assert ran.status == 1
    assert f"error  {file}:2: difficulty: expected 'easy', 'medium' or 'hard', found 'hardest'\n" in ran.out
    assert "Write easy, medium or hard, or leave the field out." in ran.out


def link_out(world: Broken, name: str) -> None:
    os.rename(world.folder / name, world.folder.parent / name)
    os.symlink(Path("..") / name, world.folder / name)


UNREADABLE: dict[str, Change] = {
    "a line that is not JSON": lambda world: world.file("tasks.jsonl", '{"id"', '{id"'),
    "a schema with an open quote": lambda world: world.file("schema.sql", "DEFAULT 'open'", "DEFAULT 'open"),
    "an app that is not Python": lambda world: world.app("def read_policy", "def def"),
    "a file that is not UTF-8": lambda world: (world.folder / "seed.sql").write_bytes(b"\xff"),
    "a file that is missing": lambda world: os.unlink(world.folder / "app.py"),
    "a certificate that was cut off": lambda world: (world.folder / "certificate.json").write_text("{"),
    "a file that lies elsewhere": lambda world: link_out(world, "seed.sql"),
    "a scenario that is a list": lambda world: (world.folder / "scenario.json").write_text("["),
}


@pytest.mark.parametrize("how", UNREADABLE)
def test_unreadable_packs_exit_with_2(how: str, subworlds: Command, world: Broken) -> None:
    UNREADABLE[how](world)
    ran = subworlds("check", world.folder, "--json")
    assert ran.status == 2
    assert "could not be read" in ran.err
    assert "unreadable" in Counter(finding["kind"] for finding in ran.json["findings"])


@pytest.mark.parametrize("indent", [None, 1])
def test_tasks_that_go_over_several_lines_are_told_once(
    subworlds: Command, world: Broken, indent: int | None
) -> None:
    tasks = [json.dumps(line, indent=indent) for line in world.tasks().values()]
    (world.folder / "tasks.jsonl").write_text(f"[\n{f',{os.linesep}'.join(tasks)}\n]\n")
    ran = subworlds("check", world.folder, "--json")
    told = [finding for finding in ran.json["findings"] if finding["kind"] == "unreadable"]
    assert ran.status == 2
    assert next((finding["line"], "one whole object" in finding["reason"]) for finding in told) == (1, True)
    assert len(ran.json["findings"]) <= 2


def test_path_that_is_none_exits_with_2(subworlds: Command, tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere", tmp_path):
        ran = subworlds("check", path, "--json")
        assert ran.status == 2
        assert [finding["file"] for finding in ran.json["findings"]] == [str(path)]


def test_two_worlds_of_one_name_are_told(subworlds: Command, world: Broken, first: Broken) -> None:
    ran = subworlds("check", first.folder, world.folder, "--json")
    assert ran.status == 1
    assert [finding["kind"] for finding in ran.json["findings"]] == ["name-taken"]


def test_duplicate_ids_and_reserved_names_are_findings(subworlds: Command, world: Broken) -> None:
    tasks = list(world.tasks().values())
    world.write([*tasks, {**tasks[0], "prompt": "Once more?"}])
    world.tool('@app.get("/done", operation_id="done")\ndef done() -> int:\n    return 1\n')
    ran = subworlds("check", world.folder, "--json")
    assert ran.status == 1
    places = {(Path(finding["file"]).name, finding["line"]) for finding in ran.json["findings"]}
    assert {("tasks.jsonl", 3)} < places
    assert "app.py" in {name for name, _ in places}
    assert "is reserved" in ran.out
