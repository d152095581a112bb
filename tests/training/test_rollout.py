"""Batches of episodes on a real server: what a real model writes, and what goes wrong around it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch

from subworlds.envs import SubworldsEnv
from subworlds.envs.app import ServerSettings
from subworlds.training.assignments import Assignment, RolloutError
from subworlds.training.env_server import ServerDidNotStart, env_server
from subworlds.training.exposure import Exposure
from subworlds.training.limits import Cut, Limits
from subworlds.training.played import Played
from subworlds.training.rollout import Rollout, RolloutSettings, make_rollout_func

from .conftest import APPLES, LIST_GOODS, PEAR, SELL_APPLES, Clerk, MakeTrainer, Write, noted, prompts, stats
from .exactness import assert_exact

SHORT = Limits(turns=4, turn_tokens=40, tokens=400, context=1_000)
BROKEN = Assignment("kiosk/broken-verifier", "kiosk", "Sell one pear.", 0)
CRASH = '<tool_call>\n{"name": "crash"}\n</tool_call>'


def settings(*urls: str, limits: Limits = SHORT, exposure: Exposure = Exposure.COMPACT) -> RolloutSettings:
    return RolloutSettings(urls=urls, limits=limits, exposure=exposure)


@pytest.fixture
def rollout(server_url: str) -> Iterator[Rollout]:
    with make_rollout_func(settings(server_url)) as made:
        yield made


# ---- What a real model writes


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_a_real_batch_is_exact_to_the_token(
    rollout: Rollout, make_trainer: MakeTrainer, kiosk_tools: Any, temperature: float
) -> None:
    trainer = make_trainer(rollout, temperature=temperature)
    columns = rollout(prompts(*([APPLES] * 4 + [PEAR] * 4)), trainer)
    episodes: list[Played] = columns["episode"]
    assert all(episode.valid for episode in episodes)
    assert max(episode.turns for episode in episodes) > 1
    assert any(episode.complete for episode in episodes)
    assert_exact(columns, trainer, kiosk_tools, temperature=temperature)


@pytest.mark.parametrize("exposure", Exposure)
def test_the_solution_is_paid_whatever_way_tools_are_shown(
    server_url: str, clerk: Clerk, write: Write, exposure: Exposure
) -> None:
    wrapped = '<tool_call>\n{"name": "call_tool", "arguments": %s}\n</tool_call>'
    sell = '{"name": "sell", "arguments": {"good_id": 1, "quantity": 3}}'
    meta = exposure is Exposure.META
    listed = '<tool_call>\n{"name": "list_tools"}\n</tool_call>' if meta else LIST_GOODS
    write([listed], [wrapped % sell if meta else SELL_APPLES], ["Done."])
    with Rollout(settings(server_url, limits=Limits(), exposure=exposure)) as rollout:
        (episode,) = rollout(prompts(APPLES), clerk)["episode"]
    assert episode.complete
    assert episode.calls == 2


def test_all_calls_of_a_turn_are_under_way_at_once(
    rollout: Rollout, clerk: Clerk, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each call waits here until the calls of all other episodes have come as well."""
    together = 6
    waiting: list[asyncio.Event] = []
    call_tool = SubworldsEnv.call_tool

    async def meet(env: SubworldsEnv, name: str, /, **arguments: Any) -> Any:
        waiting.append(asyncio.Event())
        mine = waiting[-1]
        if len(waiting) == together:
            for event in waiting:
                event.set()
        await mine.wait()
        return await call_tool(env, name, **arguments)

    monkeypatch.setattr(SubworldsEnv, "call_tool", meet)
    write([LIST_GOODS], ["Done."])
    columns = rollout(prompts(*[APPLES] * together), clerk)
    assert [episode.calls for episode in columns["episode"]] == [1] * together


# ---- Limits, and mistakes of the model


@pytest.mark.parametrize(
    ("limits", "cut"),
    [
        (Limits(turns=1), Cut.TURNS),
        (Limits(calls=1), Cut.CALLS),
        (Limits(turn_tokens=5), Cut.TOKENS),
        (Limits(turn_tokens=100, tokens=250), Cut.TOKENS),
        (Limits(seconds=0.0), Cut.SECONDS),
    ],
)
def test_an_episode_over_a_limit_is_cut_and_still_scored(
    server_url: str, clerk: Clerk, write: Write, limits: Limits, cut: Cut
) -> None:
    write([LIST_GOODS])
    with Rollout(settings(server_url, limits=limits)) as rollout:
        columns = rollout(prompts(APPLES), clerk)
    (episode,) = columns["episode"]
    assert (episode.cut, episode.valid, episode.reward) == (cut, True, 0.0)
    assert len(columns["completion_ids"][0]) <= limits.tokens
    assert columns["env_mask"][0][-1] == 1  # nothing is told that nobody will read


