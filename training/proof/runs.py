"""The runs that are compared: the same start, tasks, steps and evaluation; another payment, or an expert."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from subworlds.training.proof.teaching import LIMITS

_TRAINING = Path(__file__).parents[1]


class RunFailed(RuntimeError):
    """A process of the proof did not end well; says which, and where it told why."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One way to train."""

    name: str
    words: tuple[str, ...]
    """What it says to train_grpo.py that the others do not."""
    seeds: tuple[int, ...]


ARMS = (
    Arm("success", ("--reward", "success"), (0, 1, 2)),
    Arm("shuffled", ("--reward", "shuffled"), (0, 1, 2)),
    Arm("rubric", ("--reward", "rubric"), (0,)),
    Arm("expert-fixed", ("--reward", "success", "--expert", "gold", "--expert-mix", "0.5"), (0,)),
    Arm("expert-adaptive", ("--reward", "success", "--expert", "gold", "--expert-mix", "adaptive"), (0,)),
)
"""`success` is the headline, and also the arm without an expert; `shuffled` is its control."""


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """What all runs have in common."""

    steps: int = 15
    tasks: int = 12
    generations: int = 8
    rate: float = 3e-4
    save_steps: int = 5


def common_words(tier: Path, model: Path) -> list[str]:
    """How episodes are played, in training and in evaluation, as train_grpo.py is told it."""
    return [
        *("--model", str(model), "--pack", str(tier), "--tools", "compact", "--report-to", "none"),
        *("--turns", str(LIMITS.turns), "--turn-tokens", str(LIMITS.turn_tokens)),
        *("--tokens", str(LIMITS.tokens), "--context", str(LIMITS.context)),
    ]


def training_words(
    tier: Path, model: Path, folder: Path, arm: Arm, seed: int, settings: TrainingSettings
) -> list[str]:
    """The command line of one run. It goes on where it was stopped."""
    words = [
        *(sys.executable, str(_TRAINING / "train_grpo.py"), *common_words(tier, model)),
        *("--output-dir", str(folder), "--seed", str(seed), *arm.words),
        *("--max-steps", str(settings.steps), "--save-steps", str(settings.save_steps)),
        *("--tasks-per-step", str(settings.tasks), "--num-generations", str(settings.generations)),
        *("--learning-rate", str(settings.rate), "--skip-zero-shot"),
    ]
    return [*words, "--resume"] if any(folder.glob("checkpoint-*")) else words


def playing_words(tier: Path, model: Path, split: str, attempts: int, file: Path) -> list[str]:
    """The command line of one evaluation."""
    return [
        *(sys.executable, "-m", "subworlds.training.proof.playing", str(file), str(attempts)),
        *(*common_words(tier, model), "--split", split, "--output-dir", str(file.with_suffix(""))),
    ]


def run(words: Sequence[str], log: Path) -> None:
    """Run one command on one core; what it prints goes into `log`. Raises RunFailed."""
    log.parent.mkdir(parents=True, exist_ok=True)
    on_one_core = ["env", "OMP_NUM_THREADS=1", "TRL_EXPERIMENTAL_SILENCE=1", *words]
    with log.open("a") as file:
        print(f"$ {shlex.join(words)}", file=file, flush=True)
        ended = subprocess.run(on_one_core, stdout=file, stderr=subprocess.STDOUT, check=False)
    if ended.returncode:
        raise RunFailed(f"a process ended with {ended.returncode}; see the end of {log}, then run again")


def train_and_play(
    tier: Path, model: Path, file: Path, arm: Arm, seed: int, settings: TrainingSettings
) -> None:
    """One run in the folder of `file`, and into `file` what its model does on the test split."""
    folder = file.parent
    if not (folder / "final").exists():
        run(training_words(tier, model, folder, arm, seed, settings), folder / "log.txt")
    run(playing_words(tier, folder / "final", "test", 1, file), folder / "log.txt")
