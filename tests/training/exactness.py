"""What is exact about a rollout: its ids read as the conversation, its log-probabilities are the model's."""

from __future__ import annotations

import re
from typing import Any

import torch

from subworlds.training.exposure import Exposure, Shown
from subworlds.training.played import Played


def assert_exact(columns: dict[str, Any], trainer: Any, tools: Any, *, temperature: float = 1.0) -> None:
    """Check every row of a rollout that showed `tools` compactly against the trainer's model as it is now."""
    for row, episode in enumerate(columns["episode"]):
        prompt, ids, mask, logprobs = (
            columns[name][row] for name in ("prompt_ids", "completion_ids", "env_mask", "logprobs")
        )
        assert len(ids) == len(mask) == len(logprobs)
        assert all(noted == 0.0 for noted, mine in zip(logprobs, mask, strict=True) if not mine)
        _assert_reads_as_rendered(trainer.processing_class, tools, episode, prompt + ids, mask)
    assert largest_difference(columns, trainer, temperature=temperature) < 1e-4


def largest_difference(columns: dict[str, Any], trainer: Any, *, temperature: float = 1.0) -> float:
    """Between noted log-probabilities of tokens the model wrote, and a forward pass of it as it is now."""
    return max(
        abs(again - noted)
        for prompt, ids, mask, logprobs in zip(
            *(columns[name] for name in ("prompt_ids", "completion_ids", "env_mask", "logprobs")), strict=True
        )
        for again, noted, mine in zip(
            _recomputed(trainer.model, prompt, ids, temperature), logprobs, mask, strict=True
        )
        if mine
    )


def _recomputed(model: Any, prompt: list[int], ids: list[int], temperature: float) -> list[float]:
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([prompt + ids])).logits[0, len(prompt) - 1 : -1]
    distributions = torch.log_softmax(logits.float() / temperature, dim=-1)
    found: list[float] = distributions.gather(-1, torch.tensor(ids)[:, None])[:, 0].tolist()
    return found


def _assert_reads_as_rendered(
    tokenizer: Any, tools: Any, episode: Played, ids: list[int], mask: list[int]
) -> None:
    """The whole conversation, rebuilt as messages from its text, renders to that text; the model's turns are
    what is not masked."""
    messages: list[dict[str, str]] = [{"role": "system", "content": Shown(Exposure.COMPACT, tools).system}]
    text = tokenizer.decode(ids)
    for role, content in re.findall(
        r"<\|im_start\|>(user|assistant)\n(.*?)(?:<\|im_end\|>|\Z)", text, re.DOTALL
    ):
        results = re.findall(r"<tool_response>\n(.*?)\n</tool_response>", content, re.DOTALL)
        if role == "user" and results:
            messages += [{"role": "tool", "content": result} for result in results]
        else:
            messages.append({"role": role, "content": content})
    rendered: str = tokenizer.apply_chat_template(messages, tokenize=False)
    assert rendered.startswith(text)
    assert rendered.removeprefix(text) in ("\n", "<|im_end|>\n")
    turns = re.findall(r"<\|im_start\|>assistant\n(.*?(?:<\|im_end\|>|\Z))", text, re.DOTALL)
    assert len(turns) == episode.turns
    said = [token for token, mine in zip(ids[-len(mask) :], mask, strict=True) if mine]
    assert tokenizer.decode(said) == "".join(turns)
