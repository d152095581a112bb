"""Evaluation: an agent plays every task k times, and a report says how well it does, and how surely.

Episodes run at once over several connections. One that is invalid, since a world, a verifier or the endpoint
of the agent's model broke, is played once more; if it is invalid again, it is counted as such and kept out of
every rate. Nothing is scored 0 that was not the doing of the agent.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from statistics import fmean
from typing import Any, TypeAlias

from ..envs.client import SubworldsEnv
from ..envs.models import TaskCard
from .agents import CALL_LIMIT, Agent, EpisodeRecord, play_episode
from .estimates import Attempts, Estimate, estimate, estimate_over, pass_all, pass_at, success

_TRIES = 2
_GIVE_UP_AFTER = 8
"""Episodes in a row that an agent failed in."""
_BROKEN_FORMAT = "invalid_tool_call"

_Groups: TypeAlias = dict[str, list[EpisodeRecord]]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What to play, where, and how often."""

    tasks: Sequence[TaskCard]
    make_agent: Callable[[TaskCard], Agent]
    """A fresh agent for one episode."""
    urls: Sequence[str]
    """Servers, used in turn."""
    token: str | None = field(default=None, repr=False)
    """The servers' control token."""
    attempts: int = 1
    """Episodes per task (k), under seeds that count up from `seed`."""
    seed: int = 0
    at_once: int = 8
    call_limit: int = CALL_LIMIT

    async def run(self, on_episode: Callable[[EpisodeRecord], None] = lambda _: None) -> list[EpisodeRecord]:
        """Play everything.

        Args:
            on_episode: told of each episode when it has ended.

        Returns:
            The episodes in the order in which they ended; of an invalid one the second try.

        Raises:
            NoEpisode: a server refused one.
            AgentFailed: the agent cannot play: it said so, or failed in eight episodes in a row.
            ServerError, ConnectionError: a server broke or went away.
        """
        waiting = deque(
            (task, self.seed + attempt) for attempt in range(self.attempts) for task in self.tasks
        )
        ended: list[EpisodeRecord] = []

        async def work(url: str) -> None:
            async with SubworldsEnv(base_url=url, token=self.token) as env:
                while waiting:
                    ended.append(await self._play(env, *waiting.popleft()))
                    on_episode(ended[-1])
                    _require_working_agent(ended)

        try:
            async with asyncio.TaskGroup() as group:
                for number in range(min(self.at_once, len(waiting))):
                    group.create_task(work(self.urls[number % len(self.urls)]))
        except ExceptionGroup as broken:
            raise broken.exceptions[0] from None
        return ended

    async def _play(self, env: SubworldsEnv, task: TaskCard, seed: int) -> EpisodeRecord:
        for _ in range(_TRIES - 1):
            record = await play_episode(
                env, task.id, self.make_agent(task), seed=seed, call_limit=self.call_limit
            )
            if record.valid or (record.failure is not None and record.failure.hopeless):
                return record
        return await play_episode(env, task.id, self.make_agent(task), seed=seed, call_limit=self.call_limit)


def _require_working_agent(ended: Sequence[EpisodeRecord]) -> None:
    """Raises AgentFailed where it is no use to go on."""
    failures = [record.failure for record in ended[-_GIVE_UP_AFTER:]]
    last = failures[-1]
    if last is not None and (last.hopeless or (len(failures) == _GIVE_UP_AFTER and all(failures))):
        raise last


@dataclass(frozen=True, slots=True)
class Report:
    """What an evaluation found. Every estimate is a mean over tasks; None where there is none to average."""

    agent: str
    tasks: int
    episodes: int
    invalid: int
    """Episodes that a world, a verifier or the agent's endpoint broke, twice each. In no figure below."""
    invalid_by_kind: dict[str, int]
    """Those, by what broke them."""
    success: Estimate | None
    pass_at: dict[int, Estimate | None]
    """By k: the chance that one of k episodes solves a task."""
    pass_all: dict[int, Estimate | None]
    """By k: the chance that k episodes in a row do."""
    reward: Estimate | None
    components: dict[str, Estimate | None]
    by_difficulty: dict[str, Estimate | None]
    """Success, by the difficulty that the task says it has."""
    by_kind: dict[str, Estimate | None]
    """Success, by the task's kind; tasks without one are in none."""
    by_scenario: dict[str, Estimate | None]
    errors: dict[str, int]
    """Failed tool calls, by the kind of failure; `invalid_tool_call`, where a model broke the format."""
    cut: dict[str, int]
    """Episodes that a limit ended, by the limit. They count."""
    calls: float
    """Tool calls per episode, as the world saw them."""
    read_tokens: float | None
    """Tokens that the agent's model was given to read in an episode, turn by turn; None where unknown."""
    written_tokens: float | None
    """Tokens that it wrote in an episode; None where unknown."""
    questions: float | None
    """Questions per episode that the expert answered; None where there was no expert."""
    seconds: float
    """Seconds per episode, from reset to verdict."""

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        return asdict(self)


