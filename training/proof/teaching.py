"""The warm start: a tokenizer, a model that copies, and then one that half knows its work.

GRPO chooses among what a model does already. So the demonstrations are faulty on purpose, the more so the
harder the level: the model learns to solve each kind of errand, and learns as well to stop early, to leave a
call out and to take the wrong number. What GRPO has to find out by itself is which of these pays.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, cast

from datasets.arrow_dataset import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer

from subworlds.envs.models import Tool
from subworlds.training import warmup
from subworlds.training.demonstrations import Mix
from subworlds.training.env_server import env_server
from subworlds.training.exposure import Exposure, Shown
from subworlds.training.limits import Limits
from subworlds.training.measures import append_line
from subworlds.training.proof.copying import CopySettings, Exercise, exercises, practise
from subworlds.training.proof.renaming import Renaming
from subworlds.training.proof.words import pools
from subworlds.training.recording import Recorded, Recording, record, tools_of
from subworlds.training.solutions import Solution, read_solutions
from subworlds.training.tiny_model import save_tiny_model
from subworlds.training.tool_calls import write_request

LIMITS = Limits(turns=10, calls=24, turn_tokens=40, tokens=352, context=768)
"""Of an episode, in demonstrations, training and evaluation alike."""

_MARKS = ("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>")
"""One token each, as in Qwen's own tokenizer."""
_LONGEST_TOKEN = 16
_SPREAD = (0.04, 0.1)
"""Of the first weights and embeddings; copying is found sooner than with 0.02."""
_TOLD = (
    "system\n",
    "user\n",
    "assistant\n",
    "\n",
    '\n{"ok": true}\n',
    '\n{"thing": , "shelf": , "holder": null}\n',
    '\n{"thing": , "shelf": , "holder": }\n',
    '\n{"person": }\n',
    '\n{"shelf": }\n',
    '\n{"name": ""}\n',
    "\nerror: tool_failed: somebody has it\n",
    "\nerror: tool_failed: nobody has it\n",
    "\nerror: invalid_tool_call: not JSON: \n",
    "Done.",
)


@dataclass(frozen=True, slots=True)
class TeachingSettings:
    """How much of it there is."""

    mixes: Mapping[str, Mix] = field(
        default_factory=lambda: {
            "easy": Mix(mistakes=0.04, reads=0, unfinished=0.25, slips=0.05, asks=0.12),
            "medium": Mix(mistakes=0.04, reads=0, unfinished=0.35, slips=0.2, asks=0.12),
            "hard": Mix(mistakes=0.04, reads=0, unfinished=0.45, slips=0.25, asks=0.12),
        }
    )
    """What is demonstrated at each level."""
    copies: int = 1
    """Demonstrations of each task."""
    copying: CopySettings = field(default_factory=CopySettings)
    steps: int = 1_300
    batch: int = 16
    rate: float = 3e-3
    rehearsed: float = 0.25
    """Copy exercises among the rows of the second stage: what is not practised is forgotten."""
    bf16: bool = True
    """Computed in 16 bit, where the CPU can."""
    seed: int = 0


# ---- The tokenizer, and what a random model learns first ---------------------------------------------------


def make_model(tier: Path, folder: Path, settings: TeachingSettings) -> None:
    """A random tiny model. Its tokenizer has one token for each name, number and mark of the tier."""
    solutions = read_solutions([tier])
    with env_server([tier]) as url:
        tools = asyncio.run(tools_of([url], None, solutions[:1]))
    words = [word for pool in pools().values() for word in pool.tokens]
    texts = vocabulary(solutions, next(iter(tools.values())), words)
    save_tiny_model(
        folder, texts, [*_MARKS, *words], longest=_LONGEST_TOKEN, spread=_SPREAD, seed=settings.seed
    )


def vocabulary(solutions: Sequence[Solution], tools: Sequence[Tool], words: Sequence[str]) -> list[str]:
    """What the tokenizer is made from: training prompts, calls, tools, cut where its fixed tokens stand."""
    calls = [write_request(call) for solution in solutions for call in solution.calls]
    prompts = [solution.prompt for solution in solutions]
    system = Shown(Exposure.COMPACT, tuple(tools)).system
    fixed = re.compile("|".join(map(re.escape, [*words, *_MARKS])))
    texts = [*prompts, *calls, *[system, *_TOLD] * 100]
    return [piece for text in texts for piece in fixed.split(text) if piece]


