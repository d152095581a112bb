"""A conversation as tokens: the model's own stay as it wrote them, the world's are made once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

_ASSISTANT_SAID = "7f3a assistant said 9c1e"
_BLOCKS = ("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>")
"""What turns are made of; in a tool's answer it would be a forgery."""


@dataclass(slots=True)
class Conversation:
    """Token ids of one episode. `ids`, `mask` and `logprobs` have one entry a token after the prompt."""

    prompt_ids: list[int]
    ids: list[int] = field(default_factory=list[int])
    mask: list[int] = field(default_factory=list[int])
    """1 for what the model wrote, 0 for what it was told."""
    logprobs: list[float] = field(default_factory=list[float])
    """Of what the model wrote, under the policy that wrote it; 0.0 elsewhere."""

    @property
    def context(self) -> list[int]:
        """All there is, for the next generation to go on from."""
        return self.prompt_ids + self.ids

    def model_said(self, ids: Sequence[int], logprobs: Sequence[float]) -> None:
        """Append what the model wrote, token for token."""
        if len(ids) != len(logprobs):
            raise ValueError(f"{len(ids)} tokens with {len(logprobs)} log-probabilities")
        self._append(ids, 1, logprobs)

    def world_said(self, ids: Sequence[int]) -> None:
        """Append what the model is told."""
        self._append(ids, 0, [0.0] * len(ids))

    def _append(self, ids: Sequence[int], mask: int, logprobs: Sequence[float]) -> None:
        self.ids += ids
        self.mask += [mask] * len(ids)
        self.logprobs += logprobs


class ChatFormat:
    """A tokenizer's chat template, cut where turns meet."""

    def __init__(self, tokenizer: Any, template_options: Mapping[str, Any] | None = None) -> None:
        """Args:
        tokenizer: a Hugging Face tokenizer with a chat template that knows tools.
        template_options: further variables of the template, `enable_thinking` for instance.

        Raises:
            ValueError: the tokenizer's end token is not what the template ends a turn with.
        """
        self._tokenizer = tokenizer
        self._options = dict(template_options or {})
        self.end_of_turn: int = tokenizer.eos_token_id
        self._special = [str(each) for each in tokenizer.added_tokens_decoder.values() if each.special]
        if not self._after_assistant([]).startswith(tokenizer.eos_token):
            raise ValueError(
                f"the chat template does not end a turn with the tokenizer's {tokenizer.eos_token}, so "
                "turns could not be told apart; set tokenizer.eos_token to the token that ends a turn"
            )

    def open(
        self, messages: Sequence[Mapping[str, str]], functions: Sequence[Mapping[str, Any]] | None
    ) -> list[int]:
        """The tokens before the model's first turn."""
        plain = [
            {**message, "content": _broken_up(message["content"], self._special)} for message in messages
        ]
        told = functions and json.loads(_broken_up(json.dumps(functions, ensure_ascii=False), self._special))
        return self._encode(self._render(plain, told, opening=True))

    def reply(self, results: Sequence[str]) -> list[int]:
        """The tokens between the model's end-of-turn token and its next turn: what its calls answered."""
        plain = [_broken_up(result, (*self._special, *_BLOCKS)) for result in results]
        return self._encode(self._after_assistant(plain).removeprefix(self._tokenizer.eos_token))

    def read(self, ids: Sequence[int]) -> str:
        """What the model wrote, without its end-of-turn token."""
        ended = bool(ids) and ids[-1] == self.end_of_turn
        text: str = self._tokenizer.decode(list(ids[:-1] if ended else ids), skip_special_tokens=False)
        return text

    def _after_assistant(self, results: Sequence[str]) -> str:
        """What the template puts after the assistant's text, when its calls answered `results`."""
        messages = [
            {"role": "user", "content": "?"},
            {"role": "assistant", "content": _ASSISTANT_SAID},
            *({"role": "tool", "content": result} for result in results),
        ]
        return self._render(messages, None, opening=bool(results)).rpartition(_ASSISTANT_SAID)[2]

    def _render(self, messages: Sequence[Mapping[str, str]], functions: Any, *, opening: bool) -> str:
        text: str = self._tokenizer.apply_chat_template(
            list(messages), tools=functions, tokenize=False, add_generation_prompt=opening, **self._options
        )
        return text

    def _encode(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids


def _broken_up(text: str, tokens: Sequence[str]) -> str:
    """`text` without any of `tokens` in it: a world's text can neither end a turn nor begin one."""
    for token in tokens:
        text = text.replace(token, f"{token[0]} {token[1:]}")
    return text
