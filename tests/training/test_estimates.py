"""Rates over tasks, held against what they are by definition."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

from subworlds.training.estimates import Attempts, estimate, estimate_over, pass_all, pass_at, success


@pytest.mark.parametrize(("played", "k"), [(1, 1), (2, 1), (2, 2), (5, 2), (5, 5), (8, 1), (8, 5)])
def test_pass_at_k_and_pass_all_k_count_the_draws_of_k_episodes(played: int, k: int) -> None:
    for solved in range(played + 1):
        draws = list(combinations([True] * solved + [False] * (played - solved), k))
        attempts = Attempts(solved, played)
        assert pass_at(k, attempts) == pytest.approx(sum(map(any, draws)) / len(draws))
        assert pass_all(k, attempts) == pytest.approx(sum(map(all, draws)) / len(draws))


def test_with_one_episode_all_rates_are_success() -> None:
    for solved in (0, 1):
        attempts = Attempts(solved, 1)
        assert success(attempts) == pass_at(1, attempts) == pass_all(1, attempts) == solved


def test_an_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    chance = random.Random(3)
    covered = 0
    for trial in range(200):
        found = estimate([float(chance.random() < 0.4) for _ in range(60)], seed=trial)
        assert found is not None
        assert found.low <= found.value <= found.high
        covered += found.low <= 0.4 <= found.high
    assert 175 <= covered <= 200


def test_the_same_values_have_the_same_interval() -> None:
    values = [0.0, 1.0, 0.5, 1.0]
    assert estimate(values) == estimate(values)


def test_nothing_to_average_is_no_estimate() -> None:
    assert estimate([]) is None
    assert estimate_over([Attempts(1, 1)], success, least=2) is None


def test_tasks_count_alike_however_often_they_were_played() -> None:
    found = estimate_over([Attempts(8, 8), Attempts(0, 1)], success)
    assert found is not None
    assert found.value == 0.5
