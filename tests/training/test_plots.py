"""Pictures of runs: what is on their axes, that they come out the same twice, what is said of bad files."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from PIL import Image

from subworlds.training import plots
from subworlds.training.pictures.jsonl import LogUnreadable
from subworlds.training.pictures.runs import arms_of, read_runs
from subworlds.training.pictures.style import house_style

STEPS = range(1, 7)


def write_lines(path: Path, lines: Sequence[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def entry(step: int, rate: float) -> dict[str, Any]:
    """What a run with a curriculum and an expert logs of a step."""
    return {
        "step": step,
        "reward/overall": rate,
        **{f"reward/{name}": rate / 2 for name in ("task", "process", "format", "efficiency")},
        "env/success_rate": rate,
        "env/success/easy": rate,
        "env/success/kind/read": rate,
        "env/format_error_rate": 1 - rate,
        "env/seconds": 0.5,
        "env/generation_seconds": 1.5,
        "step_time": 3.0,
        "expert/phase": 0.0 if step < 3 else 1.0 if step < 5 else 2.0,
        "expert/ratio": 0.8 if step < 3 else 0.5 if step < 5 else 0.1,
        "expert/ask_rate": 0.4,
    }


def episodes(solved: int, of: int = 8) -> list[dict[str, Any]]:
    """One episode of each task, the first `solved` of them complete; an invalid one besides."""
    played = [
        {
            "task": f"kiosk/{number}",
            "kind": "read" if number % 2 else "write",
            "level": "easy",
            "seed": 0,
            "complete": number < solved,
            "reward": float(number < solved),
        }
        for number in range(of)
    ]
    return [*played, {"task": "kiosk/broken", "complete": False, "reward": None}]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """One run, with the ten zero-shot episodes before it."""
    zero_shot = {"step": 0, "zero_shot/success_rate": 0.25, "zero_shot/reward": 0.35}
    write_lines(tmp_path / "run" / "metrics.jsonl", [zero_shot, *(entry(step, step / 10) for step in STEPS)])
    return tmp_path / "run"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Two arms of two seeds each, evaluated before and after."""
    for arm, gain in (("learns", 4), ("shuffled", 0)):
        for seed in (0, 1):
            folder = tmp_path / "results" / arm / f"seed-{seed}"
            write_lines(folder / "metrics.jsonl", [entry(step, (step + seed) / 10) for step in STEPS])
            write_lines(folder / "before.jsonl", episodes(2))
            write_lines(folder / "after.jsonl", episodes(2 + gain))
    return tmp_path / "results"


def thick(axes: Axes) -> dict[str, Line2D]:
    """Lines that the legend names."""
    return {label: line for line in axes.lines if not (label := str(line.get_label())).startswith("_")}


def points(line: Line2D) -> list[tuple[float, Any]]:
    return [(float(x), pytest.approx(float(y))) for x, y in zip(*line.get_data(), strict=True)]


def picture(name: str, place: Path) -> Figure:
    with house_style():
        return plots.PICTURES[name](arms_of(read_runs([place])))


