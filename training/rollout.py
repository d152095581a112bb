"""The rollout function: a whole batch of episodes, played together.

Each turn is one batched generation over all live episodes, and then all their tool calls at once. Tokens go
in and tokens come out: what the model wrote is never tokenised again. Resets run while the model writes its
first turn, or learns from the batch before (see look_ahead.py); verdicts run while it writes others' turns.
An episode that a world, a verifier or a connection broke is played once more; if that fails too it has no
reward, so that it counts in no baseline, and no token of it is trained on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from .assignments import Assignment
from .batch import Batch, BatchSeconds, Offer, ToolsOf, conversation_of
from .conversation import ChatFormat
from .exposure import Exposure
from .limits import Limits
from .loop_thread import LoopThread
from .measures import measure_batch
from .played import Played
from .seats import Seats


def no_expert(number: int, assignment: Assignment) -> None:
    """Nobody may be asked."""


@dataclass(frozen=True, slots=True)
class RolloutSettings:
    """How episodes are played."""

    urls: tuple[str, ...]
    """Servers, used in turn."""
    token: str | None = field(default=None, repr=False)
    """The servers' control token."""
    exposure: Exposure = Exposure.FULL
    limits: Limits = field(default_factory=Limits)
    offer: Offer = field(default=no_expert, repr=False)
    """The expert that an episode may ask, if any; see expert_mix.py."""
    template_options: tuple[tuple[str, Any], ...] = ()
    """Further variables of the chat template, `("enable_thinking", False)` for instance."""


def make_rollout_func(settings: RolloutSettings) -> Rollout:
    """A `rollout_func` for TRL's GRPOTrainer. Prompts must be of `task_dataset`'s making.

    It returns `prompt_ids`, `completion_ids`, `logprobs` and `env_mask`, aligned to the token; `episode`, the
    Played of each row; and `seconds`, the BatchSeconds of the batch. The last two reach the reward function
    under those names. Connections are opened by the first batch, kept, and closed when a batch raises or when
    `close` of the returned object is called.

    Calling it raises RolloutError where a task cannot be played or every episode lost its server, and
    ConnectionError where no server can be reached.
    """
    return Rollout(settings)


class Rollout:
    """See `make_rollout_func`. Also a context manager, which closes its connections."""

    def __init__(self, settings: RolloutSettings) -> None:
        self.latest: tuple[Played, ...] = ()
        """The episodes of the last batch."""
        self._settings = settings
        self._thread: LoopThread | None = None
        self._seats = Seats(settings.urls, settings.token)
        self._tools: ToolsOf = {}
        self._expected: list[Assignment] = []
        """What was expected last."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __call__(self, prompts: list[Any], trainer: Any) -> dict[str, Any]:
        """Play one episode for each prompt."""
        settings = self._settings
        chat = ChatFormat(trainer.processing_class, dict(settings.template_options))
        batch = Batch(
            self._loop,
            self._seats,
            self._tools,
            chat,
            trainer,
            exposure=settings.exposure,
            limits=settings.limits,
            offer=settings.offer,
        )
        try:
            played = batch.play([Assignment.of(prompt) for prompt in prompts])
        except BaseException:
            self.close()
            raise
        self._loop.run(_on_loop(self._seats.end_batch))
        self.latest = tuple(played)
        return {**_as_columns(played, chat), "seconds": batch.seconds}

    def expect(self, prompts: Sequence[Any]) -> None:
        """Prepare the sessions of a batch that will probably be next. Returns at once.

        Raises RolloutError where a prompt is not of `task_dataset`'s making.
        """
        assignments = [Assignment.of(prompt) for prompt in prompts]
        if assignments != self._expected:  # a batch is handed out again for each step that learns from it
            self._expected = assignments
            self._loop.start(_on_loop(self._seats.expect, assignments))

    def close(self) -> None:
        """End every episode and close every connection. It can be called again all the same."""
        if self._thread is not None:
            self._thread.run(self._seats.close())
            self._thread.close()
            self._thread = None
            self._expected = []

    @property
    def _loop(self) -> LoopThread:
        if self._thread is None:
            self._thread = LoopThread()
            self._thread.__enter__()
        return self._thread


async def _on_loop(work: Callable[..., None], *arguments: Any) -> None:
    work(*arguments)


def _as_columns(played: Sequence[Played], chat: ChatFormat) -> dict[str, Any]:
    """What TRL asks for, a list a column. What is not valid trains nothing."""
    conversations = [conversation_of(episode) for episode in played]
    for episode, conversation in zip(played, conversations, strict=True):
        if not conversation.ids:
            conversation.world_said([chat.end_of_turn])
        if not episode.valid:
            conversation.mask = [0] * len(conversation.ids)
    return {
        "prompt_ids": [conversation.prompt_ids for conversation in conversations],
        "completion_ids": [conversation.ids for conversation in conversations],
        "logprobs": [conversation.logprobs for conversation in conversations],
        "env_mask": [conversation.mask for conversation in conversations],
        "episode": list(played),
    }


def episode_reward(
    prompts: list[Any],
    completions: list[Any],
    episode: Sequence[Played],
    seconds: Sequence[BatchSeconds],
    log_metric: Callable[[str, float], None],
    **_: Any,
) -> list[float | None]:
    """The reward function for GRPOTrainer: what the server paid, None for what is not valid.

    Logs the batch's figures on the way; see `measure_batch`.
    """
    for name, figure in measure_batch(episode, seconds[0]).items():
        log_metric(name, figure)
    return [each.reward if each.valid else None for each in episode]
