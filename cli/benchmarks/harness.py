"""The same episodes as OpenEnv's own `build_harness_rollout_func` plays them: one after the other.

Its parts are the least that its interfaces ask for: a session that resets, calls and is done; a model step
that reads the messages it is given and writes a turn with transformers. Each episode has a connection of its
own, since its sessions are made and closed with the episode.
"""

from __future__ import annotations

import copy
import time
from dataclasses import dataclass, field
from typing import Any

import torch
from openenv.core.harness import (
    HarnessRunLimits,
    MCPHarnessAdapter,
    ModelStepResult,
    ResourceSession,
    ResourceSessionFactory,
    ToolResult,
    VerifyResult,
    build_harness_rollout_func,
)
from openenv.core.llm_client import LLMResponse
from openenv.core.llm_client import ToolCall as RequestedCall

from ...envs.client import SubworldsEnv
from ...training.assignments import Assignment
from ...training.conversation import ChatFormat
from ...training.exposure import Shown
from ...training.telling import told
from ...training.tool_calls import ToolRequest, read_turn
from ..failure import CommandFailed
from .rehearsal import EXPOSURE, LIMITS


@dataclass(slots=True)
class Harness:
    """Plays batches in OpenEnv's way, and notes where the time goes."""

    url: str
    generation_s: float = 0.0
    rewards: list[float] = field(default_factory=list[float])
    tokens: int = 0
    """Written by the model."""

    def play(self, prompts: list[Any], trainer: Any) -> None:
        """One batch."""
        rollout = build_harness_rollout_func(
            session_factory=_Sessions(self.url),
            harness_adapter=MCPHarnessAdapter(),
            model_step_builder=lambda trainer, session: _Step(self, trainer, session),
            limits=HarnessRunLimits(max_turns=LIMITS.turns),
        )
        self.generation_s = 0.0
        columns = rollout(prompts, trainer)
        self.rewards = columns["env_reward"]
        self.tokens = sum(map(len, columns["completion_ids"]))


class _Sessions(ResourceSessionFactory["_Session"]):
    def __init__(self, url: str) -> None:
        self._url = url

    def create(self, task: Any, seed: int | None = None, episode_id: str | None = None) -> _Session:
        return _Session(self._url, Assignment.of(task))


class _Session(ResourceSession):
    """One episode."""

    def __init__(self, url: str, assignment: Assignment) -> None:
        client: Any = SubworldsEnv(url)
        self._env = client.sync()
        self._assignment = assignment
        error = self._env.reset(task=assignment.task, seed=assignment.seed).observation.error
        if error is not None:
            raise CommandFailed(f"reset failed while it was measured: {error}")
        self.shown = Shown(EXPOSURE, tuple(self._env.list_tools()))

    def initial_messages(self) -> list[dict[str, Any]]:
        return self.shown.opening(self._assignment.prompt)

    def list_tools(self) -> list[Any]:
        return list(self.shown.tools)

    def call_tool(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        seen = self._env.call_tool(name, **arguments).observation
        return ToolResult(data=told(seen, LIMITS.output_characters))

    def verify(self, transcript: list[dict[str, Any]], final_state: Any = None) -> VerifyResult:
        return VerifyResult(env_reward=self._env.done(transcript[-1]["content"]).reward, done=True)

    def close(self) -> None:
        self._env.close()


class _Step:
    """Writes one turn of one episode."""

    def __init__(self, harness: Harness, trainer: Any, session: Any) -> None:
        self._harness = harness
        self._trainer = trainer
        self._shown: Shown = session.shown
        self._chat = ChatFormat(trainer.processing_class)

    def __call__(
        self, messages: list[dict[str, Any]], tools: list[Any], sampling: dict[str, Any]
    ) -> ModelStepResult:
        prompt = self._chat.open(messages, self._shown.functions)
        started = time.perf_counter()
        ids, logprobs = self._generate(prompt)
        self._harness.generation_s += time.perf_counter() - started
        text = self._chat.read(ids)
        calls = [each for each in read_turn(text).requests if isinstance(each, ToolRequest)]
        requested = [RequestedCall(str(place), each.name, each.arguments) for place, each in enumerate(calls)]
        return ModelStepResult(LLMResponse(text, requested), prompt, ids, logprobs)

    def _generate(self, prompt: list[int]) -> tuple[list[int], list[float]]:
        config = copy.copy(self._trainer.generation_config)
        config.max_new_tokens = LIMITS.turn_tokens
        config.return_dict_in_generate = config.output_logits = True
        ids = torch.tensor([prompt])
        with torch.no_grad():
            out: Any = self._trainer.model.generate(
                input_ids=ids, attention_mask=torch.ones_like(ids), generation_config=config
            )
        written = out.sequences[0, len(prompt) :]
        offered: Any = torch.log_softmax(torch.cat(out.logits) / self._trainer.temperature, dim=-1)
        return written.tolist(), offered.gather(1, written[:, None])[:, 0].tolist()
