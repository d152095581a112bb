"""Train an agent with GRPO on a server's worlds.

    python training/train_grpo.py --vllm-mode colocate --max-steps 200     # Qwen3-0.6B on one GPU
    python training/train_grpo.py --vllm-mode colocate --model Qwen/Qwen3-8B --lora-rank 32
    python training/train_grpo.py --model tiny --tools compact --max-steps 3 --skip-zero-shot
    accelerate launch --num_processes 4 training/train_grpo.py ...         # several GPUs

The third needs no GPU and downloads nothing: everything in it is real but the model's size.

This page reads from top to bottom as a run goes: what may be said on the command line; the run; its tasks;
its model; the trainer, whose rollout function plays all episodes of a batch together on the server; and a
look at ten episodes before the first step, since GRPO learns nothing where every episode earns the same. A
run leaves metrics.jsonl, checkpoints and, in final/, the model or its adapter (with --save-merged also the
two as one model in 16 bit, in merged/).

How a verdict becomes an advantage: the server verifies the final database and pays a reward in [0, 1]; an
invalid episode (world or verifier broke) pays None and counts nowhere. TRL subtracts the mean reward of the
`num_generations` episodes of the same task and divides by their deviation; the loss weighs by that the
log-probability of every token that the model wrote itself (`env_mask` 1), and of no other.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean
from typing import Any, cast
from urllib.parse import urlsplit

import httpx
import torch
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig, HfArgumentParser, set_seed
from trl.trainer.grpo_config import GRPOConfig
from trl.trainer.grpo_trainer import GRPOTrainer

from subworlds.envs.client import ServerError, SubworldsEnv
from subworlds.envs.models import TaskCard
from subworlds.training.assignments import RolloutError, prompt_of, task_dataset
from subworlds.training.chat_endpoint import EndpointSettings
from subworlds.training.checkpoints import last_whole_checkpoint
from subworlds.training.curriculum import STATE_FILE as CURRICULUM_STATE
from subworlds.training.curriculum import (
    Curriculum,
    CurriculumCallback,
    CurriculumLost,
    CurriculumSettings,
    CurriculumTrainer,
)
from subworlds.training.env_server import ServerDidNotStart, env_server
from subworlds.training.expert_mix import STATE_FILE as EXPERT_STATE
from subworlds.training.expert_mix import AdaptiveMix, Counselling, ExpertCallback, FixedMix
from subworlds.training.experts import Expert, GoldExpert, ModelExpert
from subworlds.training.exposure import Exposure, Shown
from subworlds.training.limits import Limits
from subworlds.training.look_ahead import announced
from subworlds.training.measures import JsonLines, append_line
from subworlds.training.merged_model import NotMergeable, save_merged
from subworlds.training.payment import Payment, reward_func
from subworlds.training.processes import Processes
from subworlds.training.raw_episodes import ShowEpisodes
from subworlds.training.rollout import Rollout, RolloutSettings, no_expert
from subworlds.training.solutions import NoSolutions, read_solutions
from subworlds.training.tiny_model import save_tiny_model

METRICS = "metrics.jsonl"
FINAL, MERGED = "final", "merged"
ZERO_SHOT_EPISODES = 10
VOCABULARY_WORLDS = 20


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
    output_dir: Path = _said("Where metrics.jsonl, checkpoints and final/ go.", Path("runs/grpo"))
    max_steps: int = _said("Optimiser steps.", 200)
    resume: bool = _said("Go on from the last checkpoint in --output-dir.", False)

    env_url: list[str] = _said(
        "A running server to play on; repeat it to spread episodes over several. SUBWORLDS_TOKEN is sent as "
        "their token. Without it, one is started for this run.",
        [],
    )
    env_port: int = _said("Port of the server that is started; 0 takes any free one.", 0)
    pack: list[Path] = _said("A folder of worlds for it, or several; without it the built-in packs.", [])
    split: str = _said("Train on the tasks of this split. 'test' is refused: it is for evaluation.", "train")
    scenario: list[str] = _said("Train on these worlds only; without it on all.", [])

    curriculum: bool = _said(
        "Begin with the easy tasks; a level opens when the one before it earns more than 0.30.", False
    )
    expert: str = _said(
        "An expert that some episodes may ask: 'gold' knows the solutions of --pack; 'openai:MODEL' is a "
        "model at --expert-url, whose key is read from SUBWORLDS_EXPERT_KEY.",
        "none",
    )
    expert_url: str = _said("Its OpenAI-compatible endpoint, up to /v1.", "http://127.0.0.1:8002/v1")
    expert_mix: str = _said(
        "The share of episodes that may ask: 'adaptive' (many, half, few, as calls break the format less "
        "often), or a number between 0 and 1.",
        "adaptive",
    )

    reward: Payment = _said(
        "What an episode is paid: 'rubric' (success first, then how it came about), 'success' (1 or 0), or "
        "'shuffled' (the success of another episode of the task: a control, which must learn nothing).",
        Payment.RUBRIC,
    )

    tasks_per_step: int = _said("Tasks in one step.", 4)
    num_generations: int = _said("Episodes of each task, which are compared with each other.", 8)
    micro_batch: int = _said(
        "Episodes in one forward and backward pass; fewer need less memory. 0: as many as --num-generations.",
        0,
    )
    turns: int = _said("Turns an episode may have.", 12)
    turn_tokens: int = _said("Tokens the model may write in one turn.", 512)
    tokens: int = _said("Tokens an episode may have after its prompt, the world's included.", 4096)
    context: int = _said("Tokens it may have with its prompt; vLLM reserves memory for that many.", 16_384)
    tools: Exposure = _said(
        "How tools are shown: 'full' schemas, 'compact' (a line each; for small models and long tool lists), "
        "or 'meta' (two tools that list and call the others).",
        Exposure.FULL,
    )

    vllm_mode: str = _said(
        "How text is generated: 'colocate' (vLLM beside the trainer on its GPU), 'server' "
        "(a `trl vllm-serve` of yours on another), or 'off' (transformers: slow, runs everywhere).",
        "off",
        choices=["off", "colocate", "server"],
    )
    vllm_memory: float = _said("Share of the GPU's memory for vLLM, with colocate.", 0.35)
    vllm_url: str = _said("Where `trl vllm-serve` listens, with server.", "http://127.0.0.1:8001")
    temperature: float = _said("Of sampling, and so of the policy that is trained.", 1.0)

    learning_rate: float | None = _said("Without it: 1e-6, with LoRA 1e-5, for 'tiny' 3e-4.")
    lora_rank: int = _said("Train a LoRA adapter of this rank; 0 trains all weights.", 0)
    load_in_4bit: bool = _said("Hold the base in 4 bit; needs a GPU, bitsandbytes and --lora-rank.", False)
    save_merged: bool = _said(
        "Save adapter and base as one model in 16 bit as well, in merged/; see merged_model.py.", False
    )

    save_steps: int = _said("Steps between checkpoints.", 50)
    show_every: int = _said("Steps between looks at raw episodes, which are printed; 0 prints none.", 10)
    report_to: str = _said(
        "Where figures go besides metrics.jsonl; 'auto' is tensorboard where it is installed.",
        "auto",
        choices=["auto", "tensorboard", "trackio", "wandb", "none"],
    )
    skip_zero_shot: bool = _said("Train without the look at ten episodes, whatever they earn.", False)
    seed: int = _said("Of weights, sampling, the order of tasks, and every world.", 0)


def main(args: Args, token: str | None, expert_key: str | None = None) -> None:
    """One run, from the command line to the saved model."""
    check(args)
    set_seed(args.seed)
    args.output_dir.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        urls = args.env_url or [stack.enter_context(own_server(args))]
        tasks = asyncio.run(fetch_tasks(urls[0], token, args))
        print(f"training on {len(tasks)} tasks of split '{args.split}' at {', '.join(urls)}", flush=True)
        if args.model == "tiny" and not args.resume:
            make_tiny_model(args, asyncio.run(fetch_texts(urls[0], token, tasks)))
        tokenizer, model = load_model(args)
        counselling = make_counselling(args, tasks, expert_key)
        rollout = stack.enter_context(Rollout(rollout_settings(args, urls, token, counselling)))
        trainer = make_trainer(args, rollout, tasks, tokenizer, model, counselling)
        if not args.skip_zero_shot and not args.resume:
            look_before_training(args, trainer, rollout, tasks)
        trainer.train(resume_from_checkpoint=checkpoint_to_resume(args))
        trainer.save_model(str(args.output_dir / FINAL))
    if args.save_merged and Processes.current().is_main:
        save_merged(args.output_dir / FINAL, args.output_dir / MERGED)


# ---- The tasks ---------------------------------------------------------------------------------------------


async def fetch_tasks(url: str, token: str | None, args: Args) -> list[TaskCard]:
    """The tasks of the split, as the server lists them: none among them failed certification."""
    env = SubworldsEnv(url, token=token)
    try:
        splits = await env.list_splits()
    except httpx.HTTPError as error:
        sys.exit(
            f"{url}: no server answers ({error}); start one with `subworlds serve`, or leave out --env-url"
        )
    if args.split not in splits:
        sys.exit(f"--split {args.split}: there is no such split; the server has {', '.join(splits)}")
    found = await env.list_tasks(args.split)
    chosen = [card for card in found if not args.scenario or card.scenario in args.scenario]
    if not chosen:
        sys.exit(f"--scenario {' '.join(args.scenario)}: no task of split '{args.split}' is in it")
    return chosen


def make_dataset(args: Args, tasks: Sequence[TaskCard]) -> Any:
    """The tasks of every step, in order: all of them, shuffled by --seed, as often as is needed.

    TRL reads it once from front to back, so a resumed run meets the tasks that it would have met. A
    curriculum draws for itself.
    """
    if args.curriculum:
        return task_dataset(tasks, seed=args.seed)
    chance, needed = random.Random(args.seed), args.max_steps * args.tasks_per_step
    order: list[TaskCard] = []
    while len(order) < needed:
        order += chance.sample(tasks, len(tasks))
    return task_dataset(order[:needed], seed=args.seed)


# ---- The model ---------------------------------------------------------------------------------------------


def make_tiny_model(args: Args, texts: Sequence[str]) -> None:
    """A random model in tiny/, whose tokenizer knows the words of these worlds. All processes wait for it."""
    processes = Processes.current()
    if processes.is_main:
        save_tiny_model(args.output_dir / "tiny", texts, seed=args.seed)
    processes.wait()


async def fetch_texts(url: str, token: str | None, tasks: Sequence[TaskCard]) -> list[str]:
    """Every prompt, and the tools of a few worlds, as a model is shown them."""
    one_of_each = {card.scenario: card.id for card in tasks}
    texts = [card.prompt for card in tasks]
    async with SubworldsEnv(url, token=token) as env:
        for task in list(one_of_each.values())[:VOCABULARY_WORLDS]:
            await env.reset(task=task)
            texts += [
                json.dumps(shown)
                for shown in Shown(Exposure.FULL, tuple(await env.list_tools())).functions or ()
            ]
    return texts


def load_model(args: Args) -> tuple[Any, Any]:
    """The tokenizer and the model that is trained."""
    name = str(args.output_dir / "tiny") if args.model == "tiny" else args.model
    options: dict[str, Any] = {"dtype": weight_type(args)}
    if args.load_in_4bit:
        quantization: Any = BitsAndBytesConfig
        options["quantization_config"] = quantization(
            load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=options["dtype"]
        )
    tokenizers: Any = AutoTokenizer
    models: Any = AutoModelForCausalLM
    try:
        return tokenizers.from_pretrained(name), models.from_pretrained(name, **options)
    except (OSError, ValueError) as error:
        sys.exit(
            f"--model {args.model} cannot be loaded: {error}\n"
            "Give a folder with a model in it, 'tiny', or a name that the model hub or its local cache knows."
        )


def weight_type(args: Args) -> torch.dtype:
    """Weights that are trained are kept in float32: steps of 1e-6 would vanish in a rounding to 16 bit."""
    if not torch.cuda.is_available() or not args.lora_rank:
        return torch.float32
    return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16


# ---- The trainer -------------------------------------------------------------------------------------------


def rollout_settings(
    args: Args, urls: Sequence[str], token: str | None, counselling: Counselling | None
) -> RolloutSettings:
    """How episodes are played."""
    limits = Limits(turns=args.turns, turn_tokens=args.turn_tokens, tokens=args.tokens, context=args.context)
    return RolloutSettings(
        urls=tuple(urls),
        token=token,
        exposure=Exposure(args.tools),
        limits=limits,
        template_options=(("enable_thinking", False),),
        offer=counselling.offer if counselling else no_expert,
    )


def make_counselling(args: Args, tasks: Sequence[TaskCard], key: str | None) -> Counselling | None:
    """The expert that some episodes may ask, and the share of those episodes."""
    if args.expert == "none":
        return None
    expert: Expert
    if args.expert == "gold":
        solutions = read_solutions(args.pack, args.split)
        if unsolved := {card.id for card in tasks} - {solution.task for solution in solutions}:
            sys.exit(f"--expert gold: --pack lacks {len(unsolved)} tasks' solutions: {min(unsolved)}, ...")
        expert = GoldExpert(solutions)
    else:
        try:
            expert = ModelExpert(EndpointSettings(args.expert_url, args.expert.removeprefix("openai:"), key))
        except ValueError as error:
            sys.exit(f"--expert {args.expert}: {error}")
    mix = AdaptiveMix() if args.expert_mix == "adaptive" else FixedMix(float(args.expert_mix))
    return Counselling(expert, mix)


def make_trainer(
    args: Args,
    rollout: Rollout,
    tasks: Sequence[TaskCard],
    tokenizer: Any,
    model: Any,
    counselling: Counselling | None,
) -> Any:
    """A GRPOTrainer whose rollouts are episodes on the servers, and whose reward is what they paid."""
    options: dict[str, Any] = {
        "model": model,
        "processing_class": tokenizer,
        "reward_funcs": [
            reward_func(Payment(args.reward), seed=args.seed),
            *([counselling.reward_func()] if counselling else ()),
        ],
        "args": grpo_config(args),
        "train_dataset": announced(make_dataset(args, tasks), rollout),
        "rollout_func": rollout,
        "peft_config": adapter(args),
        "callbacks": [
            JsonLines(args.output_dir / METRICS),
            ShowEpisodes(rollout, args.show_every),
            *([ExpertCallback(counselling, rollout)] if counselling else ()),
        ],
    }
    if not args.curriculum:
        return vllm_or_exit(args, partial(GRPOTrainer, **options))
    curriculum = Curriculum([card.difficulty for card in tasks], CurriculumSettings(seed=args.seed))
    options["callbacks"].append(
        CurriculumCallback(curriculum, rollout, {card.id: card.difficulty for card in tasks})
    )
    return vllm_or_exit(args, partial(CurriculumTrainer, curriculum=curriculum, **options))


def vllm_or_exit(args: Args, make: Callable[[], Any]) -> Any:
    """Make the trainer, and vLLM with it; where vLLM cannot start, say what it said."""
    try:
        return make()
    except torch.OutOfMemoryError:
        raise
    except (ValueError, RuntimeError) as error:
        if args.vllm_mode != "colocate":
            raise
        sys.exit(
            f"--vllm-mode colocate: vLLM did not start: {error}\nIt was to make room for conversations of "
            f"--context {args.context} tokens in --vllm-memory {args.vllm_memory} of the GPU."
        )


def checkpoint_to_resume(args: Args) -> str | None:
    """The last checkpoint that is whole, if this run goes on from one."""
    if not args.resume:
        return None
    states = [CURRICULUM_STATE] * args.curriculum
    states += [EXPERT_STATE] * (args.expert != "none" and args.expert_mix == "adaptive")
    found = last_whole_checkpoint(args.output_dir, states)
    if found is None:
        sys.exit(f"--resume: no checkpoint in {args.output_dir} is whole; begin anew in another folder")
    return str(found)


def adapter(args: Args) -> LoraConfig | None:
    """LoRA on every linear layer, if it was asked for."""
    if not args.lora_rank:
        return None
    return LoraConfig(
        r=args.lora_rank, lora_alpha=2 * args.lora_rank, target_modules="all-linear", task_type="CAUSAL_LM"
    )


def grpo_config(args: Args) -> GRPOConfig:
    """TRL's settings. A step's episodes are generated at once and learnt from in micro-batches."""
    gpu = torch.cuda.is_available()
    bf16 = gpu and torch.cuda.is_bf16_supported()
    micro_batch = args.micro_batch or args.num_generations
    return GRPOConfig(
        output_dir=str(args.output_dir),
        max_steps=args.max_steps,
        per_device_train_batch_size=micro_batch,
        gradient_accumulation_steps=episodes_per_process(args) // micro_batch,
        num_generations=args.num_generations,
        shuffle_dataset=False,
        max_completion_length=args.tokens,
        temperature=args.temperature,
        learning_rate=learning_rate(args),
        lr_scheduler_type="constant",
        beta=0.0,
        use_cpu=not gpu,
        bf16=bf16,
        fp16=gpu and not bf16,
        activation_checkpointing=gpu,
        logging_steps=1,
        save_steps=args.save_steps,
        report_to=reporters(args),
        seed=args.seed,
        use_vllm=args.vllm_mode != "off",
        vllm_mode="server" if args.vllm_mode == "server" else "colocate",
        vllm_server_base_url=args.vllm_url if args.vllm_mode == "server" else None,
        vllm_gpu_memory_utilization=args.vllm_memory,
        vllm_max_model_length=args.context,
    )


def episodes_per_process(args: Args) -> int:
    """How many of a step's episodes each process plays."""
    return args.tasks_per_step * args.num_generations // Processes.current().count


