"""What one episode may use, in training and in evaluation alike."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Cut(StrEnum):
    """Why an episode ended before the model ended it."""

    TURNS = "turns"
    CALLS = "calls"
    TOKENS = "tokens"
    SECONDS = "seconds"


@dataclass(frozen=True, slots=True)
class Limits:
    """What one episode may use."""

    turns: int = 12
    calls: int = 24
    turn_tokens: int = 512
    """The most that the model may write in one turn."""
    tokens: int = 4_096
    """All after the prompt: what the model wrote and what it was told."""
    seconds: float = 300.0
    """From its first turn, generation included."""
    output_characters: int = 2_000
    """Of one tool's output; what is more is cut, and the cut is marked."""
    context: int = 32_768
    """Of prompt and episode together; a prompt that leaves no room for `tokens` is refused."""

    def __post_init__(self) -> None:
        if self.turn_tokens > self.tokens:
            raise ValueError(f"a turn of {self.turn_tokens} tokens does not fit an episode of {self.tokens}")