def test_long_outputs_are_cut_and_say_so(server_url: str, clerk: Clerk, write: Write) -> None:
    write(['<tool_call>\n{"name": "recite", "arguments": {"characters": 5000}}\n</tool_call>'], ["Done."])
    with Rollout(settings(server_url, limits=Limits(output_characters=30))) as rollout:
        columns = rollout(prompts(APPLES), clerk)
    told = clerk.processing_class.decode(columns["completion_ids"][0])
    assert '"' + "x" * 29 + "… [cut: 30 of 5002 characters]" in told


def test_the_models_mistakes_are_told_to_it_and_counted(rollout: Rollout, clerk: Clerk, write: Write) -> None:
    write(["<tool_call>\nsell\n</tool_call>"], ['<tool_call>\n{"name": "fly"}\n</tool_call>'], ["Done."])
    columns = rollout(prompts(APPLES), clerk)
    told = clerk.processing_class.decode(columns["completion_ids"][0])
    assert "error: invalid_tool_call: not JSON" in told
    assert "error: tool_not_found: " in told
    (episode,) = columns["episode"]
    assert (episode.malformed, episode.calls, episode.valid) == (1, 2, True)


def test_an_end_token_that_ends_no_turn_ends_the_episode(
    rollout: Rollout, clerk: Clerk, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    from subworlds.training import batch
    from subworlds.training.sampling import Written

    monkeypatch.setattr(
        batch, "generate", lambda *_: [Written([clerk.processing_class.pad_token_id], [-1.0])]
    )
    (episode,) = rollout(prompts(APPLES), clerk)["episode"]
    assert (episode.live, episode.cut, episode.reward) == (False, None, 0.0)


def test_a_prompt_that_leaves_no_room_is_refused(server_url: str, clerk: Clerk) -> None:
    narrow = Limits(turn_tokens=40, tokens=400, context=500)
    with (
        Rollout(settings(server_url, limits=narrow)) as rollout,
        pytest.raises(RolloutError, match=r"the prompt of kiosk/sell-apples has \d+ tokens"),
    ):
        rollout(prompts(APPLES), clerk)
    assert stats(server_url)["sessions"] == 0


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        ([{"role": "user", "content": "Sell one pear."}], "build it with task_dataset"),
        (Assignment("kiosk/no-such", "kiosk", "?", 0).to_messages(), "unknown_task"),
    ],
)
def test_prompts_that_are_no_tasks_of_the_server_are_refused(
    rollout: Rollout, clerk: Clerk, prompt: Any, message: str
) -> None:
    with pytest.raises(RolloutError, match=message):
        rollout([prompt], clerk)


# ---- What breaks around it


def test_an_episode_whose_verifier_breaks_is_tried_twice_and_trains_nothing(
    rollout: Rollout, make_trainer: MakeTrainer, starts: list[int]
) -> None:
    trainer = make_trainer(rollout, BROKEN)
    before = {name: weight.clone() for name, weight in trainer.model.named_parameters()}
    trainer.train()
    assert sorted(starts) == [0, 0, 1, 1, 2, 2, 3, 3]
    assert all("verifier_error" in (episode.broken or "") for episode in rollout.latest)
    (logged,) = [entry for entry in trainer.state.log_history if "env/invalid_rate" in entry]
    assert logged["env/invalid_rate"] == 1.0
    assert "reward/overall" not in logged
    assert all(torch.equal(weight, before[name]) for name, weight in trainer.model.named_parameters())


