"""The orderings that the reward must keep, and the exploits that must not pay."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from subworlds.envs import SubworldsEnv
from subworlds.envs.app import ServerSettings
from subworlds.envs.rubric import PARTIAL, CallRecord, EpisodeRubric, EpisodeSummary, RubricWeights
from subworlds.scenarios.manager import ManagerSettings
from subworlds.scenarios.tool import FailureKind
from subworlds.verifiers.verdict import Change, Outcome, Receipt, Verdict

_GOLD_CALLS = 3


def _changes(number: int) -> tuple[Change, ...]:
    return tuple(Change("loans", "insert", {"id": i}) for i in range(number))


def _calls(*failures: FailureKind | None) -> tuple[CallRecord, ...]:
    return tuple(CallRecord("tool", str(i), failure) for i, failure in enumerate(failures))


def _summary(
    outcome: Outcome = "incomplete",
    *,
    made: int = 0,
    missing: int = 0,
    collateral: int = 0,
    calls: tuple[CallRecord, ...] = (),
    gold_calls: int | None = _GOLD_CALLS,
    answer_matched: bool | None = None,
) -> EpisodeSummary:
    receipt = Receipt(made=_changes(made), missing=_changes(missing), collateral=_changes(collateral))
    return EpisodeSummary(Verdict(outcome, "", receipt, answer_matched), calls, gold_calls)


def _reward(summary: EpisodeSummary) -> float:
    reward = EpisodeRubric()(None, summary)
    assert isinstance(reward, float)
    return reward


def test_gold_earns_the_most_there_is() -> None:
    assert _reward(_summary("complete", made=2, calls=_calls(None, None, None))) == pytest.approx(1.0)


def test_doing_nothing_earns_nothing() -> None:
    assert _reward(_summary(missing=2)) == 0.0
    assert _reward(_summary()) == 0.0


def test_spam_of_valid_calls_earns_nothing() -> None:
    assert _reward(_summary(missing=2, calls=_calls(*[None] * 50))) == 0.0


def test_every_complete_episode_beats_every_incomplete_one() -> None:
    generator = random.Random(7)
    kinds = [None, *FailureKind]
    complete, incomplete = [], []
    for _ in range(500):
        calls = _calls(*generator.choices(kinds, k=generator.randrange(60)))
        complete.append(_reward(_summary("complete", made=1, calls=calls)))
        made, missing, collateral = (generator.randrange(8) for _ in range(3))
        incomplete.append(_reward(_summary(made=made, missing=missing, collateral=collateral, calls=calls)))
    assert min(complete) > max(incomplete)


def test_partial_credit_grows_with_required_changes_and_shrinks_with_damage() -> None:
    rewards = [_reward(_summary(made=made, missing=4 - made, calls=_calls(None))) for made in range(4)]
    assert all(low < high for low, high in itertools.pairwise(rewards))
    assert max(rewards) < PARTIAL
    damaged = [
        _reward(_summary(made=3, missing=1, collateral=damage, calls=_calls(None))) for damage in range(4)
    ]
    assert all(low > high for low, high in itertools.pairwise(damaged))
    assert damaged[-1] == 0.0


def test_a_wrong_answer_halves_the_partial_credit() -> None:
    rewards = {
        matched: _reward(_summary(made=3, missing=1, calls=_calls(None), answer_matched=matched))
        for matched in (None, True, False)
    }
    assert rewards[True] == rewards[None] == pytest.approx(2 * rewards[False])


def test_hammering_the_only_write_without_an_answer_earns_next_to_nothing() -> None:
    """The first call made what was required; the world refused the other 19, or let them pass."""
    once = CallRecord("place_hold", "{}", None)
    again = CallRecord("place_hold", "{}", FailureKind.TOOL_FAILED)
    for other in (once, again):
        calls = (once, *[other] * 19)
        assert _reward(_summary(made=1, calls=calls, gold_calls=12, answer_matched=False)) <= 0.2


@pytest.mark.parametrize(
    ("failures", "component"),
    [
        ([FailureKind.TOOL_FAILED], "process"),
        ([FailureKind.TOOL_NOT_FOUND], "format"),
        ([FailureKind.INVALID_ARGUMENTS], "format"),
        ([None] * _GOLD_CALLS, "efficiency"),
    ],
)
def test_each_fault_lowers_its_own_component(failures: list[FailureKind | None], component: str) -> None:
    rubric = EpisodeRubric()
    rubric(None, _summary("complete", made=1, calls=_calls(None, *failures)))
    scores = rubric.components()
    assert scores[component] < 1.0
    assert scores["task"] == 1.0


def test_repeating_a_failed_call_costs_more_than_failing_once() -> None:
    once = CallRecord("renew", "{}", FailureKind.INVALID_ARGUMENTS)
    other = CallRecord("renew", "{1}", FailureKind.INVALID_ARGUMENTS)
    repeated = _reward(_summary("complete", made=1, calls=(once, once, once)))
    varied = _reward(_summary("complete", made=1, calls=(once, other, CallRecord("x", "", once.failure))))
    assert repeated < varied


def test_fewer_calls_than_gold_earn_no_bonus() -> None:
    few = _reward(_summary("complete", made=1, calls=_calls(None)))
    assert few == _reward(_summary("complete", made=1, calls=_calls(None, None, None))) == pytest.approx(1.0)


def test_components_are_within_bounds_and_sum_to_the_reward() -> None:
    rubric = EpisodeRubric()
    reward = rubric(None, _summary(made=2, missing=1, calls=_calls(None, FailureKind.TOOL_FAILED)))
    scores = rubric.components()
    assert set(scores) == {"task", "process", "format", "efficiency"}
    assert all(0.0 <= score <= 1.0 for score in scores.values())
    assert reward == pytest.approx(
        sum(getattr(rubric.weights, name) * score for name, score in scores.items())
    )


@pytest.mark.parametrize("weights", [(0.5, 0.5, 0.5, 0.5), (0.3, 0.3, 0.2, 0.2), (1.2, -0.2, 0.0, 0.0)])
def test_weights_that_break_the_orderings_are_refused(weights: tuple[float, float, float, float]) -> None:
    with pytest.raises(ValueError, match="weight"):
        RubricWeights(*weights)


async def test_a_server_pays_by_the_weights_it_is_given(
    serve: Callable[..., AbstractContextManager[str]], worlds: Path
) -> None:
    """A complete episode with one refused call: only the process component falls short."""
    weights = RubricWeights(task=0.5, process=0.3, format=0.1, efficiency=0.1)
    settings = ServerSettings(manager=ManagerSettings(warm=False), weights=weights)
    with serve([worlds], settings) as url:
        async with SubworldsEnv(base_url=url) as env:
            await env.reset(task="kiosk/sell-apples")
            await env.call_tool("sell", good_id=3)
            await env.call_tool("sell", good_id=1, quantity=3)
            end = await env.done()
    assert end.observation.components == {"task": 1.0, "process": 0.5, "format": 1.0, "efficiency": 1.0}
    assert end.reward == pytest.approx(0.5 + 0.3 * 0.5 + 0.1 + 0.1)
