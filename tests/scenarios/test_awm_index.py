"""AWM folders too large to keep in memory: the index kept between starts, and what it must survive."""

from __future__ import annotations

import json
import os
import threading
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from subworlds.scenarios.awm import AwmReading
from subworlds.scenarios.errors import PackError, ScenarioError
from subworlds.scenarios.pack import Catalog
from subworlds.scenarios.task import JudgeCheck, PythonCheck

from .generated_awm import TASKS_EACH, name_of, write_awm_folder
from .test_pack_awm import Lines, lines_of, write

LARGE = int(os.environ.get("SUBWORLDS_AWM_TEST_SCENARIOS", "120"))
"""Scenarios of the large folder: 120 are 60 MB, 1000 (the real set) are 500 MB."""

Load = Callable[..., Catalog]


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def told() -> list[str]:
    """What loading said."""
    return []


@pytest.fixture
def load(cache: Path, told: list[str]) -> Load:
    def run(folder: Path, prefer_judge: bool = False) -> Catalog:
        return Catalog.load([folder], AwmReading(cache, prefer_judge, told.append))

    return run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return rewrite(tmp_path / "awm", lines_of("Zoo", "Toy Box"))


def rewrite(folder: Path, files: dict[str, Lines]) -> Path:
    folder.mkdir(exist_ok=True)
    return write(folder, files)


def settle(folder: Path) -> None:
    """Make every file look as if it had been written an hour ago… but for its ctime, which nobody can set."""
    for file in folder.iterdir():
        an_hour_ago = time.time() - 3600
        os.utime(file, (an_hour_ago, an_hour_ago))


def test_large_folder_is_known_in_an_instant_at_its_second_start(
    tmp_path: Path, load: Load, told: list[str]
) -> None:
    size = write_awm_folder(tmp_path / "large", LARGE)
    assert list(load(tmp_path / "large").scenarios) == [name_of(number) for number in range(LARGE)]
    assert len(told) == 1
    assert "to its end, once" in told[0]
    tracemalloc.start()
    started = time.process_time()
    catalog = load(tmp_path / "large")
    spent = time.process_time() - started
    kept, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(told) == 1
    assert len(catalog.tasks) == LARGE * TASKS_EACH
    assert most < max(4e6, size / 10), "what an index holds is a small part of its folder"
    assert kept < max(4e6, size / 20)
    assert spent < 3.0 * max(1.0, LARGE / 500)
    assert catalog.scenario(name_of(LARGE - 1)).app_source.startswith("from fastapi")
    task = catalog.task(f"{name_of(7)}/task-003")
    assert isinstance(task.check, PythonCheck)
    assert task.check.function == "verify_task_completion"


def test_what_is_read_with_an_index_is_what_is_read_without(folder: Path, load: Load) -> None:
    fresh, first, second = Catalog.load([folder]), load(folder), load(folder)
    for catalog in (first, second):
        assert dict(catalog.scenarios) == dict(fresh.scenarios)
        assert dict(catalog.tasks) == dict(fresh.tasks)
        assert catalog.task_entries == {id: task.entry for id, task in fresh.tasks.items()}


def test_index_tells_of_repairs_and_of_what_was_left_out(folder: Path, load: Load) -> None:
    files = lines_of("Zoo", "Toy Box")
    files["gen_sample.jsonl"][0]["sample_data"] = ["INSERT INTO a VALUES (1, 'isn't')"]
    files["gen_db.jsonl"][1]["db_schema"] = None
    files["gen_tasks.jsonl"][0]["tasks"] = ["First.", ""]
    rewrite(folder, files)
    (first,), (second,) = load(folder).packs, load(folder).packs
    assert (len(first.repairs), len(first.left_out)) == (1, 2)
    assert (second.repairs, second.left_out) == (first.repairs, first.left_out)


def test_folder_with_a_malformed_line_is_refused_at_every_start(folder: Path, load: Load) -> None:
    with (folder / "gen_verifier.pure_code.jsonl").open("a") as verifiers:
        verifiers.write('\n{"scenario": "zoo", oops\n')
    for _ in range(2):
        with pytest.raises(PackError, match=r"gen_verifier\.pure_code\.jsonl:5: is not JSON") as raised:
            load(folder)
        assert len(raised.value.problems) == 1


def test_rewritten_folder_is_read_anew(folder: Path, load: Load) -> None:
    settle(folder)
    load(folder)
    files = lines_of("Zoo", "Toy Box")
    files["gen_envs.jsonl"][1]["full_code"] = "app = 2"  # of the same length
    rewrite(folder, files)
    settle(folder)
    assert load(folder).scenario("toy_box").app_source == "app = 2"


def test_folder_that_changes_while_it_is_served_names_the_file(folder: Path, load: Load) -> None:
    catalog = load(folder)
    files = lines_of("Another Zoo", "Toy Box")
    rewrite(folder, files)
    with pytest.raises(ScenarioError, match=r"gen_envs\.jsonl:1: has changed since the folder was loaded"):
        catalog.scenario("zoo")
    (folder / "gen_verifier.pure_code.jsonl").unlink()
    with pytest.raises(ScenarioError, match=r"gen_verifier\.pure_code\.jsonl:\d: has changed"):
        catalog.task("zoo/task-000")


