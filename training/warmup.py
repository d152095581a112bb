"""Teach a model the form of the work before GRPO teaches it the work: supervised learning on gold solutions.

    python training/warmup.py --model tiny --tools compact --output-dir runs/warm
    python training/warmup.py --model Qwen/Qwen3-0.6B --output-dir runs/warm --max-steps 300
    python training/train_grpo.py --model runs/warm/final ...          # and go on from there
    subworlds eval --agent hf:runs/warm/final --split validation        # or see what it can do

GRPO learns from differences between episodes; a model whose every episode earns 0 learns nothing. So each
solution of the split is demonstrated several times, with mistakes and how they are put right: a tool that is
not there, an argument under a wrong name, a call that breaks the format, a look that was not needed. Every
demonstration is played on the real server, through the code that training plays through, and is kept if the
verdict bears it out. The loss counts what the model is to write and nothing else: not the prompt, not what
the world says, and not the mistakes (see --learn-mistakes).

A run leaves in --output-dir: dataset/ (a `datasets` dataset: input_ids, assistant_masks, labels), its content
as demonstrations.jsonl, metrics.jsonl, and the model in final/.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast

import httpx
import torch
from datasets.arrow_dataset import Dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer, HfArgumentParser, set_seed
from trl.trainer.sft_config import SFTConfig
from trl.trainer.sft_trainer import SFTTrainer

from subworlds.envs.client import ServerError
from subworlds.envs.models import Tool
from subworlds.training.assignments import RolloutError
from subworlds.training.demonstrations import Mix
from subworlds.training.env_server import ServerDidNotStart, env_server
from subworlds.training.exposure import Exposure, Shown
from subworlds.training.limits import Limits
from subworlds.training.measures import JsonLines
from subworlds.training.processes import Processes
from subworlds.training.recording import Example, Recording, record, tools_of
from subworlds.training.solutions import NoSolutions, Solution, read_solutions
from subworlds.training.tiny_model import save_tiny_model


def _said(help: str, default: Any = None, **options: Any) -> Any:
    """One thing that may be said on the command line."""
    if isinstance(default, list):
        return field(default_factory=list[Any], metadata={"help": help, "action": "extend"})
    return field(default=default, metadata={"help": help, **options})


@dataclass(frozen=True)
class Args:
    """What may be said on the command line."""

    model: str = _said(
        "A model's name or folder. 'tiny' makes a random Qwen3 of under a million parameters, on the spot.",
        "Qwen/Qwen3-0.6B",
    )
    output_dir: Path = _said("Where the data, the figures and final/ go.", Path("runs/warmup"))

    env_url: list[str] = _said(
        "A running server to play on; repeat it for several. SUBWORLDS_TOKEN is sent as their token. Without "
        "it, one is started for this run.",
        [],
    )
    pack: list[Path] = _said("A folder of worlds, or several; without it the built-in packs.", [])
    split: str = _said("Learn from this split. 'test' is refused: it is for evaluation.", "train")
    scenario: list[str] = _said("Learn from these worlds only; without it from all.", [])
    certified_only: bool = _said("Leave out tasks whose verifier nobody has certified.", False)

    copies: int = _said("Demonstrations of each task, each with mistakes of its own.", 4)
    mistakes: float = _said("Share of calls that go wrong at first, and are put right.", 0.15)
    reads: float = _said("Share of calls with a look before them that was not needed.", 0.1)
    unfinished: float = _said(
        "Share of demonstrations that stop too early, and are learned so: for a model that fails sometimes, "
        "to study what GRPO mends.",
        0.0,
    )
    slips: float = _said(
        "Share of demonstrations that leave a call out, or give it another row's number, and go on. For the "
        "same.",
        0.0,
    )
    asks: float = _said(
        "Share of demonstrations that ask the gold expert, and do as it says: for a model that train_grpo.py "
        "will offer one (--expert).",
        0.0,
    )
    learn_mistakes: bool = _said("Count the mistakes in the loss, too, not only what puts them right.", False)
    tools: Exposure = _said(
        "How tools are shown: 'full' schemas, 'compact' (a line each), or 'meta' (two tools that list and "
        "call the others). Train and evaluate with the same.",
        Exposure.FULL,
    )
    turns: int = _said("Turns a demonstration may have.", 32)
    tokens: int = _said("Tokens it may have after its prompt; a longer one is left out.", 8192)
    context: int = _said("Tokens it may have with its prompt.", 16_384)

    max_steps: int = _said("Optimiser steps. 0 writes the data and trains nothing.", 200)
    batch: int = _said("Demonstrations in a step.", 8)
    micro_batch: int = _said("Demonstrations in one pass; fewer need less memory.", 1)
    learning_rate: float | None = _said("Without it: 1e-5, with LoRA 2e-4, for 'tiny' 3e-3.")
    lora_rank: int = _said("Train a LoRA adapter of this rank, merged in the end; 0 trains all weights.", 0)
    cpu_bf16: bool = _said(
        "Compute in bfloat16 on a CPU, too: twice as fast on one with AVX512-BF16, slower on others.", False
    )
    seed: int = _said("Of weights, mistakes, the order of demonstrations, and every world.", 0)


def main(args: Args, token: str | None) -> None:
    """One run, from the packs to the saved model."""
    check(args)
    set_seed(args.seed)
    args.output_dir.mkdir(parents=True, exist_ok=True)
    solutions = find_solutions(args)
    with ExitStack() as stack:
        urls = args.env_url or [stack.enter_context(env_server(args.pack))]
        tools = asyncio.run(tools_of(urls, token, solutions))
        if args.model == "tiny":
            save_tiny_model(args.output_dir / "tiny", vocabulary(solutions, tools), seed=args.seed)
        tokenizer = load_tokenizer(args)
        recorded = asyncio.run(record(recording(args, urls, token), solutions, tools, tokenizer))
    tell(recorded.examples, recorded.left_out)
    dataset = export(args.output_dir, recorded.examples)
    if args.max_steps:
        train(args, dataset, tokenizer)


# ---- What is demonstrated ----------------------------------------------------------------------------------


def find_solutions(args: Args) -> list[Solution]:
    """The gold solutions to learn from."""
    found = read_solutions(args.pack, args.split)
    chosen = [each for each in found if not args.scenario or each.scenario in args.scenario]
    if args.certified_only:
        chosen = [each for each in chosen if each.certified]
    if not chosen:
        sys.exit(
            f"of the {len(found)} solved tasks of split '{args.split}' none fits --scenario/--certified-only"
        )
    if uncertified := sum(not each.certified for each in chosen):
        print(
            f"{uncertified} of {len(chosen)} tasks are not certified (`subworlds certify` does it)",
            file=sys.stderr,
        )
    return chosen


def recording(args: Args, urls: Sequence[str], token: str | None) -> Recording:
    """How they are played."""
    return Recording(
        urls=tuple(urls),
        token=token,
        exposure=Exposure(args.tools),
        limits=Limits(
            turns=args.turns,
            calls=2 * args.turns,
            turn_tokens=min(1024, args.tokens),
            tokens=args.tokens,
            context=args.context,
        ),
        mix=Mix(args.mistakes, args.reads, args.unfinished, args.slips, args.asks),
        copies=args.copies,
        learn_mistakes=args.learn_mistakes,
        seed=args.seed,
    )


def tell(examples: Sequence[Example], left_out: Sequence[str]) -> None:
    """Say what there is to learn from; exit where there is nothing."""
    for reason in left_out[:10]:
        print(f"left out: {reason}", file=sys.stderr)
    if len(left_out) > 10:
        print(f"left out: {len(left_out) - 10} more", file=sys.stderr)
    if not examples:
        sys.exit("no demonstration is left to learn from")
    habits = Counter(habit for example in examples for habit in example.habits)
    told = ", ".join(f"{count} {habit}" for habit, count in sorted(habits.items())) or "no mistakes"
    written = sum(sum(example.assistant_masks) for example in examples)
    print(f"{len(examples)} demonstrations, {written} tokens to write; {told}", flush=True)


def export(folder: Path, examples: Sequence[Example]) -> Any:
    """Write demonstrations.jsonl and dataset/, and return the latter."""
    with (folder / "demonstrations.jsonl").open("w") as file:
        for example in examples:
            file.write(json.dumps(asdict(example), ensure_ascii=False) + "\n")
    columns = [{**asdict(example), "messages": json.dumps(example.messages)} for example in examples]
    dataset = cast("Any", Dataset).from_list(columns)
    dataset.save_to_disk(folder / "dataset")
    return dataset


# ---- The model ---------------------------------------------------------------------------------------------


def vocabulary(solutions: Sequence[Solution], tools: dict[str, list[Tool]]) -> list[str]:
    """What a tiny model's tokenizer is made from: the prompts, the calls and the tools, as they are shown."""
    texts = [solution.prompt for solution in solutions]
    texts += [json.dumps(call.arguments) for solution in solutions for call in solution.calls]
    for known in tools.values():
        shown = Shown(Exposure.FULL, tuple(known))
        texts += [shown.system, *(json.dumps(function) for function in shown.functions or ())]
    return texts