def load_tokenizer(folder: Path) -> Any:
    """Of a model in a folder."""
    return cast("Any", AutoTokenizer).from_pretrained(folder)


def teach_copying(model: Path, folder: Path, settings: TeachingSettings) -> None:
    """The first stage: the model that can copy is in folder/final, how it got there in metrics.jsonl."""
    tokenizer = load_tokenizer(model)
    learner = cast("Any", AutoModelForCausalLM).from_pretrained(model, attn_implementation="eager")
    folder.mkdir(parents=True, exist_ok=True)
    practise(
        learner, *copy_tokens(tokenizer), settings.copying, partial(append_line, folder / "metrics.jsonl")
    )
    learner.save_pretrained(folder / "final")
    tokenizer.save_pretrained(folder / "final")


def copy_tokens(tokenizer: Any) -> tuple[list[int], list[int]]:
    """The words of all splits as token ids, and the tokenizer's other tokens."""
    words = [tokenizer.convert_tokens_to_ids(word) for pool in pools().values() for word in pool.tokens]
    known = {*words, *tokenizer.all_special_ids}
    return words, [token for token in range(len(tokenizer)) if token not in known]


# ---- Demonstrations, and what it learns from them ----------------------------------------------------------


def record_demonstrations(tier: Path, model: Path, folder: Path, settings: TeachingSettings) -> None:
    """Play them on a server, and write them into folder/demonstrations.jsonl."""
    solutions, tokenizer = read_solutions([tier]), load_tokenizer(model)
    with env_server([tier]) as url:
        found = asyncio.run(_record(url, solutions, tokenizer, settings))
    warmup.tell(found.examples, found.left_out)
    folder.mkdir(parents=True, exist_ok=True)
    warmup.export(folder, found.examples)


async def _record(
    url: str, solutions: Sequence[Solution], tokenizer: Any, settings: TeachingSettings
) -> Recorded:
    tools, found = await tools_of([url], None, solutions), Recorded()
    for level, mix in settings.mixes.items():
        recording = Recording(
            urls=(url,),
            exposure=Exposure.COMPACT,
            limits=LIMITS,
            mix=mix,
            copies=settings.copies,
            seed=settings.seed,
        )
        of_level = [each for each in solutions if each.difficulty == level]
        recorded = await record(recording, of_level, tools, tokenizer)
        found.examples += recorded.examples
        found.left_out += recorded.left_out
    return found


def teach_work(model: Path, demonstrations: Path, folder: Path, settings: TeachingSettings) -> None:
    """The second stage: from a model that copies to one that half knows its work, in folder/final."""
    tokenizer = load_tokenizer(model)
    shown = [_row(json.loads(line)) for line in demonstrations.read_text().splitlines()]
    needed = settings.steps * settings.batch
    folder.mkdir(parents=True, exist_ok=True)
    rehearsed = int(needed * settings.rehearsed)
    rows = [
        *renamed(shown, tokenizer, needed - rehearsed, settings.seed),
        *exercises(rehearsed, *copy_tokens(tokenizer), random.Random(settings.seed)),
    ]
    args = warmup.Args(
        model=str(model),
        output_dir=folder,
        max_steps=settings.steps,
        batch=settings.batch,
        micro_batch=settings.batch,
        learning_rate=settings.rate,
        cpu_bf16=settings.bf16,
        seed=settings.seed,
    )
    warmup.train(args, _dataset(rows), tokenizer)


def renamed(shown: Sequence[Exercise], tokenizer: Any, count: int, seed: int) -> list[Exercise]:
    """All of them again and again, each time under other names of the training pool."""
    chance, pool = random.Random(seed), pools()["train"]
    rename = Renaming(
        (
            tuple(tokenizer.convert_tokens_to_ids(list(pool.names))),
            tuple(tokenizer.convert_tokens_to_ids(list(map(str, pool.numbers)))),
        )
    )
    return [rename(shown[place % len(shown)], chance) for place in range(count)]


def _row(demonstration: Mapping[str, Any]) -> Exercise:
    return Exercise(demonstration["input_ids"], demonstration["labels"])


def _dataset(rows: Sequence[Exercise]) -> Any:
    return cast("Any", Dataset).from_list([asdict(row) for row in rows])
