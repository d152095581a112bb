"""A few episodes of the last batch, printed as the model saw them: what goes wrong shows there first."""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback

from .batch import conversation_of
from .played import Played
from .rollout import Rollout

_SHOWN = 2


class ShowEpisodes(TrainerCallback):
    """Prints the first two episodes of a batch every so many steps, on the main process."""

    def __init__(self, rollout: Rollout, every: int) -> None:
        """Args:
        every: steps between looks; 0 for none.
        """
        self._rollout = rollout
        self._every = every

    def on_step_end(
        self, args: Any, state: Any, control: Any, processing_class: Any = None, **_: Any
    ) -> None:
        """Print, if it is time."""
        if self._every and state.global_step % self._every == 0 and state.is_world_process_zero:
            for episode in self._rollout.latest[:_SHOWN]:
                print(transcript(episode, processing_class), flush=True)


def transcript(episode: Played, tokenizer: Any) -> str:
    """How it ended, and then every token after the prompt, special ones included."""
    ended = episode.broken or (f"cut: {episode.cut}" if episode.cut else "ended by the model")
    head = f"---- {episode.assignment.task} · reward {episode.reward} · {episode.turns} turns · {ended}"
    text: str = tokenizer.decode(conversation_of(episode).ids, skip_special_tokens=False)
    return f"{head}\n{episode.assignment.prompt}\n>>>>\n{text}\n"
