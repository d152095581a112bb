"""`subworlds eval`: an agent plays many tasks, k times each; a report says how well, and how surely."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from ..envs.client import AccessDenied, ServerError
from ..envs.models import TaskCard
from ..scenarios.pack import Catalog
from ..scenarios.task import TaskEntry
from ..training.agents import AgentFailed, EpisodeRecord, NoEpisode
from ..training.estimates import Estimate
from ..training.evaluation import Evaluation, Report, report
from .failure import BadInput, CommandFailed
from .hosting import hosted
from .players import Player
from .screen import counted, screen
from .worlds import Worlds, find_task


@dataclass(frozen=True, slots=True)
class EvalOptions:
    """What to play, where, and how often."""

    player: Player
    split: str | None
    scenario: str | None
    attempts: int
    limit: int | None
    seed: int
    at_once: int
    urls: tuple[str, ...]
    out: Path | None
    """Where to store every trajectory, one JSON object a line."""
    token: str | None = field(default=None, repr=False)


def evaluate(worlds: Worlds, options: EvalOptions, *, as_json: bool) -> None:
    """Play, and print the report.

    Raises:
        BadInput: unreadable packs, no such model, split or world, or nothing to play.
        CommandFailed: a server cannot be had or broke, the agent cannot play, or every episode was invalid.
    """
    catalog = worlds.catalog()
    tasks = _chosen(catalog, options)
    with _stored(options.out) as store:
        records = _play(worlds, catalog, tasks, options, store)
    found = report([_card(task) for task in tasks], records, options.attempts)
    if as_json:
        print(json.dumps(found.to_json(), indent=2, ensure_ascii=False))
    else:
        _print(screen(), found)
    if found.invalid == found.episodes:
        raise CommandFailed(f"every episode was invalid; the last: {records[-1].reason}")


def _chosen(catalog: Catalog, options: EvalOptions) -> list[TaskEntry]:
    if options.split is not None and options.split not in catalog.splits():
        raise BadInput(f"there is no split '{options.split}'; there are {', '.join(catalog.splits())}")
    if options.scenario is not None and options.scenario not in catalog.scenarios:
        raise BadInput(f"there is no world '{options.scenario}'; `subworlds list` shows those there are")
    splits = catalog.splits() if options.split is None else (options.split,)
    found = [
        task
        for split in splits
        for task in catalog.tasks_in(split)
        if options.scenario in (None, task.scenario)
    ][: options.limit]
    if not found:
        raise BadInput("no task fits --split and --scenario")
    return found


def _play(
    worlds: Worlds, catalog: Catalog, tasks: Sequence[TaskEntry], options: EvalOptions, store: TextIO | None
) -> list[EpisodeRecord]:
    cards = {task.id: _card(task) for task in tasks}
    own = nullcontext(None) if options.urls else hosted(worlds, catalog, warm=True)
    with own as url, _progress() as progress:
        bar = progress.add_task(options.player.agent, total=len(tasks) * options.attempts)

        def on_episode(record: EpisodeRecord) -> None:
            progress.advance(bar)
            if store is not None:
                store.write(json.dumps(_stored_line(cards[record.task], record), ensure_ascii=False) + "\n")
                store.flush()

        async def play() -> list[EpisodeRecord]:
            async with options.player.ready() as make_agent:
                evaluation = Evaluation(
                    tasks=list(cards.values()),
                    make_agent=lambda card: make_agent(find_task(catalog, card.id)),
                    urls=options.urls or (str(url),),
                    token=options.token,
                    attempts=options.attempts,
                    seed=options.seed,
                    at_once=options.at_once,
                )
                return await evaluation.run(on_episode)

        return _run(play())


def _run(playing: Coroutine[Any, Any, list[EpisodeRecord]]) -> list[EpisodeRecord]:
    try:
        return asyncio.run(playing)
    except NoEpisode as error:
        raise CommandFailed(f"the server gave no episode: {error}") from error
    except AgentFailed as error:
        raise CommandFailed(f"the agent cannot play ({error.kind}): {error}") from error
    except AccessDenied as error:
        raise CommandFailed(
            f"{error}\nGive its token with --token-file FILE or in SUBWORLDS_TOKEN."
        ) from error
    except (OSError, ServerError) as error:
        raise CommandFailed(f"the evaluation broke off: {error}") from error


def _stored(out: Path | None) -> nullcontext[None] | TextIO:
    if out is None:
        return nullcontext(None)
    try:
        return out.open("x")
    except FileExistsError as error:
        raise BadInput(f"--out {out} exists already; name another file, or remove it") from error
    except OSError as error:
        raise BadInput(f"--out {out} cannot be written: {error.strerror}") from error


def _card(task: TaskEntry) -> TaskCard:
    return TaskCard(
        id=task.id,
        index=task.index,
        scenario=task.scenario,
        prompt=task.prompt,
        difficulty=task.difficulty,
        split=task.split,
        tags=list(task.tags),
    )


def _stored_line(card: TaskCard, record: EpisodeRecord) -> dict[str, Any]:
    """The trajectory, with what its task says of itself, for whoever groups episodes (training/plots.py)."""
    return {"level": card.difficulty, "kind": card.kind, **record.to_json()}


def _progress() -> Progress:
    """A bar on stderr, so that stdout holds the report alone; nothing where that is no terminal."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        disable=not sys.stderr.isatty(),
    )


def _print(console: Console, found: Report) -> None:
    episodes = counted(found.episodes, "episode")
    invalid = f"{found.invalid} invalid" + (f" ({_kinds(found.invalid_by_kind)})" if found.invalid else "")
    console.print(f"{found.agent}: {counted(found.tasks, 'task')}, {episodes}, {invalid}")
    table = Table("", "mean", "95 % interval", box=None, pad_edge=False)
    for name, value in _lines(found):
        if value is not None:
            table.add_row(name, f"{value.value:.3f}", f"{value.low:.3f} to {value.high:.3f}")
    console.print(table)
    failed = f"failed calls: {_kinds(found.errors)}"
    console.print(f"{found.calls:.1f} calls and {found.seconds:.2f} s an episode; {failed}")
    if found.read_tokens is not None and found.written_tokens is not None:
        tokens = f"{found.written_tokens:.0f} tokens written and {found.read_tokens:.0f} read an episode"
        console.print(f"{tokens}; ended by a limit: {_kinds(found.cut)}")
    if found.questions is not None:
        console.print(f"{found.questions:.1f} questions to the expert an episode")


def _kinds(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in counts.items()) or "none"


def _lines(found: Report) -> Iterable[tuple[str, Estimate | None]]:
    yield "success", found.success
    for k, value in found.pass_at.items():
        if k > 1:
            yield f"pass@{k}", value
            yield f"pass^{k}", found.pass_all[k]
    yield "reward", found.reward
    for name, value in found.components.items():
        yield f"  {name}", value
    for name, value in found.by_difficulty.items():
        yield f"success, {name}", value
    for name, value in found.by_kind.items():
        yield f"success, {name} tasks", value
    for name, value in found.by_scenario.items():
        yield f"success, {name}", value
