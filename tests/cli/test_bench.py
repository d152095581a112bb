"""`subworlds bench`: what its report says, and that it ends what it starts. Never how fast anything is."""

from __future__ import annotations

import contextlib
import json
import math
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from .conftest import Command

_NAMES = (
    *("reset", "list_tools", "call", "call_first", "call_read", "call_write", "done", "verifier"),
    *("template", "done_first", "reset_burst", "episodes", "confine_session", "confine_verifier"),
)
_LEVEL_NAMES = ("memory_listed", "memory_used", "memory_all", "call_among", "rate_among")


@contextmanager
def benching(*arguments: str | Path) -> Generator[subprocess.Popen[str]]:
    # a background job would not hear the interrupt
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    start = f"{heard}; from subworlds.cli.main import main; main()"
    command = [sys.executable, "-P", "-c", start, "bench", "--quick", *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture(scope="module")
def document(worlds: Path) -> Any:
    with benching("--json", "--pack", worlds) as process:
        out, err = process.communicate()
    assert process.returncode == 0, err
    return json.loads(out)


@pytest.mark.timeout(300)
def test_report_has_every_row_with_positive_figures(document: Any) -> None:
    settings = document["settings"]
    levels = [f"{name}_{level}" for level in settings["levels"] for name in _LEVEL_NAMES]
    sizes = [f"reset_{size:g}mb_{medium}" for medium in settings["media"] for size in settings["database_mb"]]
    counts = [f"reset_among_{count}_scenarios" for count in settings["scenario_counts"]]
    assert sorted(row["name"] for row in document["rows"]) == sorted([*_NAMES, *levels, *sizes, *counts])
    for row in document["rows"]:
        assert row["unit"] in ("ms", "MiB", "1/s")
        figures = [row["ours"], *filter(None, (row["baseline"], row["floor"]))]
        assert all(figure["p50"] > 0 and figure["samples"] > 0 for figure in figures)
        assert all(figure["p95"] is None or figure["p95"] >= figure["p50"] for figure in figures)


@pytest.mark.timeout(300)
def test_ratios_follow_from_the_figures_beside_them(document: Any) -> None:
    compared = [row for row in document["rows"] if row["ratio"] is not None]
    assert {"reset", "call", "done", "verifier", "episodes"} <= {row["name"] for row in compared}
    for row in compared:
        ours, baseline = row["ours"]["p50"], row["baseline"]["p50"]
        assert math.isclose(row["ratio"], ours / baseline if row["unit"] == "1/s" else baseline / ours)


@pytest.mark.timeout(300)
def test_targets_are_judged_by_the_figures_beside_them(document: Any) -> None:
    judged = [row for row in document["rows"] if row["target"] is not None]
    assert {"reset", "call", "done", "verifier", "episodes"} <= {row["name"] for row in judged}
    for row in judged:
        bounds = [key for key in ("p50", "p95") if None not in (row["target"][key], row["ours"][key])]
        pairs = [(row["ours"][key], row["target"][key]) for key in bounds]
        if row["unit"] == "1/s":
            pairs = [(target, ours) for ours, target in pairs]
        assert row["met"] == all(smaller <= larger for smaller, larger in pairs)


@pytest.mark.timeout(300)
def test_report_says_what_was_played_and_names_no_place(document: Any, worlds: Path) -> None:
    settings = document["settings"]
    assert (settings["scenario"], settings["task"]) == ("kiosk", "kiosk/sell-apples")
    assert len(settings["calls"]) == settings["episode_calls"]
    assert [call["tool"] for call in settings["calls"] if call["writes"]] == ["sell"]
    assert set(document["machine"]) == {
        "processor",
        "cores",
        "memory_gib",
        "kernel",
        "architecture",
        "python",
    }
    text = json.dumps(document)
    assert str(worlds) not in text
    assert "/tmp" not in text


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_bench_leaves_no_process(worlds: Path, number: signal.Signals, status: int) -> None:
    with benching("--pack", worlds) as process:
        family = _family_with(process.pid, "baseline_world.py")
        process.send_signal(number)
        assert process.wait(60) == status
        assert not [child for child in family if child.is_running()]


def _family_with(pid: int, script: str) -> list[psutil.Process]:
    """The descendants of `pid`, once one of them runs `script`."""
    bench = psutil.Process(pid)
    while bench.status() != psutil.STATUS_ZOMBIE:
        family = bench.children(recursive=True)
        with contextlib.suppress(psutil.NoSuchProcess):
            if any(script in argument for child in family for argument in child.cmdline()):
                return family
        time.sleep(0.05)
    pytest.fail(f"the benchmark ended without running {script}")


def test_world_whose_solutions_do_not_write_needs_a_reading_tool(subworlds: Command, kiosk: Path) -> None:
    tasks = kiosk / "tasks.jsonl"
    lines = [json.loads(line) for line in tasks.read_text().splitlines()]
    read_only = [line for line in lines if "answer" in line]
    tasks.write_text("".join(json.dumps(line) + "\n" for line in read_only))
    ran = subworlds("bench", "--pack", kiosk)
    assert ran.status == 2
    assert "--read-tool" in ran.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--read-arguments", "[1"], "is not JSON"),
        (["--read-arguments", "[1]"], "must be a JSON object"),
        (["--scenario", "kiosk", "--read-tool", "no_such_tool"], "no_such_tool of 'kiosk' fails"),
        (["--read-tool", "list_goods"], "--scenario"),
        (["--scenario", "kisk"], "kiosk"),
    ],
)
def test_unusable_option_is_named(
    subworlds: Command, worlds: Path, arguments: list[str], message: str
) -> None:
    read_tool = (
        [] if "--read-tool" in arguments or "--scenario" in arguments else ["--read-tool", "list_goods"]
    )
    ran = subworlds("bench", "--pack", worlds, *read_tool, *arguments)
    assert ran.status == 2
    assert message in ran.err