def test_a_run_is_drawn_from_the_command_line(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "a" / "pictures"
    plots.main([str(run), "--output", str(out)])
    drawn = {path.stem for path in out.iterdir()}
    assert drawn == plots.PICTURES.keys() - {"before_after", "success_rise"}
    for name in drawn:
        with Image.open(out / f"{name}.png") as png:
            assert png.width > 1000
        assert (out / f"{name}.svg").read_text().startswith("<?xml")
    told = capsys.readouterr().out
    assert "before_after: skipped, no run was evaluated both before and after it" in told
    assert f"reward: {out / 'reward.png'} and .svg" in told


def test_curve_shows_the_run_and_the_untrained_model_on_the_same_axes(run: Path) -> None:
    reward = picture("reward", run)
    (axes,) = reward.axes
    lines = thick(axes)
    assert points(lines["run"]) == [(step, step / 10) for step in STEPS]
    assert set(lines["untrained, zero-shot: 0.35"].get_ydata()) == {0.35}
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("optimiser step", "reward per episode (0 to 1)")
    assert reward.get_suptitle() == "Reward of training episodes"
    (axes,) = picture("success", run).axes
    assert set(thick(axes)) == {"run", "untrained, zero-shot: 0.25"}
    (axes,) = picture("format_errors", run).axes
    assert points(thick(axes)["run"]) == [(step, 1 - step / 10) for step in STEPS]


def test_runs_are_thin_lines_and_their_mean_a_thick_one(results: Path) -> None:
    (axes,) = picture("success", results).axes
    lines = thick(axes)
    assert set(lines) == {
        "learns (mean of 2 runs)",
        "shuffled (mean of 2 runs)",
        "untrained, in evaluation: 0.25",
    }
    assert points(lines["learns (mean of 2 runs)"]) == [(step, step / 10 + 0.05) for step in STEPS]
    assert len(axes.lines) == 3 + 4
    assert len({str(line.get_marker()) for line in lines.values()}) == 3


def test_a_mean_ends_where_the_shortest_run_does(results: Path) -> None:
    short = results / "learns" / "seed-1" / "metrics.jsonl"
    short.write_text("".join(short.read_text().splitlines(keepends=True)[:3]))
    (axes,) = picture("success", results).axes
    assert [step for step, _ in points(thick(axes)["learns (mean of 2 runs)"])] == [1, 2, 3]


def test_a_long_run_is_smoothed_and_says_so(tmp_path: Path) -> None:
    write_lines(tmp_path / "metrics.jsonl", [entry(step, step % 2) for step in range(1, 61)])
    figure = picture("success", tmp_path)
    assert "thick: mean over 5 steps" in figure.get_suptitle()
    (line,) = thick(figure.axes[0]).values()
    assert all(0.3 < rate < 0.7 for _, rate in zip(*line.get_data(), strict=True))


def test_components_and_levels_have_a_panel_each(run: Path) -> None:
    components = picture("components", run).axes
    titles = [axes.get_title() for axes in components]
    assert titles == ["task", "process", "format", "efficiency"]
    assert points(thick(components[0])["run"]) == [(step, step / 20) for step in STEPS]
    assert [axes.get_title() for axes in picture("success_by_level", run).axes] == ["easy"]
    assert [axes.get_title() for axes in picture("success_by_kind", run).axes] == ["read"]


def test_expert_phases_are_bands_under_the_curves(run: Path) -> None:
    figure = picture("expert_phases", run)
    (axes,) = figure.axes
    bands = [(patch.get_x(), patch.get_x() + patch.get_width()) for patch in axes.patches]
    assert bands == [(0.5, 2.5), (2.5, 4.5), (4.5, 6.5)]
    assert points(thick(axes)["episodes that asked"]) == [(step, 0.4) for step in STEPS]
    (legend,) = figure.legends
    assert "phase: independence" in [text.get_text() for text in legend.get_texts()]


def test_seconds_are_stacked_up_to_the_whole_step(run: Path) -> None:
    (axes,) = picture("seconds", run).axes
    layers: list[Any] = [each for each in axes.collections if isinstance(each, PolyCollection)]
    tops = [max(y for _, y in layer.get_paths()[0].vertices) for layer in layers]
    assert tops == pytest.approx([1.5, 2.0, 3.0])
    assert axes.get_title() == "run: 16.7% of the time was the worlds'"
    assert axes.get_ylabel() == "seconds per step"


def test_bars_show_before_and_after_with_intervals(results: Path) -> None:
    learns, shuffled = picture("before_after", results).axes
    assert (learns.get_title(), shuffled.get_title()) == ("learns", "shuffled")
    before, after = ([bar.get_height() for bar in bars] for bars in bars_of(learns))
    assert (before, after) == ([0.25] * 4, [0.75] * 4)
    names = [label.get_text() for label in shuffled.get_xticklabels()]
    assert names == ["all tasks", "easy", "read", "write"]
    (low, high) = whiskers_of(learns)[0]
    assert 0.0 <= low < 0.25 < high < 0.7


def test_rise_is_measured_task_by_task(results: Path) -> None:
    (axes,) = picture("success_rise", results).axes
    assert axes.get_xlabel().startswith("rise of the success rate (percentage points)")
    (legend,) = axes.figure.legends
    learns, shuffled = (text.get_text() for text in legend.get_texts())
    assert learns.startswith("learns: +50 [+12, +88]")
    assert shuffled == "shuffled: +0 [+0, +0]"


def bars_of(axes: Axes) -> list[BarContainer]:
    return [each for each in axes.containers if isinstance(each, BarContainer)]


def whiskers_of(axes: Axes) -> list[tuple[float, float]]:
    """Of the first side."""
    first = next(each for each in axes.collections if isinstance(each, LineCollection))
    return [(float(bottom[1]), float(top[1])) for bottom, top in first.get_segments()]


def test_an_evaluation_and_a_report_of_subworlds_eval_are_drawn(run: Path, tmp_path: Path) -> None:
    report = tmp_path / "before.json"
    whole = {"value": 0.2, "low": 0.1, "high": 0.4}
    report.write_text(json.dumps({"success": whole, "reward": whole, "by_difficulty": {"easy": whole}}))
    stored = tmp_path / "after.jsonl"
    write_lines(
        stored,
        [
            {"task": "a", "level": "easy", "outcome": "complete", "reward": 1.0},
            {"task": "b", "level": "easy", "outcome": "incomplete", "reward": 0.0},
        ],
    )
    out = tmp_path / "out"
    plots.main([str(run), "--before", str(report), "--after", str(stored), "--output", str(out)])
    assert (out / "before_after.svg").exists()
    assert not (out / "success_rise.svg").exists()  # a report has no tasks to compare
    plots.main(["--before", str(stored), "--after", str(stored), "--output", str(tmp_path / "alone")])
    assert {path.stem for path in (tmp_path / "alone").iterdir()} == {"before_after", "success_rise"}


def test_arms_are_named_by_their_folders_or_by_hand(run: Path, results: Path) -> None:
    assert [(each.arm, each.seed) for each in read_runs([results])] == [
        *(("learns", "seed-0"), ("learns", "seed-1")),
        *(("shuffled", "seed-0"), ("shuffled", "seed-1")),
    ]
    assert [each.arm for each in read_runs([results / "learns"])] == ["learns", "learns"]
    assert [each.arm for each in read_runs([results / "learns" / "seed-1" / "metrics.jsonl"])] == ["learns"]
    assert [each.arm for each in read_runs([f"cold={run}", results / "shuffled" / "seed-0"])] == [
        "cold",
        "shuffled",
    ]


def test_same_logs_give_the_same_bytes(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also at another time, and whatever the user's matplotlib is told."""
    plots.main([str(results), "--output", str(tmp_path / "first")])
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    with rc_context({"font.size": 20, "svg.hashsalt": "other", "savefig.dpi": 30}):
        plots.main([str(results), "--output", str(tmp_path / "second")])
    for first in sorted((tmp_path / "first").iterdir()):
        assert first.read_bytes() == (tmp_path / "second" / first.name).read_bytes(), first.name


def test_the_last_line_of_a_killed_run_may_be_unfinished(run: Path) -> None:
    with (run / "metrics.jsonl").open("a") as file:
        file.write('{"step": 7, "rew')
    (found,) = read_runs([run])
    assert list(found.series("reward/overall")) == list(STEPS)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is empty: nothing was logged"),
        ("{}\n", "metrics.jsonl:1: an entry without a step"),
        ('{"step": 1}\nnonsense\n', "metrics.jsonl:2: not a JSON object: nonsense"),
        ("[1, 2]\n", "metrics.jsonl:1: not a JSON object"),
    ],
)
def test_a_log_that_cannot_be_drawn_is_named(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "metrics.jsonl").write_text(text)
    with pytest.raises(LogUnreadable) as unreadable:
        read_runs([tmp_path])
    assert told in str(unreadable.value)
    assert str(tmp_path) in str(unreadable.value)