def test_an_invalid_episode_does_not_move_the_baseline_of_its_group(
    rollout: Rollout, make_trainer: MakeTrainer, write: Write
) -> None:
    """Two solve the task, one does nothing, one crashes its world twice: the mean is 2/3, not 2/4."""
    write(
        [SELL_APPLES, SELL_APPLES, "Done.", CRASH],
        ["Done.", "Done."],
        [CRASH],
    )
    trainer = make_trainer(rollout, APPLES)
    trainer.train()
    assert [episode.valid for episode in rollout.latest] == [True, True, True, False]
    (logged,) = [entry for entry in trainer.state.log_history if "env/invalid_rate" in entry]
    rewards = [episode.reward for episode in rollout.latest[:3]]
    assert logged["reward"] == pytest.approx(sum(rewards) / 3)
    assert (logged["env/invalid_rate"], logged["env/success_rate"]) == (0.25, pytest.approx(2 / 3))


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The seats of all episodes that were started."""
    from subworlds.training.seats import Seats

    return noted(monkeypatch, Seats, "start", 0)


@pytest.fixture
def own_server(worlds: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, psutil.Process]]:
    """A server in a process that may be killed, with its URL."""
    with env_server([worlds]) as url:
        (process,) = [
            child
            for child in psutil.Process().children()
            if "serve" in child.cmdline() and child.is_running()
        ]
        yield url, process


def test_an_episode_whose_world_is_killed_is_played_again(
    own_server: tuple[str, psutil.Process], clerk: Clerk, write: Write
) -> None:
    url, server = own_server
    idle = {child.pid for child in server.children(recursive=True)}
    killed: list[int] = []

    def kill_a_world() -> None:
        if not killed:
            worlds = [child for child in server.children(recursive=True) if child.pid not in idle]
            killed.append(max(worlds, key=lambda child: child.create_time()).pid)
            os.kill(killed[0], signal.SIGKILL)

    write([LIST_GOODS], [SELL_APPLES], ["Done."])
    with Rollout(settings(url)) as rollout:
        rollout(prompts(APPLES), clerk)
        write([SELL_APPLES], ["Done."], meanwhile=kill_a_world)
        episodes = rollout(prompts(APPLES, APPLES), clerk)["episode"]
    assert len(killed) == 1
    assert [episode.valid for episode in episodes] == [True, True]


def test_a_server_that_is_killed_ends_the_batch_with_a_clear_error(
    own_server: tuple[str, psutil.Process], clerk: Clerk, write: Write
) -> None:
    url, server = own_server
    write([LIST_GOODS], meanwhile=server.kill)
    with (
        Rollout(settings(url)) as rollout,
        pytest.raises(RolloutError, match="kept its server, twice") as told,
    ):
        rollout(prompts(APPLES, PEAR), clerk)
    assert "--resume" in str(told.value)


def test_episodes_move_on_to_the_server_that_is_left(
    own_server: tuple[str, psutil.Process], server_url: str, clerk: Clerk, write: Write
) -> None:
    url, server = own_server
    write([LIST_GOODS], ["Done."], meanwhile=server.kill)
    with Rollout(settings(url, server_url)) as rollout:
        episodes = rollout(prompts(*[APPLES] * 4), clerk)["episode"]
        assert all(episode.valid for episode in episodes)
        assert stats(server_url)["connections"] == 4


def test_episodes_are_spread_over_servers_and_connections_are_kept(
    serve: Callable[..., AbstractContextManager[str]], worlds: Path, clerk: Clerk, write: Write
) -> None:
    write(["Done."])
    with serve([worlds], ServerSettings()) as first, serve([worlds], ServerSettings()) as second:
        with Rollout(settings(first, second)) as rollout:
            for _ in range(2):
                rollout(prompts(*[APPLES] * 6), clerk)
                assert [stats(url)["connections"] for url in (first, second)] == [3, 3]
        assert [stats(url)["sessions"] for url in (first, second)] == [0, 0]


def test_sessions_are_closed_when_the_trainer_raises(
    server_url: str, clerk: Clerk, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        assert stats(server_url)["connections"] > 0
        raise MemoryError("the trainer is out of memory")

    write([LIST_GOODS], meanwhile=fail)
    with Rollout(settings(server_url)) as rollout:
        with pytest.raises(MemoryError):
            rollout(prompts(APPLES, PEAR), clerk)
        assert _closed(server_url)
        write(["Done."])
        assert len(rollout(prompts(APPLES), clerk)["episode"]) == 1
    assert _closed(server_url)


def _closed(url: str) -> bool:
    """Whether all is closed by now, or soon."""
    for _ in range(100):
        found = stats(url)
        if found["sessions"] == found["connections"] == 0:
            return True
        asyncio.run(asyncio.sleep(0.05))
    return False


def test_no_server_at_all_is_said_at_once(clerk: Clerk) -> None:
    with (
        Rollout(settings("http://127.0.0.1:9")) as rollout,
        pytest.raises(ConnectionError, match=r"no server gave an episode of kiosk/sell-apples"),
    ):
        rollout(prompts(APPLES), clerk)


def test_a_server_that_cannot_start_is_told_apart(worlds: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with env_server([worlds]) as url:
        port = int(url.rpartition(":")[2])
        with pytest.raises(ServerDidNotStart), env_server([worlds], port=port):
            pass
    assert str(port) in capfd.readouterr().err


def test_a_trainer_that_is_killed_leaves_no_server_behind(worlds: Path) -> None:
    trainer = subprocess.Popen(
        [
            *(sys.executable, "-P", "-c"),
            "import sys; from pathlib import Path; from subworlds.training.env_server import env_server\n"
            "with env_server([Path(sys.argv[1])]) as url: print(url, flush=True); sys.stdin.read()",
            str(worlds),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with trainer:
        assert trainer.stdout is not None
        assert trainer.stdout.readline().startswith(b"http")
        (server,) = psutil.Process(trainer.pid).children()
        trainer.kill()
        trainer.wait()
    gone, alive = psutil.wait_procs([server], timeout=60)
    assert (len(gone), alive) == (1, [])
