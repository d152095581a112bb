"""An agent whose model is in a folder, run by transformers: what evaluation sees is what training saw.

Needs the `train` extra. Episodes that wait for the model at the same time are generated for in one batch.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig

from .agents import AgentFailed
from .conversation import ChatFormat, Conversation
from .experts import Counsel
from .exposure import Exposure
from .limits import Limits
from .model_agent import ModelAgent, Said
from .tool_calls import Turn, read_turn

_ADAPTER = "adapter_config.json"


class ModelUnusable(Exception):
    """There is no model to play with; says why."""


class LocalModel:
    """A model and its tokenizer. Use as an async context manager; it may be asked by many at once."""

    def __init__(self, folder: Path, *, temperature: float = 1.0, seed: int = 0) -> None:
        """Load it.

        Args:
            folder: with a model and its tokenizer, or with a LoRA adapter (whose base is where it says).
            temperature: 0 always writes what is likeliest.
            seed: of the sampling. Which episodes share a batch depends on their timing, so only greedy runs,
                and runs of one episode at a time, are the same twice.

        Raises:
            ModelUnusable: it cannot be loaded, or its chat template is not one for us.
        """
        self.temperature = temperature
        self._tokenizer, self._model = _load(folder)
        self._device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self._model.to(self._device).eval()
        try:
            self.chat = ChatFormat(self._tokenizer, {"enable_thinking": False})
        except Exception as error:  # a template may raise anything
            raise ModelUnusable(f"the chat template in {folder} cannot be used: {error}") from error
        self.context = int(getattr(self._model.config, "max_position_embeddings", None) or 32_768)
        self._waiting: list[tuple[list[int], int, asyncio.Future[list[int]]]] = []
        self._asked = asyncio.Event()
        torch.manual_seed(seed)  # pyright: ignore[reportUnknownMemberType]

    async def __aenter__(self) -> Self:
        self._writer = asyncio.create_task(self._write_forever())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.cancel()
        await asyncio.gather(self._writer, return_exceptions=True)

    async def write(self, context: list[int], most_tokens: int) -> list[int]:
        """Go on with a conversation: the model's tokens, with the one that ended its turn if it ended.

        Raises:
            AgentFailed: it cannot; there is no memory left, for instance.
        """
        written: asyncio.Future[list[int]] = asyncio.get_running_loop().create_future()
        self._waiting.append((context, most_tokens, written))
        self._asked.set()
        return await written

    async def _write_forever(self) -> None:
        while True:
            await self._asked.wait()
            await asyncio.sleep(0)  # whoever is ready to ask shall be in the batch
            batch, self._waiting = self._waiting, []
            self._asked.clear()
            try:
                rows = await asyncio.to_thread(
                    self._generate, [context for context, _, _ in batch], max(most for _, most, _ in batch)
                )
            except Exception as error:  # such as no memory left; the episodes hear of it, and of what kind
                self._fail(batch, error)
                continue
            for (_, most, written), row in zip(batch, rows, strict=True):
                if not written.done():
                    written.set_result(row[:most])

    def _fail(
        self, batch: Sequence[tuple[list[int], int, asyncio.Future[list[int]]]], error: Exception
    ) -> None:
        for _, _, written in batch:
            if not written.done():
                written.set_exception(AgentFailed("model_failed", f"{type(error).__name__}: {error}"))

    def _generate(self, contexts: Sequence[list[int]], most_tokens: int) -> list[list[int]]:
        padding, end = self._tokenizer.pad_token_id, self.chat.end_of_turn
        if padding is None:
            padding = end
        width = max(map(len, contexts))
        ids = torch.tensor([[padding] * (width - len(each)) + each for each in contexts], device=self._device)
        attended = torch.tensor(
            [[0] * (width - len(each)) + [1] * len(each) for each in contexts], device=self._device
        )
        with torch.no_grad():
            out: Any = self._model.generate(
                input_ids=ids,
                attention_mask=attended,
                generation_config=self._sampling(most_tokens, padding, end),
            )
        return [_until_end(row, end) for row in out[:, width:].tolist()]

    def _sampling(self, most_tokens: int, padding: int, end: int) -> Any:
        config: Any = GenerationConfig
        common = {"max_new_tokens": most_tokens, "pad_token_id": padding, "eos_token_id": end}
        if self.temperature == 0:
            return config(**common, do_sample=False)
        return config(**common, do_sample=True, temperature=self.temperature, top_k=0, top_p=1.0)


class LocalAgent(ModelAgent):
    """Plays one episode."""

    def __init__(
        self,
        name: str,
        model: LocalModel,
        exposure: Exposure = Exposure.FULL,
        limits: Limits | None = None,
        counsel: Counsel | None = None,
    ) -> None:
        """Args:
        counsel: the expert that it may ask, if any.
        """
        super().__init__(name, exposure, limits or Limits(), counsel)
        self._model = model
        self._conversation = Conversation([])

    def _open(self, messages: Sequence[dict[str, str]]) -> None:
        prompt = self._model.chat.open(messages, self._shown.functions)
        room = self._model.context - len(prompt) - self._limits.tokens
        if room < 0:
            raise AgentFailed(
                "prompt_too_long",
                f"the prompt has {len(prompt)} tokens; with {self._limits.tokens} for the episode that is "
                f"over the model's context of {self._model.context}. Show the tools shorter: --tools compact",
            )
        self._conversation = Conversation(prompt)

    def _hear(self, results: Sequence[str]) -> bool:
        ids = self._model.chat.reply(results)
        if len(self._conversation.ids) + len(ids) + self._limits.turn_tokens > self._limits.tokens:
            return False
        self._conversation.world_said(ids)
        return True

    async def _write(self) -> Said:
        context = self._conversation.context
        ids = await self._model.write(context, self._limits.turn_tokens)
        self._conversation.model_said(ids, [0.0] * len(ids))
        text = self._model.chat.read(ids)
        self._account.transcript.append({"role": "assistant", "content": text})
        self._account.read_tokens = (self._account.read_tokens or 0) + len(context)
        self._account.written_tokens = (self._account.written_tokens or 0) + len(ids)
        if not ids or ids[-1] != self._model.chat.end_of_turn:
            return Said(Turn((), None), cut=True)
        return Said(read_turn(text))


def _load(folder: Path) -> tuple[Any, Any]:
    """The tokenizer and the model. Nothing is fetched but what an adapter or a name asks for."""
    tokenizers: Any = AutoTokenizer
    models: Any = AutoModelForCausalLM
    if not folder.is_dir():
        raise ModelUnusable(f"{folder} is not a folder with a model in it")
    try:
        if not (folder / _ADAPTER).exists():
            return tokenizers.from_pretrained(folder), models.from_pretrained(folder, dtype="auto")
        from peft import AutoPeftModelForCausalLM

        adapters: Any = AutoPeftModelForCausalLM
        return tokenizers.from_pretrained(folder), adapters.from_pretrained(folder, dtype="auto")
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise ModelUnusable(f"the model in {folder} cannot be loaded: {error}") from error


def _until_end(ids: list[int], end: int) -> list[int]:
    """A row up to and with its first end token: what follows is padding."""
    return ids[: ids.index(end) + 1] if end in ids else ids
