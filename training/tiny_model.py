"""A small Qwen3 from scratch, with its own tokenizer and chat template: everything real but the size.

For tests and for machines without a GPU or a model hub. It knows nothing until it is taught (see warmup.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

_SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
_VOCABULARY = 1_200
CHAT_TEMPLATE = """\
{%- if tools or messages[0].role == 'system' %}
{{- '<|im_start|>system\\n' }}
{%- if messages[0].role == 'system' %}{{- messages[0].content }}{%- endif %}
{%- if tools %}
{{- '\\n\\n# Tools\\n' }}
{%- for tool in tools %}{{- '\\n' + (tool | tojson) }}{%- endfor %}
{%- endif %}
{{- '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
{%- if message.role == 'user' or message.role == 'assistant' %}
{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- elif message.role == 'tool' %}
{%- if loop.first or messages[loop.index0 - 1].role != 'tool' %}{{- '<|im_start|>user' }}{%- endif %}
{{- '\\n<tool_response>\\n' + message.content + '\\n</tool_response>' }}
{%- if loop.last or messages[loop.index0 + 1].role != 'tool' %}{{- '<|im_end|>\\n' }}{%- endif %}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}
"""
"""Qwen's chat format, less what only large models need."""


def tiny_tokenizer(
    texts: Iterable[str], words: Iterable[str] = (), *, longest: int | None = None
) -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer trained on `texts`.

    Args:
        words: texts that are one token each (record ids, tags).
        longest: let tokens run across words and signs, up to so many characters: fewer tokens for texts that
            come again and again. Without it a token is a part of one word.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=longest is None)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=_VOCABULARY,
        special_tokens=_SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
        max_token_length=longest,
    )
    tokenizer.train_from_iterator(texts, trainer)
    fast = cast("Any", PreTrainedTokenizerFast)(
        tokenizer_object=tokenizer,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        chat_template=CHAT_TEMPLATE,
    )
    fast.add_tokens(list(words))
    return cast("PreTrainedTokenizerFast", fast)


def save_tiny_model(
    folder: Path,
    texts: Iterable[str],
    words: Iterable[str] = (),
    *,
    longest: int | None = None,
    spread: tuple[float, float] = (0.02, 0.02),
    seed: int = 0,
) -> None:
    """Put a new one with its tokenizer into `folder`, to be loaded as any other model is.

    Args:
        texts, words, longest: see `tiny_tokenizer`.
        spread: see `tiny_model`.
    """
    tokenizer: Any = tiny_tokenizer(texts, words, longest=longest)
    tokenizer.save_pretrained(folder)
    cast("Any", tiny_model(tokenizer, spread=spread, seed=seed)).save_pretrained(folder)


def tiny_model(
    tokenizer: Any,
    *,
    seed: int = 0,
    hidden: int = 128,
    layers: int = 4,
    spread: tuple[float, float] = (0.02, 0.02),
) -> Qwen3ForCausalLM:
    """A Qwen3 of well under a million parameters, randomly initialised from `seed`.

    Args:
        spread: standard deviations of its first weights, and of its first embeddings.
    """
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=4,
        head_dim=32,
        max_position_embeddings=32_768,
        tie_word_embeddings=True,
        initializer_range=spread[0],
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
    )
    with torch.random.fork_rng():  # pyright: ignore[reportUnknownMemberType]
        torch.manual_seed(seed)  # pyright: ignore[reportUnknownMemberType]
        model = Qwen3ForCausalLM(config)
    with torch.no_grad():
        cast("Any", model).get_input_embeddings().weight.mul_(spread[1] / spread[0])
    return model
