"""How often everything is repeated."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Plan:
    """The size of one benchmark run."""

    episode_calls: int
    """Tool calls of an episode, the gold solution included."""
    turns: int
    """How often ours, the floor and the baseline take turns; the baseline plays one episode a turn."""
    episodes: int
    """Episodes that one client of ours, and of the floor's, plays in its turn."""
    clients: int
    """Clients that play whole episodes at the same time."""
    rate_turns: int
    """How often ours and the baseline's take turns in that; the baseline's play one episode each."""
    rounds: int
    """Episodes that each of ours plays in its turn."""
    burst: int
    """Resets sent at the same moment, one per client."""
    bursts: int
    baseline_sessions: int
    """Baseline sessions alive together while their memory is read."""
    levels: tuple[int, ...]
    """Numbers of sessions of ours that live at the same time."""
    load_calls: int
    """Calls made while that many sessions live."""
    in_flight: int
    """How many of those calls are under way at any moment."""
    database_mb: tuple[float, ...]
    """Sizes of the generated databases."""
    scenario_counts: tuple[int, ...]
    """Numbers of generated scenarios that a server has loaded."""
    growth_resets: int
    """Resets per size, medium and number of scenarios."""
    confinements: int
    verdicts: int


MEMORY_CALLS = 6
"""Calls after which a session's memory is read a second time."""

FULL = Plan(
    episode_calls=10,
    turns=10,
    episodes=8,
    clients=4,
    rate_turns=4,
    rounds=12,
    burst=16,
    bursts=8,
    baseline_sessions=6,
    levels=(100, 500),
    load_calls=4000,
    in_flight=8,
    database_mb=(0.4, 10, 100),
    scenario_counts=(1, 10, 100),
    growth_resets=30,
    confinements=300,
    verdicts=100,
)

QUICK = Plan(
    episode_calls=10,
    turns=1,
    episodes=2,
    clients=2,
    rate_turns=1,
    rounds=2,
    burst=2,
    bursts=2,
    baseline_sessions=2,
    levels=(4,),
    load_calls=40,
    in_flight=2,
    database_mb=(0.4, 10),
    scenario_counts=(10,),
    growth_resets=3,
    confinements=10,
    verdicts=3,
)