def load_tokenizer(args: Args) -> Any:
    """Of the model that learns."""
    return _loaded(args, AutoTokenizer)


def load_model(args: Args) -> Any:
    """The model that learns. Weights that are trained are kept in float32."""
    gpu_lora = torch.cuda.is_available() and bool(args.lora_rank)
    return _loaded(args, AutoModelForCausalLM, dtype=torch.bfloat16 if gpu_lora else torch.float32)


def _loaded(args: Args, kind: Any, **options: Any) -> Any:
    name = str(args.output_dir / "tiny") if args.model == "tiny" else args.model
    try:
        return kind.from_pretrained(name, **options)
    except (OSError, ValueError) as error:
        sys.exit(
            f"--model {args.model} cannot be loaded: {error}\n"
            "Give a folder with a model in it, 'tiny', or a name that the model hub or its local cache knows."
        )


# ---- Learning ----------------------------------------------------------------------------------------------


def train(args: Args, dataset: Any, tokenizer: Any) -> None:
    """Learn, and put the model with its tokenizer into final/, adapters merged."""
    lora = LoraConfig(r=args.lora_rank, lora_alpha=2 * args.lora_rank, target_modules="all-linear")
    trainer: Any = SFTTrainer(
        model=load_model(args),
        processing_class=tokenizer,
        args=sft_config(args),
        train_dataset=dataset.select_columns(["input_ids", "labels"]),
        peft_config=lora if args.lora_rank else None,
        callbacks=[JsonLines(args.output_dir / "metrics.jsonl")],
    )
    trainer.train()
    model = trainer.accelerator.unwrap_model(trainer.model)
    if args.lora_rank:
        model = model.merge_and_unload()
    if trainer.is_world_process_zero():
        model.save_pretrained(args.output_dir / "final")
        tokenizer.save_pretrained(args.output_dir / "final")
        print(f"the model is in {args.output_dir / 'final'}", flush=True)


