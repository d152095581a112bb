"""The proof of learning: its worlds are sound, its parts do what they say, and the whole of it still runs."""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from subworlds.cli.main import app as subworlds
from subworlds.training.demonstrations import Habit, Mix, demonstrate
from subworlds.training.exposure import Exposure
from subworlds.training.payment import shuffled
from subworlds.training.proof.__main__ import main as prove
from subworlds.training.proof.copying import Exercise, exercises
from subworlds.training.proof.errands import KINDS
from subworlds.training.proof.renaming import Renaming
from subworlds.training.proof.runs import ARMS, TrainingSettings, training_words
from subworlds.training.proof.summary import PICTURES, SUMMARY, TABLE, redraw
from subworlds.training.proof.words import pools
from subworlds.training.proof.worlds import TierSettings, write_tier
from subworlds.training.solutions import Solution, read_solutions
from subworlds.training.tool_calls import ToolRequest, read_turn

SMALL = TierSettings(
    worlds={"train": 2, "validation": 1, "test": 1}, tasks={"train": 2, "validation": 1, "test": 1}
)
RESULTS = Path(__file__).parents[2] / "training" / "results"


@pytest.fixture(scope="module")
def tier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("proof") / "worlds"
    write_tier(folder, SMALL)
    return folder


# ---- Its worlds --------------------------------------------------------------------------------------------


def test_worlds_of_the_tier_pass_the_check_and_their_verifiers_the_certification(
    tier: Path,
) -> None:
    for words in (["check", str(tier)], ["certify", str(tier / "desk_test_00"), "--out", str(tier.parent)]):
        ran = CliRunner().invoke(subworlds, words)
        assert ran.exit_code == 0, ran.output


def test_no_word_of_a_test_world_is_in_a_world_of_another_split(tier: Path) -> None:
    texts = {
        split: "".join(file.read_text() for file in tier.glob(f"desk_{split}_*/*.*l"))
        for split in ("train", "validation", "test")
    }
    for split, words in pools().items():
        others = "".join(text for other, text in texts.items() if other != split)
        assert sum(word in texts[split] for word in words.tokens) > 30
        assert not [word for word in words.tokens if word in others]


def test_every_kind_has_as_many_tasks_as_asked_for_and_as_many_calls_as_its_level_says(tier: Path) -> None:
    lines = [
        json.loads(line) for file in tier.glob("*/tasks.jsonl") for line in file.read_text().splitlines()
    ]
    assert Counter(line["tags"][0] for line in lines) == {kind.name: 2 * 2 + 1 + 1 for kind in KINDS}
    calls = {"easy": {1, 2}, "medium": {3, 4}, "hard": {5, 6}}
    assert all(len(line["solution"]) in calls[line["difficulty"]] for line in lines)


def test_same_settings_give_the_same_files(tier: Path, tmp_path: Path) -> None:
    write_tier(tmp_path / "again", SMALL)
    files = [file.relative_to(tier) for file in sorted(tier.glob("*/*.*"))]
    assert files
    assert all((tier / file).read_bytes() == (tmp_path / "again" / file).read_bytes() for file in files)


def test_world_without_enough_different_tasks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="fewer than 50 different tasks of the kind"):
        write_tier(tmp_path / "tier", replace(SMALL, tasks={"train": 50, "validation": 1, "test": 1}))


# ---- What is taught ----------------------------------------------------------------------------------------


def test_copy_exercises_ask_only_for_what_stands_there() -> None:
    for row in exercises(60, range(10, 50), range(3), random.Random(1)):
        assert len(row.input_ids) == len(row.labels)
        learned = [(place, label) for place, label in enumerate(row.labels) if label != -100]
        assert learned
        for place, label in learned:
            assert row.input_ids[place] == label
            before = list(zip(row.input_ids[:place], row.input_ids[1:place], strict=False))
            assert (row.input_ids[place - 1], label) in before, "the same pair stood there before"


