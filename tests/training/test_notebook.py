"""The notebook, executed from its first cell to its last, with the tiny model and the toy world."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parent.parent.parent / "training" / "train_grpo.ipynb"
SETTINGS = """
from pathlib import Path

GPU = False
MODEL, PACK, SCENARIO = "tiny", [Path({pack!r})], ["kiosk"]
STEPS, WARM_STEPS = 2, 20
SIZES = {{"tasks_per_step": 2, "num_generations": 2, "tokens": 600, "turn_tokens": 40, "turns": 3}}
OUT = Path("run")

import torch
"""


@pytest.fixture
def notebook(worlds: Path) -> Any:
    """As committed, but for its settings."""
    read: Any = nbformat.read(NOTEBOOK, as_version=4)
    (settings,) = (cell for cell in read.cells if "parameters" in cell.metadata.get("tags", ()))
    settings.source = SETTINGS.format(pack=str(worlds))
    return read


def test_notebook_is_committed_without_outputs() -> None:
    read: Any = nbformat.read(NOTEBOOK, as_version=4)
    code = [cell for cell in read.cells if cell.cell_type == "code"]
    assert not [cell for cell in code if cell.outputs or cell.execution_count]
    assert all(len(line) <= 120 for cell in read.cells for line in cell.source.splitlines())


@pytest.mark.timeout(600)
@pytest.mark.filterwarnings(
    "ignore::ResourceWarning"
)  # of the kernel's own sockets, which nbclient closes late
def test_notebook_trains_saves_reloads_and_plays(
    notebook: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "PYTHONSAFEPATH": "1"}.items():
        monkeypatch.setenv(name, value)
    NotebookClient(notebook, timeout=500, resources={"metadata": {"path": str(tmp_path)}}).execute()
    said = "".join(output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", ()))
    assert "list_goods() → " in said
    assert "of 10 complete" in said
    assert "kiosk/sell-apples: " in said
    assert "before complete" in said
    assert "after complete" in said
    run = tmp_path / "run"
    steps = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in steps if "reward/overall" in line] == [1, 2]
    assert (run / "final" / "adapter_config.json").exists()
    assert (run / "merged" / "config.json").exists()
    assert not (run / "merged" / "adapter_config.json").exists()
    assert (run / "pictures" / "reward.png").exists()
