"""A LoRA adapter and its base as one model in 16 bit, for whatever serves plain models.

    python training/merged_model.py runs/grpo/final runs/grpo/merged
    python training/train_grpo.py --lora-rank 16 --save-merged ...      # or at the end of a run

The base is loaded anew in 16 bit from where the adapter says, also if it was held in 4 bit while the adapter
was trained. A merge into 4-bit weights would round the sum to one of 16 values in each block, and what an
adapter changes is mostly less than the steps between those: the merged model would be neither the one that
was trained nor the one it came from.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, Final

import torch
from peft import PeftConfig, PeftModel
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

DTYPES: Final = {"bfloat16": torch.bfloat16, "float16": torch.float16}


class NotMergeable(RuntimeError):
    """An adapter and its base cannot be made one model; says why."""


def save_merged(
    adapter: Path, folder: Path, *, base: str | None = None, dtype: torch.dtype = torch.bfloat16
) -> None:
    """Write base plus `adapter`, with its tokenizer, into `folder`. It needs memory for one in 16 bit.

    Args:
        adapter: the folder of a LoRA adapter.
        base: name or folder of its base; without it what the adapter says.
        dtype: torch.bfloat16 or torch.float16.

    Raises:
        NotMergeable: `folder` is in use, the adapter or its base cannot be loaded, or the base is quantized
            on disk.
    """
    if folder.exists() and any(folder.iterdir()):
        raise NotMergeable(f"{folder} is not empty; give another folder for the merged model")
    loaded = _load_base(adapter, base, dtype)
    peft: Any = PeftModel
    tokenizers: Any = AutoTokenizer
    merged = peft.from_pretrained(loaded, adapter).merge_and_unload(safe_merge=True)
    merged.save_pretrained(folder)
    tokenizers.from_pretrained(adapter).save_pretrained(folder)


def _load_base(adapter: Path, base: str | None, dtype: torch.dtype) -> Any:
    adapters: Any = PeftConfig
    configs: Any = AutoConfig
    models: Any = AutoModelForCausalLM
    try:
        name = base or adapters.from_pretrained(adapter).base_model_name_or_path
        if getattr(configs.from_pretrained(name), "quantization_config", None) is not None:
            raise NotMergeable(
                f"the base {name} is quantized on disk; name the 16-bit model that it was made from (--base)"
            )
        return models.from_pretrained(name, dtype=dtype)
    except (OSError, ValueError) as error:
        raise NotMergeable(
            f"{adapter} cannot be merged: {error}\nIt must be the folder of an adapter, and its base must be "
            "where the adapter's adapter_config.json says, or where --base says."
        ) from error


def main(words: list[str]) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("adapter", type=Path, help="The folder of the adapter: a run's final/.")
    parser.add_argument("folder", type=Path, help="Where the merged model goes.")
    parser.add_argument("--base", help="The base's name or folder, if it is not where the adapter says.")
    parser.add_argument(
        "--dtype", choices=[*DTYPES], default="bfloat16", help="16 bit of which kind; default: bfloat16."
    )
    args = parser.parse_args(words)
    save_merged(args.adapter, args.folder, base=args.base, dtype=DTYPES[args.dtype])
    print(f"the merged model is in {args.folder}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except NotMergeable as error:
        sys.exit(str(error))
