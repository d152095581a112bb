"""The proof of learning: a tiny model gets measurably better at tasks it has never seen, on two CPU cores.

    make train-proof                                  # all of it; run it again to go on where it stopped
    python -m subworlds.training.proof --toy          # the same in a minute or two, to see that it runs

Everything is real but the sizes: the server, the worlds' processes, the verdicts, TRL's GRPOTrainer with our
rollout function, a Qwen3 (of 0.8M parameters), the split that nobody trains on. It goes in stages, each of
which leaves its output in --output-dir:

    worlds/            the tiny tier: forty small worlds with names and numbers of their own (worlds.py)
    model/             a random model, whose tokenizer knows the tier's words
    copying/           the model that can copy (copying.py)
    demonstrations/    solutions played on the server, many of them faulty on purpose (teaching.py)
    warm/              the model that half knows its work: where every run starts
    validation.jsonl   what it does on the validation split: how many groups are mixed
    before.jsonl       what it does on the test split
    runs/ARM/SEED/     what each run logged, and after.jsonl: what its model does on the test split (runs.py)

and then writes figures and a summary into --results (summary.py). Settings are chosen by what the validation
split shows, never by the test split.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from subworlds.training.measures import append_line
from subworlds.training.proof.copying import CopySettings
from subworlds.training.proof.runs import (
    ARMS,
    Arm,
    RunFailed,
    TrainingSettings,
    playing_words,
    run,
    train_and_play,
)
from subworlds.training.proof.summary import TABLE, publish
from subworlds.training.proof.teaching import (
    TeachingSettings,
    make_model,
    record_demonstrations,
    teach_copying,
    teach_work,
)
from subworlds.training.proof.worlds import TierSettings, write_tier


@dataclass(frozen=True, slots=True)
class ProofSettings:
    """How large all of it is."""

    tier: TierSettings = field(default_factory=TierSettings)
    teaching: TeachingSettings = field(default_factory=TeachingSettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)
    arms: tuple[Arm, ...] = ARMS
    attempts: int = 8
    """At each validation task: as many as an episode has siblings in training."""


def toy() -> ProofSettings:
    """Of a minute or two, and without a result worth reading."""
    return ProofSettings(
        tier=TierSettings(
            worlds={"train": 1, "validation": 1, "test": 1}, tasks={"train": 2, "validation": 1, "test": 1}
        ),
        teaching=TeachingSettings(copying=CopySettings(most_steps=3), steps=4),
        training=TrainingSettings(steps=2, tasks=2, generations=2, save_steps=1),
        arms=tuple(replace(arm, seeds=(0,)) for arm in ARMS if arm.name in ("success", "expert-fixed")),
        attempts=2,
    )


def prove(settings: ProofSettings, folder: Path, results: Path, *, at_once: int) -> None:
    """All stages, those that are done already excepted. Raises RunFailed."""
    folder.mkdir(parents=True, exist_ok=True)
    tier, model, demonstrations = folder / "worlds", folder / "model", folder / "demonstrations"
    copying, warm, teaching = folder / "copying", folder / "warm", settings.teaching
    stage = Stages(folder)
    stage(tier, lambda place: write_tier(place, settings.tier))
    stage(model, lambda place: make_model(tier, place, teaching))
    with ThreadPoolExecutor(1) as beside:
        recorded = beside.submit(
            stage, demonstrations, lambda place: record_demonstrations(tier, model, place, teaching)
        )
        stage(copying, lambda place: teach_copying(model, place, teaching))
        recorded.result()
    stage(
        warm,
        lambda place: teach_work(copying / "final", demonstrations / "demonstrations.jsonl", place, teaching),
    )

    def play(split: str, attempts: int) -> Callable[[Path], None]:
        words = (tier, warm / "final", split, attempts)
        return lambda file: run(playing_words(*words, file), folder / "log.txt")

    def train(arm: Arm, seed: int) -> Callable[[Path], None]:
        return lambda file: train_and_play(tier, warm / "final", file, arm, seed, settings.training)

    with ThreadPoolExecutor(at_once) as cores:
        waiting = [
            cores.submit(stage, folder / "validation.jsonl", play("validation", settings.attempts)),
            cores.submit(stage, folder / "before.jsonl", play("test", 1)),
        ]
        chosen = [(seed, arm) for arm in settings.arms for seed in arm.seeds]
        for seed, arm in sorted(chosen, key=lambda each: each[0]):
            after = folder / "runs" / arm.name / str(seed) / "after.jsonl"
            waiting.append(cores.submit(stage, after, train(arm, seed)))
        for each in waiting:
            each.result()
    publish(folder, results, settings.arms)


class Stages:
    """Does what is not done yet, and notes how long it took."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, place: Path, work: Callable[[Path], None]) -> None:
        """Args:
        place: the file or folder that the stage leaves; where it is, nothing is done.
        work: makes it, under another name beside it: what is there is finished.
        """
        if place.exists():
            return
        name, beside = str(place.relative_to(self._folder)), place.with_name(f"unfinished-{place.name}")
        print(f"{name} ...", flush=True)
        started = time.monotonic()
        _remove(beside)
        work(beside)
        beside.rename(place)
        took = round(time.monotonic() - started, 1)
        append_line(self._folder / "seconds.jsonl", {"stage": name, "seconds": took})
        print(f"{name}: {took:.0f} s", flush=True)


def _remove(place: Path) -> None:
    """A file or a folder, if it is there."""
    if place.is_dir():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)


def main(words: Sequence[str]) -> None:
    """From the command line to the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, prog="proof"
    )
    parser.add_argument(
        "--output-dir", type=Path, default=Path("runs/proof"), help="where stages leave things"
    )
    parser.add_argument("--results", type=Path, help="where results go; without it OUTPUT_DIR/results")
    parser.add_argument("--at-once", type=int, default=2, help="runs side by side, one on a core (2)")
    parser.add_argument("--toy", action="store_true", help="a minute or two, and nothing learnt")
    args = parser.parse_args(list(words))
    results = args.results or args.output_dir / "results"
    prove(toy() if args.toy else ProofSettings(), args.output_dir, results, at_once=args.at_once)
    print((results / TABLE).read_text(), end="")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except RunFailed as failure:
        sys.exit(f"proof: {failure}")