def test_replacing_file_of_the_same_size_is_noticed(folder: Path, load: Load, tmp_path: Path) -> None:
    catalog = load(folder)
    environments = folder / "gen_envs.jsonl"
    other = tmp_path / "other"
    other.write_text(environments.read_text().replace("app = 1", "app = 2"))
    times = environments.stat()
    os.utime(other, ns=(times.st_atime_ns, times.st_mtime_ns))
    os.replace(other, environments)
    with pytest.raises(ScenarioError, match="has changed"):
        catalog.scenario("zoo")
    assert load(folder).scenario("zoo").app_source == "app = 2"


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[: len(content) // 2],
        lambda content: content.replace(b"zoo", b"zoe"),
        lambda content: b"\xff" + content,
        lambda content: b"[" * 100_000,
        lambda content: content.replace(b"subworlds awm index ", b"subworlds awm index 9", 1),
    ],
)
def test_damaged_index_is_made_again(
    folder: Path, load: Load, cache: Path, damage: Callable[[bytes], bytes]
) -> None:
    load(folder)
    (index,) = cache.iterdir()
    whole = index.read_bytes()
    index.write_bytes(damage(whole))
    assert list(load(folder).scenarios) == ["zoo", "toy_box"]
    assert index.read_bytes() == whole


def test_index_may_be_deleted(folder: Path, load: Load, cache: Path) -> None:
    load(folder)
    (index,) = cache.iterdir()
    index.unlink()
    assert len(load(folder).tasks) == 4
    assert index.exists()


def test_folder_is_served_where_no_index_can_be_kept(
    folder: Path, load: Load, cache: Path, told: list[str]
) -> None:
    cache.write_text("a file, where the folder should be")
    assert len(load(folder).scenarios) == 2
    assert len(told) == 1
    assert f"the index of {folder} cannot be kept in {cache}: " in told[0]


def test_read_only_folder_is_indexed(folder: Path, load: Load) -> None:
    for path in (*folder.iterdir(), folder):
        path.chmod(0o500)
    try:
        assert len(load(folder).tasks) == len(load(folder).tasks) == 4
    finally:
        folder.chmod(0o700)


def test_servers_that_start_at_once_do_not_disturb_each_other(folder: Path, load: Load, cache: Path) -> None:
    found: list[list[str]] = []

    def start() -> None:
        for _ in range(10):
            catalog = load(folder)
            found.append([task.prompt for task in catalog.tasks.values()])
            for index in cache.glob("awm-*"):
                index.unlink(missing_ok=True)

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [["First.", "Second."] * 2] * 40
    assert not list(cache.glob(".awm-*")), "no unfinished file is left"


def test_folders_do_not_share_an_index(tmp_path: Path, load: Load, cache: Path) -> None:
    one = rewrite(tmp_path / "one", lines_of("Zoo"))
    two = rewrite(tmp_path / "two", lines_of("Toy Box"))
    assert [list(load(path).scenarios) for path in (one, two, one)] == [["zoo"], ["toy_box"], ["zoo"]]
    assert len(list(cache.iterdir())) == 2
    link = tmp_path / "link"
    link.symlink_to(one)
    assert list(load(link).scenarios) == ["zoo"]
    assert len(list(cache.iterdir())) == 2


def test_lines_are_found_after_blank_ones_and_marks_of_encoding(folder: Path, load: Load) -> None:
    environments = folder / "gen_envs.jsonl"
    environments.write_bytes(b"\n \r\n\xef\xbb\xbf" + environments.read_bytes().replace(b"\n", b"\r\n\n"))
    for _ in range(2):
        assert load(folder).scenario("toy_box").app_source == "app = 1"


def test_judged_verifier_serves_where_there_is_no_code_verifier(folder: Path, load: Load) -> None:
    evidence = "def verify_task(initial_db_path, final_db_path): return {}"
    judged = [
        {"scenario": "zoo", "task_idx": index, "verification": {"code": evidence}} for index in range(2)
    ]
    files = lines_of("Zoo")
    del files["gen_verifier.pure_code.jsonl"][0]
    rewrite(folder, files | {"gen_verifier.jsonl": judged})
    kinds = [entry.kind for entry in load(folder).entries_of("zoo")]
    assert kinds == ["python", "judge"]
    assert load(folder).task("zoo/task-001").check == JudgeCheck(evidence, "verify_task")
    preferred = load(folder, prefer_judge=True)
    assert [entry.kind for entry in preferred.entries_of("zoo")] == ["judge", "judge"]
    assert [type(task.check) for task in preferred.tasks_of("zoo")] == [JudgeCheck, JudgeCheck]


def test_scenario_that_is_played_again_is_not_read_again(folder: Path, load: Load) -> None:
    catalog = load(folder)
    assert catalog.scenario("zoo") is catalog.scenario("zoo")
    assert "missing" not in catalog.scenarios
    with pytest.raises(KeyError):
        catalog.scenarios["missing"]


def test_index_is_readable_by_its_owner_only(folder: Path, load: Load, cache: Path) -> None:
    load(folder)
    (index,) = cache.iterdir()
    assert (cache.stat().st_mode & 0o777, index.stat().st_mode & 0o777) == (0o700, 0o600)
    header, body = index.read_bytes().split(b"\n", 1)
    assert header.startswith(b"subworlds awm index ")
    assert set(json.loads(body)) == {"stamps", "digests", "index"}