def learning_rate(args: Args) -> float:
    """What was said, or what usually serves."""
    if args.learning_rate is not None:
        return args.learning_rate
    return 3e-4 if args.model == "tiny" else 1e-5 if args.lora_rank else 1e-6


def reporters(args: Args) -> list[str]:
    """Where figures go besides metrics.jsonl."""
    if args.report_to == "auto":
        return ["tensorboard"] if find_spec("tensorboard") else []
    return [] if args.report_to == "none" else [args.report_to]


def own_server(args: Args) -> AbstractContextManager[str]:
    """A server for this process alone, gone when the run is over."""
    room = 2 * max(episodes_per_process(args), ZERO_SHOT_EPISODES) + 1  # half of it for what comes next
    return env_server(args.pack, port=args.env_port, capacity=room)


# ---- Before the first step ---------------------------------------------------------------------------------


def look_before_training(args: Args, trainer: Any, rollout: Rollout, tasks: Sequence[TaskCard]) -> None:
    """Play ten episodes. Where none earns anything there is nothing to prefer, and nothing to learn."""
    processes = Processes.current()
    few = [tasks[place % len(tasks)] for place in range(ZERO_SHOT_EPISODES)]
    rollout([prompt_of(card, seed=args.seed) for card in processes.share(few)], trainer)
    valid = processes.gather([(each.complete, each.reward or 0.0) for each in rollout.latest if each.valid])
    if not valid:
        sys.exit(f"no zero-shot episode was valid; the first: {rollout.latest[0].broken}")
    success, reward = map(fmean, zip(*valid, strict=True))
    if processes.is_main:
        figures = {"step": 0, "zero_shot/success_rate": success, "zero_shot/reward": reward}
        append_line(args.output_dir / METRICS, figures)
    if reward == 0.0:
        sys.exit(
            f"all {len(valid)} zero-shot episodes earned 0: GRPO would have nothing to prefer. Start from a "
            "model that sometimes succeeds (a larger one, or one that was warmed up on solutions), choose "
            "easier tasks (--scenario, --split), show the tools otherwise (--tools), or give it more room "
            "(--turns, --turn-tokens). --skip-zero-shot trains all the same."
        )


