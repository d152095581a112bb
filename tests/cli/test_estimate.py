"""`subworlds estimate`: the bill, the command line that it prints, and what it refuses."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from subworlds.training import train_grpo

from .conftest import Command

BIG = ("--model", "Qwen/Qwen3-8B", "--gpu", "H200")


def test_bill_adds_up_to_the_gpu(subworlds: Command) -> None:
    document = subworlds("estimate", *BIG, "--json").json
    assert document["fits"]
    assert document["parameters"] == 8_190_735_360
    taken = sum(item["gib"] for item in document["items"])
    assert taken + document["left_gib"] == pytest.approx(document["memory_gib"], abs=0.1)
    assert {"activations", "vLLM: KV cache"} <= {item["name"] for item in document["items"]}


def test_page_for_people_ends_with_the_command(subworlds: Command) -> None:
    ran = subworlds("estimate", *BIG)
    assert ran.status == 0
    assert "8.19 billion parameters, on H200, 140.4 GiB" in ran.out
    assert re.search(r"^weights, 16 bit +15\.3 GiB", ran.out, re.MULTILINE)
    assert ran.out.splitlines()[-1].startswith("python training/train_grpo.py --model Qwen/Qwen3-8B --lora")


@pytest.mark.parametrize("gpu", ["T4", "A100-40", "A100-80", "H100", "H200"])
def test_printed_command_is_one_that_the_script_takes(subworlds: Command, gpu: str) -> None:
    command = subworlds("estimate", "--model", "Qwen/Qwen3-1.7B", "--gpu", gpu, "--json").json["command"]
    args = train_grpo.parse(command[2:])
    episodes = args.tasks_per_step * args.num_generations
    assert episodes % (args.micro_batch or args.num_generations) == 0
    assert args.vllm_mode == "colocate"


def test_what_is_settled_is_kept(subworlds: Command) -> None:
    settled = ("--lora-rank", "8", "--micro-batch", "2", "--context", "8192", "--vllm-mode", "server")
    command = subworlds("estimate", *BIG, *settled, "--json").json["command"]
    args = train_grpo.parse(command[2:])
    assert (args.lora_rank, args.micro_batch, args.context, args.vllm_mode) == (8, 2, 8192, "server")


def test_what_does_not_fit_is_said_with_what_would(subworlds: Command) -> None:
    ran = subworlds("estimate", "--model", "Qwen/Qwen3-8B", "--gpu", "A100-40")
    assert ran.status == 1
    assert "does not fit; nearest is:" in ran.out
    assert "a twentieth of 40.0 GiB must be left over" in ran.err
    assert "This would fit: python training/train_grpo.py --model Qwen/Qwen3-8B" in ran.err
    assert "a second such GPU for vLLM" in ran.err
    assert "--load-in-4bit" in ran.err


def test_more_memory_never_fits_less(subworlds: Command) -> None:
    fits = [
        subworlds("estimate", "--model", "Qwen/Qwen3-4B", "--memory", memory, "--json").json["fits"]
        for memory in ("12", "24", "40", "80", "140")
    ]
    assert fits == sorted(fits)
    assert set(fits) == {False, True}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--model", "Qwen/Qwen3-8B"), "say either --gpu NAME or --memory GIB"),
        ((*BIG, "--memory", "80"), "say either --gpu NAME or --memory GIB"),
        (("--model", "Qwen/Qwen3-8B", "--gpu", "RTX"), "known are T4, A100-40, A100-80, H100, H200"),
        (
            ("--model", "meta/llama", "--gpu", "T4"),
            "no model that is known by name; those are Qwen/Qwen3-0.6B",
        ),
        (("--model", "tiny", "--gpu", "T4"), "without a GPU"),
        ((*BIG, "--load-in-4bit", "--lora-rank", "0"), "weights in 4 bit cannot be trained"),
        ((*BIG, "--load-in-4bit", "--vllm-mode", "colocate"), "goes with --vllm-mode off"),
        ((*BIG, "--vllm-mode", "cloud"), "there are colocate, server, off"),
        ((*BIG, "--micro-batch", "3"), "32, must be a multiple of it"),
        (("--model", "Qwen/Qwen3-8B", "--memory", "-3"), "should be greater than or equal to 1"),
        (("--model", "Qwen/Qwen3-8B", "--memory", "inf"), "--memory inf: a number of GiB"),
    ],
)
def test_what_cannot_be_reckoned_is_bad_input(subworlds: Command, words: tuple[str, ...], told: str) -> None:
    ran = subworlds("estimate", *words)
    assert (ran.status, ran.out) == (2, "")
    assert told in ran.err


def test_folder_without_a_model_is_named(subworlds: Command, tmp_path: Path) -> None:
    ran = subworlds("estimate", "--model", tmp_path, "--gpu", "T4")
    assert ran.status == 2
    assert f"--model: {tmp_path} has no config.json" in ran.err


def test_estimate_of_a_known_model_loads_no_torch() -> None:
    code = (
        "import sys; from subworlds.cli.main import main\n"
        "sys.argv = ['subworlds', 'estimate', '--model', 'Qwen/Qwen3-8B', '--gpu', 'H100']\n"
        "try: main()\n"
        "except SystemExit as stopped: assert stopped.code == 0\n"
        "heavy = {'torch', 'transformers', 'trl'} & set(sys.modules); assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
