"""Which tasks come when, and what a resumed run makes of it."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

from subworlds.training.curriculum import (
    Curriculum,
    CurriculumLost,
    CurriculumSampler,
    CurriculumSettings,
    Level,
)

DIFFICULTIES = ["hard", "easy", "medium", "easy", None, "hard", "easy"]
SETTINGS = CurriculumSettings(window=4, seed=3)


def levels(curriculum: Curriculum, count: int, *, skip: int = 0) -> Counter[str]:
    """How many tasks of each level are drawn."""
    return Counter(
        curriculum.difficulties[place] or "medium" for place in islice(curriculum.draws(), skip, skip + count)
    )


def earned(level: str, *rewards: float) -> list[tuple[str | None, float]]:
    return [(level, reward) for reward in rewards]


def test_only_easy_tasks_come_at_first_and_each_before_any_comes_again() -> None:
    curriculum = Curriculum(DIFFICULTIES, SETTINGS)
    places = list(islice(curriculum.draws(), 30))
    assert all(sorted(places[start : start + 3]) == [1, 3, 6] for start in range(0, 30, 3))
    assert len({tuple(places[start : start + 3]) for start in range(0, 30, 3)}) > 1


def test_level_opens_when_a_full_window_earned_enough() -> None:
    curriculum = Curriculum(DIFFICULTIES, SETTINGS)
    curriculum.learn(earned("easy", 0.9, 0.9, 0.9))
    assert curriculum.newest is Level.EASY  # the window is not full
    curriculum.learn(earned("medium", 1.0) + earned("hard", 1.0))
    assert curriculum.newest is Level.EASY  # that was not its level
    curriculum.learn(earned("easy", 0.0))
    assert curriculum.newest is Level.MEDIUM
    curriculum.learn(earned("easy", 1.0, 1.0, 1.0, 1.0))
    assert curriculum.newest is Level.MEDIUM  # begins anew, with its own
    curriculum.learn(earned("medium", 1.0, 0.2, 0.3, 0.3, 0.3))
    assert (curriculum.newest, curriculum.mean_reward) == (Level.MEDIUM, pytest.approx(0.275))
    curriculum.learn(earned("medium", 0.5, 0.5))
    assert curriculum.newest is Level.HARD


def test_reward_of_exactly_the_threshold_does_not_pass() -> None:
    curriculum = Curriculum(DIFFICULTIES, CurriculumSettings(window=2, threshold=0.5))
    curriculum.learn(earned("easy", 0.5, 0.5))
    assert curriculum.newest is Level.EASY


def test_no_open_level_is_starved() -> None:
    curriculum = Curriculum(DIFFICULTIES, SETTINGS)
    curriculum.learn(earned("easy", *[1.0] * 4))
    assert levels(curriculum, 100) == {"easy": 40, "medium": 60}
    curriculum.learn(earned("medium", *[1.0] * 4))
    found = levels(curriculum, 100, skip=100)
    assert found == {"easy": 20, "medium": 20, "hard": 60}
    assert all(levels(curriculum, 10, skip=start)["easy"] >= 1 for start in range(100, 200, 10))


def test_level_without_tasks_is_passed_over() -> None:
    curriculum = Curriculum(["hard", "easy"], SETTINGS)
    curriculum.learn(earned("easy", *[1.0] * 4))
    assert curriculum.newest is Level.HARD
    curriculum.learn(earned("hard", *[1.0] * 4))
    assert curriculum.newest is Level.HARD  # there is no other
    with pytest.raises(ValueError, match="needs tasks"):
        Curriculum([])


def test_sampler_repeats_each_task_as_grpo_wants() -> None:
    sampler = CurriculumSampler(
        Curriculum(DIFFICULTIES, SETTINGS), prompts=2, generations=3, repeats=2, batches=4
    )
    rows = list(sampler)
    assert len(rows) == len(sampler) == 48
    batch = rows[:6]
    assert rows[6:12] == batch
    assert len(set(batch[:3])) == len(set(batch[3:])) == 1
    assert batch[0] != batch[3]


def test_resumed_run_draws_what_it_would_have_drawn(tmp_path: Path) -> None:
    curriculum = Curriculum(DIFFICULTIES, SETTINGS)
    draws = curriculum.draws()
    before = list(islice(draws, 10))
    curriculum.learn(earned("easy", *[1.0] * 4))
    before += islice(draws, 7)
    curriculum.learn(earned("medium", 0.1, 0.2))
    curriculum.save(tmp_path)
    after = list(islice(draws, 40))

    resumed = Curriculum(DIFFICULTIES, SETTINGS)
    resumed.load(tmp_path)
    assert (
        resumed.figures()
        == curriculum.figures()
        == {
            "curriculum/level": 1.0,
            "curriculum/reward": pytest.approx(0.15),
        }
    )
    again = resumed.draws()
    assert list(islice(again, 17)) == before
    assert list(islice(again, 40)) == after
    assert {DIFFICULTIES[place] for place in before[:10]} == {"easy"}


def test_checkpoint_without_a_curriculum_or_with_another_cannot_be_gone_on_from(tmp_path: Path) -> None:
    with pytest.raises(CurriculumLost, match="cannot be read"):
        Curriculum(DIFFICULTIES).load(tmp_path)
    Curriculum(DIFFICULTIES).save(tmp_path)
    with pytest.raises(CurriculumLost, match="other tasks"):
        Curriculum(DIFFICULTIES[1:]).load(tmp_path)
    (tmp_path / "curriculum.json").write_text("{")
    with pytest.raises(CurriculumLost, match="cannot be read"):
        Curriculum(DIFFICULTIES).load(tmp_path)