# ---- What can be known to go wrong, before anything is loaded ----------------------------------------------


def check(args: Args) -> None:
    """Exit with a sentence where this run cannot work."""
    processes, micro_batch = Processes.current().count, args.micro_batch or args.num_generations
    has_checkpoint, merged = any(args.output_dir.glob("checkpoint-*")), args.output_dir / MERGED
    wrong: dict[str, bool] = {
        "--split test: the test split is for evaluation only; train on another": args.split == "test",
        f"--tasks-per-step {args.tasks_per_step} times --num-generations {args.num_generations} must be a "
        f"multiple of {processes} processes times --micro-batch {micro_batch}": (
            args.tasks_per_step * args.num_generations % (processes * micro_batch) != 0
        ),
        "--num-generations must be 2 at least: episodes are compared": args.num_generations < 2,
        "--turn-tokens must not be more than --tokens": args.turn_tokens > args.tokens,
        "--load-in-4bit: weights in 4 bit cannot be trained; add --lora-rank 16": (
            args.load_in_4bit and not args.lora_rank
        ),
        "--load-in-4bit takes --vllm-mode off: for vLLM the adapter would be merged into 4-bit weights": (
            args.load_in_4bit and args.vllm_mode != "off"
        ),
        "--load-in-4bit needs a GPU, and there is none": (
            args.load_in_4bit and not torch.cuda.is_available()
        ),
        "--load-in-4bit needs the package bitsandbytes": args.load_in_4bit and not find_spec("bitsandbytes"),
        "--save-merged: there is no adapter to merge; add --lora-rank 16": (
            args.save_merged and not args.lora_rank
        ),
        f"--save-merged: {merged} is there already; give another --output-dir, or move it away": (
            args.save_merged and merged.exists()
        ),
        f"--vllm-mode {args.vllm_mode} needs the package vllm: pip install '.[train,vllm]'": (
            args.vllm_mode != "off" and not find_spec("vllm")
        ),
        "--vllm-mode server needs a GPU, since weights travel to vLLM through NCCL, and there is none": (
            args.vllm_mode == "server" and not torch.cuda.is_available()
        ),
        "--vllm-mode colocate without a GPU: vLLM's CPU build drops the weights that training writes to, "
        "unless tests/vllm/cpu_plugin is installed beside it (as `make test-vllm` does)": (
            args.vllm_mode == "colocate"
            and not torch.cuda.is_available()
            and not find_spec("vllm_cpu_trainable")
        ),
        f"--report-to {args.report_to} needs the package {args.report_to}": (
            args.report_to not in ("auto", "none") and not find_spec(args.report_to)
        ),
        f"--expert {args.expert}: there are none, gold and openai:MODEL": (
            args.expert not in ("none", "gold") and not args.expert.startswith("openai:")
        ),
        f"--expert-mix {args.expert_mix}: 'adaptive', or a number between 0 and 1": not is_mix(
            args.expert_mix
        ),
        f"--resume: there is no checkpoint in {args.output_dir}": (args.resume and not has_checkpoint),
        f"--output-dir {args.output_dir} has the checkpoints of another run in it: go on with --resume, or "
        "give another folder": (not args.resume and has_checkpoint),
    }
    for sentence, is_so in wrong.items():
        if is_so:
            sys.exit(sentence)
    if args.vllm_mode == "server":
        require_listener(args.vllm_url)
    if args.vllm_mode == "colocate" and torch.cuda.is_available():
        require_gpu_memory(args.vllm_memory)