def test_renaming_gives_every_word_another_one_of_its_group_and_the_same_throughout() -> None:
    rename = Renaming((tuple(range(10, 40)), tuple(range(60, 90))))
    row = Exercise([1, 10, 60, 2, 10, 61], [-100, -100, -100, 2, 10, 61])
    told = rename(row, random.Random(3))
    assert [told.input_ids[place] for place in (0, 3)] == [1, 2]
    assert told.input_ids[1] == told.input_ids[4] in range(10, 40)
    assert told.input_ids[2] != told.input_ids[5]
    assert {told.input_ids[2], told.input_ids[5]} <= set(range(60, 90))
    assert told.labels == [-100, -100, -100, *told.input_ids[3:]]


def test_slips_leave_a_call_out_or_confuse_a_number_and_never_a_look_up(tier: Path) -> None:
    solution = next(each for each in read_solutions([tier]) if "/lend-two-" in each.task)
    seen: Counter[Habit | None] = Counter()
    for seed in range(40):
        turns = demonstrate(solution, [], Exposure.COMPACT, Mix(0, 0, slips=1.0), random.Random(seed))
        made = [request for turn in turns for request in read_turn(turn.text).requests]
        seen.update(turn.habit for turn in turns)
        missing = [call for call in solution.calls if call not in made]
        assert [call.name for call in missing] == ["lend"]
    assert seen[Habit.SKIPS] + seen[Habit.CONFUSES] == 40
    assert min(seen[Habit.SKIPS], seen[Habit.CONFUSES]) > 5


def test_solution_without_a_write_does_not_slip() -> None:
    asked = Solution("w/t", "w", "?", "easy", True, (ToolRequest("find_thing", {"name": "Xo"}),), "7")
    turns = demonstrate(asked, [], Exposure.COMPACT, Mix(0, 0, slips=1.0), random.Random(0))
    assert [turn.habit for turn in turns] == [None, None]
    assert turns[-1].text == "7"


# ---- What is paid ------------------------------------------------------------------------------------------


def test_shuffling_deals_a_tasks_rewards_among_its_episodes_and_none_to_what_is_invalid() -> None:
    rewards = [1.0, None, 0.0, 1.0, 0.0, 0.0, None, 0.0]
    tasks = [*"aaaaa", *"bbb"]
    dealt = [shuffled(rewards, tasks, random.Random(seed)) for seed in range(20)]
    for each in dealt:
        assert [place for place, reward in enumerate(each) if reward is None] == [1, 6]
        assert (sum(reward or 0 for reward in each[:5]), sum(reward or 0 for reward in each[5:])) == (2, 0)
    assert len({tuple(each) for each in dealt}) > 5


def test_a_run_that_was_stopped_is_resumed(tmp_path: Path) -> None:
    words = (tmp_path / "worlds", tmp_path / "model", tmp_path, ARMS[0], 0, TrainingSettings())
    assert "--resume" not in training_words(*words)
    (tmp_path / "checkpoint-10").mkdir()
    assert "--resume" in training_words(*words)


# ---- The whole, and what came of it ------------------------------------------------------------------------


@pytest.mark.timeout(1800)
def test_proof_runs_from_nothing_to_pictures_and_does_nothing_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prove(["--toy", "--output-dir", str(tmp_path / "proof")])
    results = tmp_path / "proof" / "results"
    found = json.loads((results / SUMMARY).read_text())
    assert set(found["arms"]) == {"success", "expert-fixed"}
    assert found["test_tasks"] == len(KINDS)
    assert {file.name for file in (results / PICTURES).iterdir()} >= {"success.png", "before_after.svg"}
    assert "| success | 1 |" in capsys.readouterr().out
    stages = (tmp_path / "proof" / "seconds.jsonl").read_text()

    prove(["--toy", "--output-dir", str(tmp_path / "proof")])
    assert (tmp_path / "proof" / "seconds.jsonl").read_text() == stages


def test_committed_figures_follow_from_the_committed_logs(tmp_path: Path) -> None:
    shutil.copytree(RESULTS, tmp_path / "results")
    redraw(tmp_path / "results")
    for name in (SUMMARY, TABLE):
        assert (tmp_path / "results" / name).read_text() == (RESULTS / name).read_text()
    drawn = {file.name for file in (tmp_path / "results" / PICTURES).iterdir()}
    assert drawn == {file.name for file in (RESULTS / PICTURES).iterdir()}


def test_readme_has_the_figures_of_the_committed_summary() -> None:
    assert (RESULTS / TABLE).read_text().strip() in (RESULTS.parents[1] / "README.md").read_text()