def report(tasks: Sequence[TaskCard], records: Sequence[EpisodeRecord], attempts: int) -> Report:
    """Sum up what was played."""
    valid = [record for record in records if record.valid]
    by_task = _grouped(valid, lambda record: record.task)
    cards = {card.id: card for card in tasks}
    counts = {task: _count(episodes) for task, episodes in by_task.items()}
    ks = sorted({1, attempts})
    accounts = [record.account for record in valid if record.account is not None]
    names = sorted({name for record in valid for name in record.end.components or ()})
    return Report(
        agent=records[0].agent if records else "",
        tasks=len(tasks),
        episodes=len(records),
        invalid=len(records) - len(valid),
        invalid_by_kind=_counted(record.fault for record in records if not record.valid),
        success=estimate_over(list(counts.values()), success),
        pass_at={k: estimate_over(list(counts.values()), partial(pass_at, k), least=k) for k in ks},
        pass_all={k: estimate_over(list(counts.values()), partial(pass_all, k), least=k) for k in ks},
        reward=_mean_over(by_task, lambda record: record.reward or 0.0),
        components={name: _mean_over(by_task, partial(_component, name)) for name in names},
        by_difficulty=_success_by(counts, lambda task: cards[task].difficulty or "unknown"),
        by_kind=_success_by(
            {task: each for task, each in counts.items() if cards[task].kind},
            lambda task: cards[task].kind or "",
        ),
        by_scenario=_success_by(counts, lambda task: cards[task].scenario),
        errors=_counted(kind for record in valid for kind in _errors(record)),
        cut=_counted(record.account.cut for record in valid if record.account and record.account.cut),
        calls=fmean(len(record.steps) for record in valid) if valid else 0.0,
        read_tokens=_mean_known([account.read_tokens for account in accounts]),
        written_tokens=_mean_known([account.written_tokens for account in accounts]),
        questions=_mean_known([account.questions for account in accounts]),
        seconds=fmean(record.seconds for record in valid) if valid else 0.0,
    )


def _errors(record: EpisodeRecord) -> Iterator[str]:
    yield from (str(step.error.error_type) for step in record.steps if step.error)
    if record.account is not None:
        yield from [_BROKEN_FORMAT] * record.account.malformed


def _counted(kinds: Iterable[str | None]) -> dict[str, int]:
    return dict(sorted(Counter(map(str, kinds)).items()))


def _mean_known(values: Sequence[int | None]) -> float | None:
    """The mean, where all are known."""
    known = [value for value in values if value is not None]
    return fmean(known) if known and len(known) == len(values) else None


def _grouped(records: Iterable[EpisodeRecord], key: Callable[[EpisodeRecord], str]) -> _Groups:
    groups: _Groups = {}
    for record in records:
        groups.setdefault(key(record), []).append(record)
    return groups


def _count(episodes: Sequence[EpisodeRecord]) -> Attempts:
    return Attempts(sum(record.outcome == "complete" for record in episodes), len(episodes))


def _component(name: str, record: EpisodeRecord) -> float:
    return (record.end.components or {}).get(name, 0.0)


def _mean_over(by_task: _Groups, value: Callable[[EpisodeRecord], float]) -> Estimate | None:
    return estimate([fmean(map(value, episodes)) for episodes in by_task.values()])


def _success_by(counts: Mapping[str, Attempts], key: Callable[[str], str]) -> dict[str, Estimate | None]:
    groups: dict[str, list[Attempts]] = {}
    for task, attempts in counts.items():
        groups.setdefault(key(task), []).append(attempts)
    return {name: estimate_over(groups[name], success) for name in sorted(groups)}