def is_mix(text: str) -> bool:
    """Whether it is 'adaptive', or a share."""
    try:
        return text == "adaptive" or 0 <= float(text) <= 1
    except ValueError:
        return False


def require_listener(url: str) -> None:
    """Exit unless somebody listens at `url`."""
    place = urlsplit(url)
    try:
        socket.create_connection((place.hostname or "", place.port or 80), timeout=10).close()
    except OSError as error:
        sys.exit(f"--vllm-url {url}: nobody answers ({error}); start `trl vllm-serve --model ... --port ...`")


def require_gpu_memory(share: float) -> None:
    """Exit unless vLLM's share of the GPU is free."""
    free, total = torch.cuda.mem_get_info()
    if free < share * total:
        sys.exit(
            f"--vllm-memory {share}: that is {share * total / 2**30:.1f} GiB of this GPU, but only "
            f"{free / 2**30:.1f} GiB are free; end what else runs on it, or ask for less"
        )


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
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    try:
        expert_key = os.environ.pop("SUBWORLDS_EXPERT_KEY", None)
        main(parse(sys.argv[1:]), os.environ.get("SUBWORLDS_TOKEN"), expert_key)
    except (
        RolloutError,
        CurriculumLost,
        NotMergeable,
        NoSolutions,
        ServerDidNotStart,
        ServerError,
        ConnectionError,
        httpx.HTTPError,
    ) as error:
        sys.exit(f"{type(error).__name__}: {error}")
    except KeyboardInterrupt:
        sys.exit("interrupted: --resume goes on from the last checkpoint, if there is one yet")
    except torch.OutOfMemoryError as error:
        sys.exit(
            f"out of GPU memory: {error}\nLess is needed with --micro-batch 1, --lora-rank 16, fewer --tokens"
        )
