"""`subworlds certify`: whether verifiers tell right from wrong, and certificates that say so."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ..sandbox import SandboxError
from ..scenarios.certificate import TaskCertificate, write_certificate
from ..scenarios.manager import ServerFull
from ..scenarios.pack import Catalog
from ..scenarios.task import Task
from ..verifiers.certification.certifier import Certifier, CertifierOptions
from ..verifiers.certification.findings import TaskReport
from ..verifiers.engine import opened_engine
from .certification_view import print_reports, report_json
from .failure import BadInput, CommandFailed
from .screen import counted, screen
from .worlds import Worlds, find_scenario, find_task, tell_repairs


@dataclass(frozen=True, slots=True)
class CertifyOptions:
    """What to certify, and where the certificates go."""

    tasks: tuple[str, ...] = ()
    """Ids; none: all tasks."""
    worlds: tuple[str, ...] = ()
    """Names; none: all worlds."""
    seed: int = 0
    jobs: int = 4
    out: Path | None = None
    """A folder that gets a folder for each world; None: the worlds' own folders."""


@dataclass(frozen=True, slots=True)
class Certification:
    """What was found."""

    reports: tuple[TaskReport, ...]
    episodes: int
    seconds: float


def certify(worlds: Worlds, options: CertifyOptions, *, as_json: bool) -> None:
    """Certify tasks, write the certificates, and show what was found.

    Raises:
        BadInput: unreadable packs, or no such world or task.
        CommandFailed: tasks failed; or worlds cannot be confined here; or a certificate cannot be written.
    """
    worlds.require_sandbox()
    catalog = worlds.catalog()
    tell_repairs(catalog)
    chosen = _chosen(catalog, options)
    found = asyncio.run(_certify(worlds, catalog, chosen, options))
    written = _write(catalog, chosen, found.reports, options.out)
    if as_json:
        shown = report_json(found.reports, found.episodes, found.seconds, written)
        print(json.dumps(shown, indent=2, ensure_ascii=False))
    else:
        print_reports(screen(), found.reports, found.episodes, found.seconds, written)
    failed = [report.task for report in found.reports if report.standing == "failed"]
    if failed:
        raise CommandFailed(
            f"{counted(len(failed), 'task')} of {len(found.reports)} failed: {', '.join(failed[:20])}"
            + (" …" if len(failed) > 20 else "")
        )


def _chosen(catalog: Catalog, options: CertifyOptions) -> dict[str, list[Task]]:
    """The tasks to certify, by scenario."""
    names = {find_scenario(catalog, name).name for name in options.worlds}
    if options.tasks:
        tasks: Iterable[Task] = [find_task(catalog, task_id) for task_id in dict.fromkeys(options.tasks)]
    else:
        wanted = names or catalog.scenario_entries.keys()
        tasks = (
            task for name in catalog.scenario_entries if name in wanted for task in catalog.tasks_of(name)
        )
    chosen: dict[str, list[Task]] = {}
    for task in tasks:
        if names and task.scenario not in names:
            raise BadInput(f"task '{task.id}' is in no world that --world names; leave one of them out")
        chosen.setdefault(task.scenario, []).append(task)
    if not chosen:
        raise BadInput("there is no task to certify")
    return chosen


async def _certify(
    worlds: Worlds, catalog: Catalog, chosen: dict[str, list[Task]], options: CertifyOptions
) -> Certification:
    started = time.perf_counter()
    reports: list[TaskReport] = []
    settings = replace(worlds.manager_settings(), prefork=2, warm=True, templates=2)
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[episodes]}"),
        console=Console(stderr=True),
        transient=True,
        disable=not Console(stderr=True).is_terminal,
    )
    try:
        async with opened_engine(catalog.scenario, settings) as engine:
            certifier = Certifier(
                engine.manager, engine.verification, CertifierOptions(options.seed, options.jobs)
            )
            with progress:
                bar = progress.add_task("certifying", total=sum(map(len, chosen.values())), episodes="")
                for name, tasks in chosen.items():
                    progress.update(bar, description=name)
                    every = catalog.tasks_of(name)
                    async for report in certifier.certify(catalog.scenario(name), tasks, every):
                        reports.append(report)
                        played = counted(certifier.player.episodes, "episode")
                        progress.update(bar, advance=1, episodes=played)
            episodes = certifier.player.episodes
    except (SandboxError, ServerFull) as error:
        raise CommandFailed(str(error)) from error
    order = {task.id: place for place, task in enumerate(chain.from_iterable(chosen.values()))}
    reports.sort(key=lambda report: order[report.task])
    return Certification(tuple(reports), episodes, time.perf_counter() - started)


def _write(
    catalog: Catalog, chosen: dict[str, list[Task]], reports: Sequence[TaskReport], out: Path | None
) -> list[Path]:
    """Write a certificate for each folder. What it says of tasks that were not certified now is kept."""
    folders: dict[Path, dict[str, TaskCertificate]] = {}
    for report in reports:
        task = catalog.task_entries[report.task]
        home = catalog.home(task.scenario) if out is None else out / task.scenario
        if home not in folders:
            folders[home] = _kept(catalog, home, task.scenario, out)
        folders[home].pop(report.task, None)
        if report.standing != "skipped":
            folders[home][report.task] = report.certificate(catalog.content_of(report.task))
    try:
        return [write_certificate(home, dict(sorted(rows.items()))) for home, rows in folders.items() if rows]
    except OSError as error:
        raise CommandFailed(
            f"{error.filename}: the certificate cannot be written: {error.strerror}; "
            "--out FOLDER writes it elsewhere"
        ) from error


def _kept(catalog: Catalog, home: Path, scenario: str, out: Path | None) -> dict[str, TaskCertificate]:
    """The certificates of the folder's tasks that still hold."""
    if out is not None:
        return {}
    return {
        task_id: certificate
        for task_id, certificate in catalog.certificates_in(home).items()
        if catalog.standing(task_id) != "outdated"
    }
