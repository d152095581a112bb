"""The files of an Agent World Model folder, and the names of its scenarios."""

from __future__ import annotations

import re
from pathlib import Path

SCENARIOS, TASKS, DATABASES = "gen_scenario.jsonl", "gen_tasks.jsonl", "gen_db.jsonl"
SAMPLES, ENVIRONMENTS = "gen_sample.jsonl", "gen_envs.jsonl"
CODE_VERIFIERS, JUDGED_VERIFIERS = "gen_verifier.pure_code.jsonl", "gen_verifier.jsonl"
REQUIRED = (ENVIRONMENTS, DATABASES, SAMPLES, TASKS)
FILES = (*REQUIRED, SCENARIOS, CODE_VERIFIERS, JUDGED_VERIFIERS)
"""Every file that is read. A folder may hold others (gen_spec.jsonl); nobody looks at them."""


def is_awm_folder(path: Path) -> bool:
    return any((path / file).exists() for file in REQUIRED)


def scenario_name(written: str) -> str:
    """`Etsy Digital Downloads` is `etsy_digital_downloads`; empty if no letter or digit remains."""
    return re.sub(r"[^a-z0-9]+", "_", written.lower()).strip("_")


def task_id(scenario: str, index: int) -> str:
    return f"{scenario}/task-{index:03d}"