def test_what_is_not_there_is_named(run: Path, results: Path, tmp_path: Path) -> None:
    def told(*words: object) -> str:
        with pytest.raises(LogUnreadable) as unreadable:
            plots.main([*map(str, words), "--output", str(tmp_path / "out")])
        return str(unreadable.value)

    (tmp_path / "empty").mkdir()
    write_lines(tmp_path / "bad.jsonl", [{"task": "a"}])
    write_lines(tmp_path / "invalid.jsonl", [{"task": "a", "reward": None, "complete": False}])
    write_lines(tmp_path / "bare" / "metrics.jsonl", [{"step": 1, "loss": 0.1}])
    assert "there is no such folder" in told(tmp_path / "nowhere")
    assert "has no metrics.jsonl in it" in told(tmp_path / "empty")
    assert "is given twice" in told(run, run)
    assert "give a run" in told()
    assert "there is no such file" in told(run, "--before", tmp_path / "nowhere.jsonl")
    assert "bad.jsonl:1: not an episode" in told(run, "--before", tmp_path / "bad.jsonl")
    assert "no valid episode" in told(run, "--before", tmp_path / "invalid.jsonl")
    assert "are for one run" in told(results, "--before", tmp_path / "bad.jsonl")
    assert "every picture was skipped" in told(tmp_path / "bare")


def test_the_script_ends_with_a_sentence_where_it_cannot_draw(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, plots.__file__, tmp_path / "nowhere", "--output", tmp_path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == f"plots.py: {tmp_path}/nowhere: there is no such folder, and no such metrics.jsonl\n"
