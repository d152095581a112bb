"""Files through which the server and a template exchange a scenario and what became of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from .task import Scenario, Statement

SPEC_FILE, REPORT_FILE, SNAPSHOT_FILE = "spec.json", "report.json", "snapshot.db"
DATABASE_FILE = "world.db"
"""A session's own database, in the session's folder."""


def encode_scenario(scenario: Scenario) -> dict[str, Any]:
    """A scenario as JSON, for `spec.json`."""
    return {**dataclasses.asdict(scenario), "clock": scenario.clock.isoformat()}


def decode_scenario(data: dict[str, Any]) -> Scenario:
    """The scenario that `encode_scenario` wrote."""
    decoded: dict[str, Any] = {
        **data,
        "schema": _decode_statements(data["schema"]),
        "seed": _decode_statements(data["seed"]),
        "clock": datetime.fromisoformat(data["clock"]),
    }
    return Scenario(**decoded)


def _decode_statements(data: Sequence[dict[str, Any]]) -> tuple[Statement, ...]:
    return tuple(Statement(**statement) for statement in data)
