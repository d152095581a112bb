"""openenv.yaml: OpenEnv's own validator accepts it, and what it declares is so."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import yaml
from fastapi import FastAPI
from openenv.validation.graders import Subject
from openenv.validation.graders.runtime import (
    ObservationSchemaGrader,
    RewardWellFormedGrader,
    StateContractGrader,
)
from openenv.validation.manifest import NormalizedManifestV2
from openenv.validation.parsers.openenv_yaml import OpenEnvYamlParser
from openenv.validation.report import CheckResult
from openenv.validation.runtime.collector import collect_runtime_evidence
from openenv.validation.runtime.contracts import RuntimePlan, RuntimeReset, load_runtime_plan
from openenv.validation.types import CheckStatus

from .conftest import ROOT
from .manifest import counted_tasks, refreshed

OPENENV = Path(sys.executable).with_name("openenv")

RuntimeGrader: TypeAlias = RewardWellFormedGrader | ObservationSchemaGrader | StateContractGrader

WHOLE_EPISODE = RuntimePlan(
    plan_schema_version="1",
    reset=RuntimeReset(episode_id="whole", seed=7, options={"task": "library/open-fines-002"}),
    actions=[
        {"type": "list_tools"},
        {"type": "call_tool", "tool_name": "search_members", "arguments": {"query": "Tobias Lindgren"}},
        {"type": "call_tool", "tool_name": "get_member", "arguments": {"member": 106}},
        {"type": "done", "answer": "9.75"},
    ],
)
"""Mid-episode steps have no reward, on purpose, so this is no plan for RewardWellFormedGrader."""

deprecated_inside_openenv = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def declared() -> dict[str, Any]:
    return dict(yaml.safe_load((ROOT / "openenv.yaml").read_text()))


def manifest() -> NormalizedManifestV2:
    parsed = OpenEnvYamlParser().parse(ROOT)
    assert isinstance(parsed, NormalizedManifestV2)
    return parsed


def graded(grader: RuntimeGrader, plan: RuntimePlan, url: str) -> CheckResult:
    evidence = collect_runtime_evidence(url, plan, episode_timeout_s=30)
    assert evidence.failure_reason is None
    return grader.run(Subject(ROOT, manifest(), None, None, ROOT / "outputs", runtime_evidence=evidence))


def test_package_passes_the_static_level() -> None:
    command = [str(OPENENV), "validate", str(ROOT), "--level", "static", "--skip-build"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert ran.returncode == 0, ran.stdout
    assert "Verdict: PASS" in ran.stdout


def test_running_server_passes_validation(builtin_url: str) -> None:
    command = [str(OPENENV), "validate", "--url", builtin_url]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert ran.returncode == 0, ran.stdout
    assert "Verdict: PASS" in ran.stdout


@deprecated_inside_openenv
@pytest.mark.parametrize(
    "grader", [RewardWellFormedGrader(), ObservationSchemaGrader(), StateContractGrader()]
)
def test_declared_probe_satisfies_the_runtime_graders(grader: RuntimeGrader, builtin_url: str) -> None:
    plan = load_runtime_plan(ROOT, manifest().execution)
    result = graded(grader, plan, builtin_url)
    assert result.status is CheckStatus.PASS, result.evidence


@deprecated_inside_openenv
@pytest.mark.parametrize("grader", [ObservationSchemaGrader(), StateContractGrader()])
def test_whole_episode_keeps_to_the_published_schema_and_counts_its_steps(
    grader: RuntimeGrader, builtin_url: str
) -> None:
    result = graded(grader, WHOLE_EPISODE, builtin_url)
    assert result.status is CheckStatus.PASS, result.evidence


def test_declared_tasks_are_those_of_the_built_in_packs() -> None:
    stale = "openenv.yaml is stale: run `make manifest`"
    assert manifest().capabilities.declared_task_count == counted_tasks(), stale


def test_stale_counts_are_brought_up_to_date_and_nothing_else_is_touched() -> None:
    current = (ROOT / "openenv.yaml").read_text()
    train = f"train: {counted_tasks()['train']}\n"
    assert train in current
    assert refreshed(current.replace(train, "train: 7\n")) == current


def test_name_and_version_are_those_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert (declared()["name"], declared()["version"]) == (project["name"], project["version"])


def test_declared_application_is_one() -> None:
    module, _, attribute = declared()["app"].partition(":")
    assert isinstance(getattr(import_module(module), attribute), FastAPI)
