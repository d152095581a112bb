"""Sessions that are prepared before they are asked for, and verdicts that nobody waits for."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from subworlds.envs import SubworldsEnv
from subworlds.training.assignments import Assignment, assignment_dataset
from subworlds.training.limits import Limits
from subworlds.training.look_ahead import announced
from subworlds.training.rollout import Rollout, RolloutSettings
from subworlds.training.seats import Seats

from .conftest import APPLES, LIST_GOODS, PEAR, SELL_APPLES, Clerk, MakeTrainer, Write, noted, prompts, stats

SHORT = Limits(turns=4, turn_tokens=40, tokens=400, context=1_000)


@pytest.fixture
def resets(monkeypatch: pytest.MonkeyPatch) -> list[Assignment]:
    """What was reset, in order."""
    return noted(monkeypatch, Seats, "_reset", 1)


@pytest.fixture
def rollout(server_url: str) -> Iterator[Rollout]:
    with Rollout(RolloutSettings((server_url,), limits=SHORT)) as made:
        yield made


def test_an_expected_batch_is_reset_before_it_is_asked_for(
    rollout: Rollout, clerk: Clerk, write: Write, resets: list[Assignment]
) -> None:
    write(["Done."])
    rollout.expect(prompts(APPLES, PEAR))
    rollout(prompts(PEAR, APPLES), clerk)
    assert Counter(resets) == {APPLES: 1, PEAR: 1}


def test_a_wrong_guess_costs_no_more_than_its_reset(
    rollout: Rollout, server_url: str, clerk: Clerk, write: Write, resets: list[Assignment]
) -> None:
    write([SELL_APPLES], ["Done."])
    rollout.expect(prompts(PEAR, PEAR))
    (episode,) = rollout(prompts(APPLES), clerk)["episode"]
    assert episode.complete
    rollout(prompts(PEAR), clerk)
    assert Counter(resets) == {PEAR: 2, APPLES: 1}  # one of the guesses came true later
    for _ in range(3):
        rollout.expect(prompts(APPLES, APPLES))
        rollout.expect(prompts(PEAR))
    rollout(prompts(PEAR), clerk)
    assert stats(server_url)["connections"] <= 6
    rollout.close()
    assert _closed(server_url)


def test_a_session_that_could_not_be_prepared_is_started_when_it_is_needed(
    rollout: Rollout, clerk: Clerk, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused: list[int] = []
    start = Seats._start_here  # pyright: ignore[reportPrivateUsage]

    async def refuse_once(seats: Seats, seat: int, assignment: Assignment) -> Any:
        if len(refused) < 2:
            refused.append(seat)
            raise ConnectionError("no room")
        return await start(seats, seat, assignment)

    monkeypatch.setattr(Seats, "_start_here", refuse_once)
    write([SELL_APPLES], ["Done."])
    rollout.expect(prompts(APPLES))
    (episode,) = rollout(prompts(APPLES), clerk)["episode"]
    assert (episode.complete, len(refused)) == (True, 2)


def test_a_trainer_tells_of_the_next_batch_in_time(
    rollout: Rollout, make_trainer: MakeTrainer, resets: list[Assignment], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every session of every step was prepared: none is begun by the step itself."""
    trainer = make_trainer(rollout, APPLES, max_steps=4, shuffle_dataset=False)
    trainer.train_dataset = announced(assignment_dataset([APPLES, PEAR, APPLES, PEAR]), rollout)
    start, taken = Seats.start, list[bool]()

    def note(seats: Seats, number: int, assignment: Assignment) -> Any:
        before = len(resets)
        started = start(seats, number, assignment)
        taken.append(len(resets) == before)
        return started

    monkeypatch.setattr(Seats, "start", note)
    trainer.train()
    assert all(episode.valid for episode in rollout.latest)
    assert taken == [True] * 16
    assert Counter(resets) == {APPLES: 8, PEAR: 8}


def test_no_generation_waits_for_a_verdict(
    rollout: Rollout, clerk: Clerk, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The verdict on the episode that ends first comes only after the other has been written again."""
    generations = 0
    written_again = threading.Event()
    done = SubworldsEnv.done

    def count() -> None:
        nonlocal generations
        generations += 1
        if generations == 2:
            written_again.set()

    async def wait(env: SubworldsEnv, answer: str | None = None) -> Any:
        await asyncio.to_thread(written_again.wait)
        return await done(env, answer)

    monkeypatch.setattr(SubworldsEnv, "done", wait)
    write(["Done.", LIST_GOODS], ["Done."], meanwhile=count)
    episodes = rollout(prompts(APPLES, APPLES), clerk)["episode"]
    assert [episode.turns for episode in episodes] == [1, 2]
    assert all(episode.end is not None for episode in episodes)


def _closed(url: str) -> bool:
    """Whether all is closed by now, or soon."""
    for _ in range(100):
        found = stats(url)
        if found["sessions"] == found["connections"] == 0:
            return True
        asyncio.run(asyncio.sleep(0.05))
    return False
