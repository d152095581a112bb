"""Episodes that a checker plays: calls in, outcomes and the database that they left out."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from ...scenarios.manager import ScenarioManager
from ...scenarios.session import Session, WorldCrashed
from ...scenarios.task import ToolCall
from ...scenarios.tool import ToolResult

_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Played:
    """An episode that has ended. Its database is there for as long as the block that played it."""

    outcomes: tuple[ToolResult, ...]
    initial: Path
    final: Path | None
    """None where the world did not live to the end."""

    @property
    def failed_call(self) -> int | None:
        """The place of the first call that failed, from 0; None where all succeeded."""
        return next((n for n, outcome in enumerate(self.outcomes) if outcome.failure is not None), None)


class Player:
    """Plays episodes of the worlds of one manager, and counts them."""

    def __init__(self, manager: ScenarioManager) -> None:
        self.manager = manager
        self.episodes = 0

    @asynccontextmanager
    async def played(
        self,
        scenario: str,
        calls: Sequence[ToolCall],
        *,
        seed: int = 0,
        clock_offset_s: float = 0.0,
        database: Path | None = None,
    ) -> AsyncGenerator[Played]:
        """Play calls, all of them, whether or not they succeed.

        Raises:
            WorldCrashed, ScenarioError, ServerFull, SandboxError
        """
        self.episodes += 1
        session = await self.manager.start_session(
            scenario, seed=seed, clock_offset_s=clock_offset_s, counted=False, database=database
        )
        try:
            outcomes = [await session.call(call.tool, call.arguments) for call in calls]
            yield Played(tuple(outcomes), session.snapshot, await _finished(session))
        finally:
            await session.close()


async def _finished(session: Session) -> Path | None:
    try:
        return await session.finish()
    except WorldCrashed:
        return None


def cut(text: str) -> str:
    """As much of a text as a finding shows."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def as_text(outcome: ToolResult) -> str:
    """An outcome in which equal ones are equal texts."""
    return json.dumps(asdict(outcome), sort_keys=True, ensure_ascii=False)
