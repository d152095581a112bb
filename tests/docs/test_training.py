"""docs/training.md: its table and its bill are what the command says, and it explains whatever is logged."""

from __future__ import annotations

import ast
import re
import shlex

import pytest
from typer.testing import CliRunner

from subworlds.cli.main import app
from subworlds.training.expert_mix import Phase
from subworlds.training.fitting import Wishes, best
from subworlds.training.gpu_memory import GPUS, Vllm
from subworlds.training.model_shapes import QWEN3, ModelShape

from .conftest import ROOT

PAGE = (ROOT / "docs" / "training.md").read_text()
SCRIPTS = ("train_grpo", "warmup")
LOGGED_BY = ("measures", "curriculum", "expert_mix", "train_grpo")
COLUMNS = {"T4": ["T4"], "A100-40": ["A100-40"], "A100-80, H100": ["A100-80", "H100"], "H200": ["H200"]}


def table() -> str:
    """Which model for which GPU, as the page has it."""
    lines = [f"| model | {' | '.join(COLUMNS)} |", f"|{'---|' * (len(COLUMNS) + 1)}"]
    for shape in QWEN3.values():
        cells = []
        for gpus in COLUMNS.values():
            (cell,) = {_cell(shape, GPUS[gpu]) for gpu in gpus}
            cells.append(cell)
        lines.append(f"| {shape.name.partition('/')[2]} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(shape: ModelShape, memory: float) -> str:
    for wishes, where in ((Wishes(), ""), (Wishes(vllm=Vllm.SERVER), ", 2 GPUs")):
        plan, bill = best(shape, wishes, memory)
        if bill.fits:
            way = "LoRA" if plan.lora_rank else "all weights"
            short = ", short" if plan.context < 16_384 else ""
            return f"{way}, {plan.micro_batch}{short}{where}"
    return "–"


def test_table_is_what_the_command_finds() -> None:
    assert re.findall(r"<!-- table -->\n(.*?)\n\n", PAGE, re.DOTALL) == [table()]


def test_bill_is_what_the_command_prints() -> None:
    (command,) = re.findall(r"^\$ (subworlds estimate .*)$", PAGE, re.MULTILINE)
    (shown,) = re.findall(r"<!-- estimate -->\n```text\n(.*?)```", PAGE, re.DOTALL)
    ran = CliRunner().invoke(app, shlex.split(command)[1:])
    assert [line.rstrip() for line in ran.output.splitlines()] == shown.splitlines()


def figures(module: str) -> set[str]:
    """The names under which a module logs, with {…} for what differs from run to run."""
    names = set()
    for node in ast.walk(ast.parse((ROOT / "training" / f"{module}.py").read_text())):
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(node, ast.JoinedStr):
            text = "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
        if isinstance(text, str) and re.fullmatch(r"(env|reward|expert|curriculum|zero_shot)/[\w/{}]+", text):
            names.add(text)
    return names


def test_every_figure_that_we_log_is_explained() -> None:
    logged = set().union(*map(figures, LOGGED_BY))
    section = PAGE.partition("## What is logged")[2].partition("\n## ")[0]
    explained = set(re.findall(r"`((?:env|reward|expert|curriculum|zero_shot)/[\w/]+)`", section))
    assert {"env/success_rate", "reward/overall", "curriculum/level"} <= logged
    stems = {name for name in logged if "{}" not in name} - {"env/success", "env/success/kind"}
    assert stems <= explained
    forms = {name.replace("PHASE", "{}") for name in explained}
    extra = {name for name in forms - logged if not name.startswith(("env/success/", "reward/"))}
    assert not extra


@pytest.mark.parametrize("phase", Phase)
def test_every_phase_is_named(phase: Phase) -> None:
    assert phase in PAGE


def test_every_option_and_file_on_the_page_exists() -> None:
    known = {
        "--num_processes",
        "--port",
        "--capacity",
        "--agent",
        "--agent-url",
        "--out",
        "--gpu",
        "--memory",
    }
    for script in SCRIPTS:
        tree = ast.parse((ROOT / "training" / f"{script}.py").read_text())
        (arguments,) = (each for each in tree.body if isinstance(each, ast.ClassDef) and each.name == "Args")
        known |= {
            f"--{line.target.id.replace('_', '-')}"
            for line in arguments.body
            if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
        }
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z_0-9-]+", PAGE)) <= known | {"--help", "--output"}
    for path in set(re.findall(r"`((?:training|docs|tests)/[\w./]+)`", PAGE)):
        assert (ROOT / path).exists(), path
