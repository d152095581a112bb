"""`subworlds eval` and `subworlds run` with models: behind a real endpoint, and in a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from subworlds.training.tiny_model import save_tiny_model

from ..training.shopkeeper import answers, obedient, shopkeeper
from ..verifiers.judge_server import Reply, judge_server
from .conftest import Command


@pytest.fixture(autouse=True)
def no_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = ("OPENAI_BASE_URL", "OPENAI_API_KEY", "SUBWORLDS_AGENT_URL", "SUBWORLDS_AGENT_KEY")
    for name in (*agent, "SUBWORLDS_EXPERT_URL", "SUBWORLDS_EXPERT_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random model on disk: whatever it writes, it does not solve a task."""
    folder = tmp_path_factory.mktemp("tiny")
    save_tiny_model(folder, ["A customer takes three apples. Ring them up."])
    return folder


def test_model_behind_an_endpoint_is_evaluated(
    subworlds: Command, worlds: Path, server_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "episodes.jsonl"
    with judge_server(answering=shopkeeper) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
        ran = subworlds(
            *("eval", "--agent", "openai:keeper", "--split", "train", "-k", "2", "--out", out, "--json"),
            *("--url", server_url, "--pack", worlds),
        )
    assert (ran.status, ran.json["success"]["value"], ran.json["invalid"]) == (0, 1.0, 0)
    assert ran.json["pass_all"]["2"]["value"] == 1.0
    assert (ran.json["read_tokens"], ran.json["written_tokens"]) == (250.0, 12.5)
    assert set(server.keys) == {"Bearer sk-secret"}
    stored = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(stored) == 4
    assert all(episode["model"]["transcript"][-1]["role"] == "assistant" for episode in stored)
    assert "sk-secret" not in out.read_text()


def test_episodes_that_the_endpoint_broke_are_counted_and_kept_out_of_the_rates(
    subworlds: Command, worlds: Path, server_url: str
) -> None:
    def moody(body: dict[str, Any]) -> Reply:
        return Reply(400, {}) if "pear" in body["messages"][1]["content"] else shopkeeper(body)

    with judge_server(answering=moody) as server:
        command = ("eval", "--agent", "openai:keeper", "--agent-url", server.url, "--split", "train")
        ran = subworlds(*command, "--json", "--url", server_url, "--pack", worlds)
        page = subworlds(*command, "--url", server_url, "--pack", worlds)
    assert (ran.status, ran.json["invalid"], ran.json["success"]["value"]) == (0, 1, 1.0)
    assert ran.json["invalid_by_kind"] == {"endpoint_refused": 1}
    assert "1 invalid (1 endpoint_refused)" in page.out
    assert "tokens written" in page.out


def test_endpoint_that_does_not_let_us_in_ends_the_evaluation_at_once(
    subworlds: Command, worlds: Path, server_url: str
) -> None:
    with judge_server(Reply(401, {"error": "no"})) as server:
        ran = subworlds(
            *("eval", "--agent", "openai:keeper", "--agent-url", server.url, "--split", "train", "-k", "50"),
            *("--at-once", "1", "--url", server_url, "--pack", worlds),
        )
    assert (ran.status, ran.out, len(server.requests)) == (1, "", 1)
    assert "the agent cannot play (endpoint_refused): keeper at http://" in ran.err


def test_endpoint_that_is_gone_ends_the_evaluation_soon(
    subworlds: Command, worlds: Path, server_url: str
) -> None:
    ran = subworlds(
        *("eval", "--agent", "openai:keeper", "--agent-url", "http://127.0.0.1:9/v1", "--agent-retries", "0"),
        *("--split", "train", "-k", "500", "--url", server_url, "--pack", worlds),
    )
    assert (ran.status, ran.out) == (1, "")
    assert "endpoint_unreachable" in ran.err


def test_run_plays_one_episode_with_a_model(subworlds: Command, worlds: Path, server_url: str) -> None:
    with judge_server(answering=shopkeeper) as server:
        ran = subworlds(
            *("run", "kiosk/sell-apples", "--agent", "openai:keeper", "--agent-url", server.url),
            *("--url", server_url, "--pack", worlds),
        )
    assert ran.status == 0
    assert "openai:keeper agent" in ran.out
    assert "1.00 complete" in ran.out


def test_model_may_ask_the_gold_expert(
    subworlds: Command, worlds: Path, server_url: str, tmp_path: Path
) -> None:
    """It does what it is told, and knows nothing itself."""
    out = tmp_path / "episodes.jsonl"
    with judge_server(answering=obedient) as server:
        command = ("eval", "--agent", "openai:child", "--agent-url", server.url, "--split", "train")
        where = ("--url", server_url, "--pack", worlds)
        ran = subworlds(*command, "--expert", "gold", "--out", out, "--json", *where)
        alone = subworlds(*command, *where)
        page = subworlds(*command, "--expert", "gold", *where)
    assert (ran.status, ran.json["success"]["value"], ran.json["invalid"]) == (0, 1.0, 0)
    assert ran.json["questions"] == 2.5  # two calls and an end, a call and an answer
    assert ran.json["by_kind"].keys() == {"read", "write"}
    stored = [json.loads(line) for line in out.read_text().splitlines()]
    assert {(each["level"], each["kind"]) for each in stored} == {("easy", "write"), ("easy", "read")}
    assert all("ask_expert" not in [step["tool"] for step in each["steps"]] for each in stored)
    assert "2.5 questions to the expert an episode" in page.out
    assert "questions to the expert" not in alone.out
    assert "success, read tasks" in alone.out


def test_agent_and_expert_have_endpoints_and_keys_of_their_own(
    subworlds: Command, worlds: Path, server_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-agent")
    monkeypatch.setenv("SUBWORLDS_EXPERT_KEY", "sk-expert")
    with (
        judge_server(answering=obedient) as agent,
        judge_server(answering=lambda _: answers("Done.")) as expert,
    ):
        ran = subworlds(
            *("eval", "--agent", "openai:child", "--agent-url", agent.url, "--split", "train", "--json"),
            *("--expert", "openai:sage", "--expert-url", expert.url, "--url", server_url, "--pack", worlds),
        )
    assert (ran.status, ran.json["questions"], ran.json["invalid"]) == (0, 1.0, 0)
    assert (set(agent.keys), set(expert.keys)) == ({"Bearer sk-agent"}, {"Bearer sk-expert"})
    assert {request["model"] for request in expert.requests} == {"sage"}


def test_what_a_model_lacks_is_bad_input(subworlds: Command, worlds: Path, tmp_path: Path) -> None:
    for wrong, said in (
        (("openai:keeper",), "needs the address of an endpoint"),
        (("openai:keeper", "--agent-url", "nowhere"), "URL"),
        (("openai:", "--agent-url", "http://127.0.0.1:9/v1"), "name is empty"),
        (("openai:keeper", "--agent-url", "http://x/v1", "--tools", "compact"), "full or meta"),
        (("gold", "--tools", "some"), "there are full, compact, meta"),
        ((f"hf:{tmp_path / 'none'}",), "is not a folder"),
        (("gold", "--expert", "gold"), "is a script and asks nobody"),
        (
            ("openai:keeper", "--agent-url", "http://x/v1", "--expert", "oracle"),
            "there are gold and openai:MODEL",
        ),
        (("openai:keeper", "--agent-url", "http://x/v1", "--expert", "openai:x"), "--expert-url URL"),
        ((f"hf:{tmp_path}",), "cannot be loaded"),
        ((f"hf:{tmp_path}", "--turn-tokens", "9000"), "does not fit"),
        (("gpt",), "there is no agent 'gpt'; there are gold"),
    ):
        ran = subworlds("eval", "--agent", *wrong, "--pack", worlds, "--split", "train")
        assert (ran.status, ran.out) == (2, "")
        assert said in ran.err


def test_model_in_a_folder_is_evaluated(
    subworlds: Command, worlds: Path, server_url: str, tiny: Path, tmp_path: Path
) -> None:
    out = tmp_path / "episodes.jsonl"
    ran = subworlds(
        *("eval", "--agent", f"hf:{tiny}", "--tools", "compact", "--turn-tokens", "8", "--split", "train"),
        *("-k", "3", "--out", out, "--json", "--url", server_url, "--pack", worlds),
    )
    found = ran.json
    assert (ran.status, found["episodes"], found["invalid"], found["success"]["value"]) == (0, 6, 0, 0.0)
    assert found["cut"] == {"tokens": 6}
    assert found["written_tokens"] == 8
    assert found["read_tokens"] > 100
    episode = json.loads(out.read_text().splitlines()[0])
    assert [message["role"] for message in episode["model"]["transcript"]] == ["system", "user", "assistant"]


def test_prompt_that_leaves_no_room_says_so(
    subworlds: Command, worlds: Path, server_url: str, tiny: Path
) -> None:
    ran = subworlds(
        *("eval", "--agent", f"hf:{tiny}", "--tokens", "40000", "--split", "train"),
        *("--url", server_url, "--pack", worlds),
    )
    assert ran.status == 1
    assert "Show the tools shorter" in ran.err
