"""openenv.yaml: OpenEnv's own validator accepts it, and what it declares is so."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

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
from openenv.validation.runtime.collector import collect_runtime_evidence
from openenv.validation.runtime.contracts import load_runtime_plan
from openenv.validation.types import CheckStatus

from subworlds.scenarios.pack import BUILTIN_PACKS, Catalog

from .conftest import ROOT

OPENENV = Path(sys.executable).with_name("openenv")


def declared() -> dict[str, Any]:
    return dict(yaml.safe_load((ROOT / "openenv.yaml").read_text()))


def manifest() -> NormalizedManifestV2:
    parsed = OpenEnvYamlParser().parse(ROOT)
    assert isinstance(parsed, NormalizedManifestV2)
    return parsed


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


@pytest.mark.parametrize(
    "grader", [RewardWellFormedGrader(), ObservationSchemaGrader(), StateContractGrader()]
)
def test_runtime_probe_satisfies_the_runtime_graders(
    grader: RewardWellFormedGrader | ObservationSchemaGrader | StateContractGrader,
    builtin_url: str,
    tmp_path: Path,
) -> None:
    plan = load_runtime_plan(ROOT, manifest().execution)
    evidence = collect_runtime_evidence(builtin_url, plan, episode_timeout_s=30)
    assert evidence.failure_reason is None
    subject = Subject(ROOT, manifest(), None, None, tmp_path, runtime_evidence=evidence)
    result = grader.run(subject)
    assert result.status is CheckStatus.PASS, result.evidence


def test_declared_tasks_are_those_of_the_built_in_packs() -> None:
    tasks = Catalog.load([BUILTIN_PACKS]).tasks.values()
    assert manifest().capabilities.declared_task_count == Counter(task.split for task in tasks)


def test_name_and_version_are_those_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert (declared()["name"], declared()["version"]) == (project["name"], project["version"])


def test_declared_application_is_one() -> None:
    module, _, attribute = declared()["app"].partition(":")
    assert isinstance(getattr(import_module(module), attribute), FastAPI)
