"""`subworlds list`, `show` and `serve` over an AWM folder."""

from __future__ import annotations

from pathlib import Path

from subworlds.envs import SubworldsEnv

from ..scenarios.generated_awm import name_of, write_awm_folder
from .conftest import Command
from .test_serve import ready_url, served


def test_tools_of_awm_worlds_are_counted_without_starting_them(subworlds: Command, tmp_path: Path) -> None:
    write_awm_folder(tmp_path / "awm", 3)
    counted = subworlds("list", "--json", "--pack", tmp_path / "awm")
    started = subworlds("list", "--json", "--start", "--pack", tmp_path / "awm")
    assert (counted.status, started.status) == (0, 0)
    assert counted.json == started.json
    assert [(row["name"], row["tools"], row["tasks"]) for row in counted.json] == [
        (name_of(number), 35, 10) for number in range(3)
    ]


def test_world_whose_tools_cannot_be_counted_is_started(subworlds: Command, tmp_path: Path) -> None:
    write_awm_folder(tmp_path / "awm", 1)
    environments = tmp_path / "awm" / "gen_envs.jsonl"
    environments.write_text(environments.read_text().replace("@app.get(", "@(app.get)("))
    ran = subworlds("list", "--json", "--pack", tmp_path / "awm")
    assert [row["tools"] for row in ran.json] == [35]


def test_awm_world_that_cannot_start_shows_when_it_is_started(subworlds: Command, tmp_path: Path) -> None:
    write_awm_folder(tmp_path / "awm", 1)
    environments = tmp_path / "awm" / "gen_envs.jsonl"
    environments.write_text(environments.read_text().replace("app = FastAPI()", "app = FastAPI(", 1))
    assert subworlds("list", "--pack", tmp_path / "awm").status == 0
    ran = subworlds("list", "--start", "--pack", tmp_path / "awm")
    assert ran.status == 1
    assert "gen_envs.jsonl#generated_world_0" in ran.err


async def test_awm_worlds_are_served_and_a_folder_that_changes_is_a_typed_refusal(tmp_path: Path) -> None:
    write_awm_folder(tmp_path / "awm", 3)
    with served("--port", "0", "--pack", tmp_path / "awm") as process:
        url = ready_url(process)
        async with SubworldsEnv(base_url=url) as env:
            first = (await env.reset(scenario=name_of(1), index=4)).observation
            assert first.task == f"{name_of(1)}/task-004"
            assert len(await env.list_tools()) == 35
            assert (await env.reset(index=29)).observation.task == f"{name_of(2)}/task-009"
            (tmp_path / "awm" / "gen_verifier.pure_code.jsonl").write_text("\n")
            refused = (await env.reset(task=f"{name_of(0)}/task-000")).observation.error
            assert refused.error_type == "scenario_error"
            assert "has changed since the folder was loaded" in refused.message
