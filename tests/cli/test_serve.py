"""`subworlds serve`: the process that others start, read and stop."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from subworlds.envs import SubworldsEnv

from .conftest import Command

READY = re.compile(r"subworlds ready at (http://\S+) \((\d+) scenarios?, (\d+) tasks?\)\n")


@contextmanager
def served(*arguments: str | Path) -> Generator[subprocess.Popen[str]]:
    command = [
        sys.executable,
        "-c",
        "from subworlds.cli.main import main; main()",
        "serve",
        *map(str, arguments),
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def ready_url(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    found = READY.fullmatch(line)
    assert found is not None, line
    return found[1]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_server_says_once_that_it_is_ready_and_stops_in_good_order(
    worlds: Path, number: signal.Signals
) -> None:
    with served("--port", "0", "--pack", worlds) as process:
        async with SubworldsEnv(base_url=ready_url(process)) as env:
            assert (await env.reset(task="kiosk/sell-apples")).observation.prompt
            process.send_signal(number)
            out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (0, "", "")


async def test_live_sessions_leave_no_process_behind_when_the_server_stops(worlds: Path) -> None:
    with served("--port", "0", "--pack", worlds) as process:
        async with SubworldsEnv(base_url=ready_url(process)) as env:
            await env.reset(task="kiosk/sell-apples")
            children = _descendants(process.pid)
            assert len(children) >= 3
            process.terminate()
            process.communicate(timeout=30)
    assert not _alive(children)


def test_capacity_from_the_command_line_reaches_the_server(worlds: Path) -> None:
    with (
        served("--port", "0", "--pack", worlds, "--capacity", "3") as process,
        urllib.request.urlopen(f"{ready_url(process)}/stats", timeout=10) as answer,
    ):
        stats = json.load(answer)
    assert (stats["capacity"], stats["scenarios"]) == (3, 1)


def test_taken_port_is_one_clear_message(subworlds: Command, worlds: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ran = subworlds("serve", "--port", str(port), "--pack", worlds)
    assert (ran.status, ran.out) == (1, "")
    assert f"cannot listen on 127.0.0.1:{port}" in ran.err


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org", ""])
def test_address_beyond_this_machine_must_be_allowed_in_words(
    subworlds: Command, worlds: Path, host: str
) -> None:
    ran = subworlds("serve", "--host", host, "--port", "0", "--pack", worlds)
    assert (ran.status, ran.out) == (2, "")
    assert "--allow-remote" in ran.err
    assert "reset, step and score" in ran.err


def test_remote_address_is_served_when_allowed(worlds: Path) -> None:
    with served("--host", "0.0.0.0", "--port", "0", "--allow-remote", "--pack", worlds) as process:
        url = ready_url(process).replace("0.0.0.0", "127.0.0.1")
        with urllib.request.urlopen(f"{url}/health", timeout=10) as answer:
            assert json.load(answer) == {"status": "healthy"}


def test_remote_address_is_served_to_those_who_know_the_token(worlds: Path, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("a-token-that-nobody-guesses\n")
    with served("--host", "0.0.0.0", "--port", "0", "--token-file", str(file), "--pack", worlds) as process:
        url = ready_url(process).replace("0.0.0.0", "127.0.0.1")
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(f"{url}/stats", timeout=10)
        headers = {"Authorization": f"Bearer {file.read_text().strip()}"}
        with urllib.request.urlopen(urllib.request.Request(f"{url}/stats", headers=headers)) as answer:
            assert json.load(answer)["sessions"] == 0
        process.terminate()
        assert "nobody-guesses" not in "".join(process.communicate(timeout=60))


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (b"", "has 0 characters"),
        (b"too-short\n", "has 9 characters"),
        (b"a token with spaces in it", "spaces"),
        ("tökens-are-plain-text-only".encode(), "ASCII"),
        (b"\xff" * 20, "not text"),
        (None, "cannot be read"),
    ],
)
def test_a_token_that_is_none_is_refused_and_not_shown(
    subworlds: Command, tmp_path: Path, written: bytes | None, said: str
) -> None:
    file = tmp_path / "token"
    if written is not None:
        file.write_bytes(written)
    ran = subworlds("serve", "--port", "0", "--token-file", file)
    assert (ran.status, ran.out) == (2, "")
    assert said in ran.err
    assert "too-short" not in ran.err


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ("task=1", "give each of task, process, format, efficiency once"),
        ("task=0.5,process=0.2,format=0.2,efficiency=x", "could not convert"),
        ("task=0.5,process=0.2,format=0.2,efficiency=0.2", "sum to 1"),
        ("task=0.1,process=0.4,format=0.3,efficiency=0.2", "complete must beat incomplete"),
        ("task=1.2,process=-0.2,format=0,efficiency=0", "at least 0"),
    ],
)
def test_weights_that_make_no_sense_are_refused(subworlds: Command, weights: str, said: str) -> None:
    ran = subworlds("serve", "--port", "0", "--reward-weights", weights)
    assert (ran.status, ran.out) == (2, "")
    assert said in ran.err


def test_two_tokens_are_one_too_many(
    subworlds: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUBWORLDS_TOKEN", "a-token-that-nobody-guesses")
    ran = subworlds("serve", "--port", "0", "--token-file", tmp_path / "token")
    assert (ran.status, ran.out) == (2, "")
    assert "both given" in ran.err


def _descendants(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (task / "children").read_text().split()):
            found += [child, *_descendants(child)]
    return found


def _alive(pids: list[int]) -> list[int]:
    return [pid for pid in pids if Path(f"/proc/{pid}").exists()]