def sft_config(args: Args) -> SFTConfig:
    """TRL's settings. Nothing is cut: what is too long was left out before."""
    gpu = torch.cuda.is_available()
    bf16 = gpu and torch.cuda.is_bf16_supported()
    return SFTConfig(
        output_dir=str(args.output_dir),
        max_steps=args.max_steps,
        per_device_train_batch_size=args.micro_batch,
        gradient_accumulation_steps=args.batch // args.micro_batch,
        learning_rate=learning_rate(args),
        lr_scheduler_type="cosine",
        warmup_steps=args.max_steps // 20,
        max_length=None,
        use_cpu=not gpu,
        bf16=bf16 if gpu else args.cpu_bf16,
        fp16=gpu and not bf16,
        gradient_checkpointing=gpu,
        logging_steps=max(1, args.max_steps // 50),
        save_strategy="no",
        report_to=[],
        seed=args.seed,
    )


def learning_rate(args: Args) -> float:
    """What was said, or what usually serves."""
    if args.learning_rate is not None:
        return args.learning_rate
    return 3e-3 if args.model == "tiny" else 2e-4 if args.lora_rank else 1e-5


# ---- What can be known to go wrong, before anything is loaded ----------------------------------------------


def check(args: Args) -> None:
    """Exit with a sentence where this run cannot work."""
    wrong: dict[str, bool] = {
        "run it without accelerate launch: demonstrations are played and learned by one process": (
            Processes.current().count > 1
        ),
        "--split test: the test split is for evaluation only; learn from another": args.split == "test",
        "--mistakes, --reads, --unfinished, --slips and --asks are shares, between 0 and 1": not all(
            0 <= share <= 1 for share in (args.mistakes, args.reads, args.unfinished, args.slips, args.asks)
        ),
        "--unfinished, --slips and --asks are more than 1 together": (
            args.unfinished + args.slips + args.asks > 1
        ),
        "--copies, --batch and --micro-batch must be 1 at least": (
            min(args.copies, args.batch, args.micro_batch) < 1
        ),
        f"--batch {args.batch} must be a multiple of --micro-batch {args.micro_batch}": (
            args.micro_batch > 0 and args.batch % args.micro_batch != 0
        ),
        f"--output-dir {args.output_dir} has a model in final/ already; give another folder": (
            (args.output_dir / "final").exists()
        ),
    }
    for sentence, is_so in wrong.items():
        if is_so:
            sys.exit(sentence)


def parse(words: Sequence[str]) -> Args:
    """The command line."""

    class Formatter(argparse.RawDescriptionHelpFormatter, argparse.ArgumentDefaultsHelpFormatter):
        pass

    parser: Any = HfArgumentParser(cast("Any", Args), description=__doc__, formatter_class=Formatter)
    found, unknown = parser.parse_args_into_dataclasses(list(words), return_remaining_strings=True)
    if unknown:
        parser.error(f"unknown: {' '.join(unknown)}")
    return cast("Args", found)


if __name__ == "__main__":
    try:
        main(parse(sys.argv[1:]), os.environ.get("SUBWORLDS_TOKEN"))
    except (
        NoSolutions,
        RolloutError,
        ServerDidNotStart,
        ServerError,
        ConnectionError,
        httpx.HTTPError,
    ) as error:
        sys.exit(f"{type(error).__name__}: {error}")
    except torch.OutOfMemoryError as error:
        sys.exit(f"out of GPU memory: {error}\nLess is needed with --micro-batch 1 or --lora-rank 16")
