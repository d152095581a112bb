"""A LoRA adapter, from the command line to a model that anything can serve."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, PeftModel
from transformers import AutoModelForCausalLM

from subworlds.training import merged_model
from subworlds.training.merged_model import NotMergeable, save_merged
from subworlds.training.rollout import Rollout

from .conftest import APPLES, PEAR, MakeTrainer, prompts
from .exactness import assert_exact
from .test_rollout import settings
from .test_train_grpo import SHORT, run, steps

WORDS = ("--lora-rank", "4", "--learning-rate", "1e-2", "--max-steps", "2", "--save-steps", "1")


@pytest.fixture(scope="module")
def lora_run(taught: Path, server_url: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two steps of an adapter on the taught model, merged in the end."""
    folder = tmp_path_factory.mktemp("lora")
    run(*_words(taught, server_url, folder), "--save-merged")
    return folder


def _words(taught: Path, url: str, folder: Path) -> list[str | Path]:
    return ["--model", taught, "--env-url", url, "--output-dir", folder, "--skip-zero-shot", *WORDS, *SHORT]


def load(folder: Path, **options: Any) -> Any:
    models: Any = AutoModelForCausalLM
    return models.from_pretrained(folder, **options)


def test_only_the_adapter_is_trained_and_saved(lora_run: Path, taught: Path) -> None:
    assert (lora_run / "final" / "adapter_config.json").exists()
    assert not (lora_run / "final" / "model.safetensors").exists()
    adapted: Any = PeftModel.from_pretrained(load(taught), lora_run / "final")
    moved = [weight.abs().max().item() for name, weight in adapted.named_parameters() if "lora_B" in name]
    assert 0.0 < max(moved) < 0.1


def test_merged_model_is_base_and_adapter_in_16_bit(lora_run: Path, taught: Path) -> None:
    merged, base = load(lora_run / "merged"), load(taught)
    assert merged.dtype is torch.bfloat16
    assert merged.state_dict().keys() == base.state_dict().keys()
    ids = torch.arange(40)[None]
    with torch.no_grad():
        plain = base(input_ids=ids).logits
        adapted = PeftModel.from_pretrained(base, lora_run / "final")(input_ids=ids).logits
        found = merged.float()(input_ids=ids).logits
    assert (found - adapted).abs().mean() < 0.2 * (adapted - plain).abs().mean()


def test_a_resumed_adapter_goes_on_exactly_as_if_it_had_not_stopped(
    lora_run: Path, taught: Path, server_url: str, tmp_path: Path
) -> None:
    shutil.copytree(lora_run / "checkpoint-1", tmp_path / "checkpoint-1")
    shutil.copy(lora_run / "metrics.jsonl", tmp_path)
    run(*_words(taught, server_url, tmp_path), "--resume")
    for before, after in zip(steps(lora_run), steps(tmp_path), strict=True):
        for name in ("loss", "grad_norm", "reward", "env/calls", "completions/mean_length", "entropy"):
            assert after[name] == pytest.approx(before[name], abs=1e-6), (before["step"], name)


def test_what_an_adapted_model_writes_is_exact_to_the_token(
    server_url: str, make_trainer: MakeTrainer, kiosk_tools: Any
) -> None:
    adapter = LoraConfig(r=4, target_modules="all-linear", task_type="CAUSAL_LM")
    with Rollout(settings(server_url)) as rollout:
        trainer = make_trainer(rollout, adapter=adapter, learning_rate=1e-2)
        trainer.train()
        columns = rollout(prompts(*[APPLES] * 4, *[PEAR] * 4), trainer)
    assert_exact(columns, trainer, kiosk_tools)


def test_an_adapter_is_merged_later_too(
    lora_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    merged_model.main([str(lora_run / "final"), str(tmp_path / "half"), "--dtype", "float16"])
    assert load(tmp_path / "half").dtype is torch.float16
    assert str(tmp_path / "half") in capsys.readouterr().out
    with pytest.raises(NotMergeable, match="is not empty"):
        save_merged(lora_run / "final", tmp_path / "half")


def test_what_cannot_be_merged_is_named(lora_run: Path, taught: Path, tmp_path: Path) -> None:
    with pytest.raises(NotMergeable, match="must be the folder of an adapter"):
        save_merged(taught, tmp_path / "merged")
    shutil.copytree(taught, tmp_path / "four-bit")
    config = tmp_path / "four-bit" / "config.json"
    quantized = {"quant_method": "bitsandbytes", "load_in_4bit": True}
    config.write_text(json.dumps(json.loads(config.read_text()) | {"quantization_config": quantized}))
    with pytest.raises(NotMergeable, match="is quantized on disk; name the 16-bit model"):
        save_merged(lora_run / "final", tmp_path / "merged", base=str(tmp_path / "four-bit"))
    assert not (tmp_path / "merged").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--save-merged"], "add --lora-rank"),
        (["--save-merged", "--lora-rank", "4"], "merged is there already"),
    ],
)
def test_a_merge_that_cannot_be_is_said_before_the_run(
    lora_run: Path, tmp_path: Path, words: list[str], told: str
) -> None:
    shutil.copytree(lora_run / "merged", tmp_path / "merged")
    with pytest.raises(SystemExit, match=told):
        run("--model", "tiny", "--output-dir", tmp_path, *SHORT, *words)
