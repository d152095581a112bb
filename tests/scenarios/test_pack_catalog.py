"""Several packs together: looking up scenarios and tasks, and what cannot be together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from subworlds.scenarios.errors import PackError, UnknownScenario, UnknownTask
from subworlds.scenarios.pack import BUILTIN_PACKS, Catalog


def write_pack(pack: Path, scenario: str, *splits: str) -> Path:
    """A pack of one scenario that has a task in each split, called task-0, task-1 …"""
    folder = pack / scenario
    folder.mkdir(parents=True)
    about = {"name": scenario, "title": scenario, "description": scenario}
    (folder / "scenario.json").write_text(json.dumps(about))
    (folder / "schema.sql").write_text("CREATE TABLE a (x);")
    (folder / "seed.sql").touch()
    (folder / "app.py").write_text("app = 1")
    tasks = [
        {"id": f"{scenario}/task-{i}", "prompt": "Do it.", "split": split, "solution": [{"tool": "add"}]}
        for i, split in enumerate(splits)
    ]
    (folder / "tasks.jsonl").write_text("\n".join(map(json.dumps, tasks)))
    return pack


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    shop = write_pack(tmp_path / "one", "shop", "train", "zebra", "test")
    library = write_pack(tmp_path / "two", "library", "test", "apple", "train", "validation")
    return Catalog.load([shop, library])


def test_packs_are_merged_in_the_order_given(catalog: Catalog) -> None:
    assert list(catalog.scenarios) == ["shop", "library"]
    assert [task.id for task in catalog.tasks_of("library")] == [f"library/task-{i}" for i in range(4)]
    assert len(catalog.tasks) == 7
    assert catalog.scenario("shop").title == "shop"
    assert catalog.task("shop/task-1").index == 1
    assert [pack.path.name for pack in catalog.packs] == ["one", "two"]


def test_usual_splits_come_first_then_others_by_name(catalog: Catalog) -> None:
    assert catalog.splits() == ("train", "validation", "test", "apple", "zebra")
    assert [task.id for task in catalog.tasks_in("train")] == ["shop/task-0", "library/task-2"]
    assert catalog.tasks_in("nothing") == ()


def test_empty_catalog_serves_nothing() -> None:
    catalog = Catalog.load([])
    assert (catalog.scenarios, catalog.tasks, catalog.splits()) == ({}, {}, ())


def test_unknown_scenario_gets_suggestions(catalog: Catalog) -> None:
    with pytest.raises(UnknownScenario, match=r"^unknown scenario 'libary'; did you mean 'library'\?$"):
        catalog.scenario("libary")
    with pytest.raises(UnknownScenario, match=r"^unknown scenario 'zzz'$"):
        catalog.tasks_of("zzz")


def test_unknown_task_gets_suggestions(catalog: Catalog) -> None:
    with pytest.raises(UnknownTask, match=r"'library/task-9'; did you mean 'library/task-\d' or"):
        catalog.task("library/task-9")
    with pytest.raises(UnknownTask, match=r"'shpo/task-0'; did you mean 'shop/task-0'"):
        catalog.task("shpo/task-0")
    with pytest.raises(UnknownTask, match=r"^unknown task 'x{100}'$"):
        catalog.task("x" * 10_000)


def test_problems_of_all_packs_and_clashes_come_at_once(tmp_path: Path) -> None:
    good, twin = (write_pack(tmp_path / name, "shop", "train", "test") for name in ("good", "twin"))
    bad, worse = (write_pack(tmp_path / name, "clinic", "train") for name in ("bad", "worse"))
    (bad / "clinic" / "app.py").unlink()
    (worse / "clinic" / "app.py").write_text("def")
    with pytest.raises(PackError) as raised:
        Catalog.load([bad, good, twin, worse])
    assert [(p.file, p.reason) for p in raised.value.problems] == [
        (str(bad / "clinic" / "app.py"), "is missing"),
        (str(worse / "clinic" / "app.py"), "is not Python: invalid syntax"),
        (str(twin), f"scenario 'shop' is in {good} already, with 2 of its task ids"),
    ]


def test_builtin_packs_are_beside_the_code() -> None:
    assert (BUILTIN_PACKS.name, BUILTIN_PACKS.parent.name) == ("packs", "scenarios")
