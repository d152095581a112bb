"""What clients may send that was never meant well: the server answers or hangs up, and serves on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from subworlds.envs import ServerError, SubworldsEnv, gate, patience

TASK = "kiosk/sell-apples"


async def serves_on(url: str) -> bool:
    async with SubworldsEnv(base_url=url) as env:
        await env.reset(task=TASK)
        await env.call_tool("sell", good_id=1, quantity=3)
        return (await env.done()).reward == 1.0


@asynccontextmanager
async def control(url: str) -> AsyncGenerator[ClientConnection]:
    """A bare control connection."""
    async with connect(url.replace("http", "ws") + "/ws", proxy=None, max_size=None) as socket:
        yield socket


@asynccontextmanager
async def raw(url: str) -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A bare TCP connection."""
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    try:
        yield reader, writer
    finally:
        writer.close()


def step(action: str) -> str:
    return '{"type": "step", "data": ' + action + "}"


def sell(good: str) -> str:
    return step('{"type": "call_tool", "tool_name": "sell", "arguments": {"good_id": ' + good + "}}")


FRAMES = {
    "nothing": "",
    "no JSON": "{",
    "a number": "7",
    "a list": "[]",
    "null": "null",
    "no type": "{}",
    "an unknown type": '{"type": "verify"}',
    "a type that is a list": '{"type": ["reset"]}',
    "data that is a text": step('"done"'),
    "an unknown action": step('{"type": "score"}'),
    "an action of nothing": step("{}"),
    "a reward given by the client": step('{"type": "done", "reward": 1.0}'),
    "a verdict given by the client": step('{"type": "done", "verdict": {"outcome": "complete"}}'),
    "deep nesting": "[" * 100_000,
    "deep arguments": sell("[" * 5_000 + "]" * 5_000),
    "a huge number": sell("9" * 5_000),
    "not a number": sell("NaN"),
    "lone surrogates": step('{"type": "call_tool", "tool_name": "\\ud800", "arguments": {}}'),
    "a null byte": step('{"type": "call_tool", "tool_name": "sell\\u0000", "arguments": {}}'),
}


@pytest.mark.parametrize("what", FRAMES)
async def test_a_control_message_of(what: str, server_url: str) -> None:
    async with control(server_url) as socket:
        await socket.send(json.dumps({"type": "reset", "data": {"task": TASK}}))
        assert json.loads(await socket.recv())["data"]["observation"]["prompt"]
        await socket.send(FRAMES[what])
        try:
            answer = json.loads(await socket.recv())
        except ConnectionClosed:
            answer = {"data": {}}
        assert answer["data"].get("reward") in (None, 0.0)
    assert await serves_on(server_url)


async def test_a_control_message_over_the_limit_ends_its_connection_only(server_url: str) -> None:
    async with control(server_url) as socket:
        with suppress(ConnectionClosed):
            await socket.send("x" * (gate.MAX_BODY_BYTES + 1))
        with pytest.raises(ConnectionClosed) as closed:
            await socket.recv()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1009
    assert await serves_on(server_url)


async def test_bytes_that_are_no_text_end_their_connection_only(server_url: str) -> None:
    async with control(server_url) as socket:
        await socket.send(b"\xff\xfe\x00")
        with suppress(ConnectionClosed):
            assert "error" in str(await socket.recv())
    assert await serves_on(server_url)


async def test_many_messages_at_once_are_answered_one_by_one(server_url: str) -> None:
    """A client that does not wait for answers gets them all the same, in order, and one verdict."""
    async with control(server_url) as socket:
        await socket.send(json.dumps({"type": "reset", "data": {"task": TASK}}))
        for _ in range(30):
            await socket.send(json.dumps({"type": "step", "data": {"type": "done"}}))
        await socket.recv()
        ends = [json.loads(await socket.recv())["data"]["observation"] for _ in range(30)]
        assert ends[0]["verdict"] is not None
        assert all(end["verdict"] is None and end["error"] for end in ends[1:])


async def test_a_body_over_the_limit_is_not_taken_in(server_url: str) -> None:
    async with httpx.AsyncClient() as http:
        answer = await http.post(f"{server_url}/reset", content=b"x" * (gate.MAX_BODY_BYTES + 1))
        assert answer.status_code in (400, 413)
    assert await serves_on(server_url)


async def test_a_client_that_says_nothing_is_hung_up_on(
    server_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "_HEADERS_S", 0.1)
    async with raw(server_url) as (reader, _):
        assert await reader.read() == b""


async def test_a_client_that_dribbles_its_headers_is_hung_up_on(
    server_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "_HEADERS_S", 0.1)
    async with raw(server_url) as (reader, writer):
        writer.write(b"GET /stats HTTP/1.1\r\nhost: ")
        await writer.drain()
        assert await reader.read() == b""


async def test_a_second_request_must_come_whole_as_well(
    server_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with raw(server_url) as (reader, writer):
        host = urlsplit(server_url).netloc.encode()
        writer.write(b"GET /health HTTP/1.1\r\nhost: " + host + b"\r\n\r\n")
        assert b"200" in await reader.readuntil(b"}")
        monkeypatch.setattr(patience, "_HEADERS_S", 0.1)
        writer.write(b"GET /health HT")
        assert await reader.read() == b""


async def test_a_body_that_never_ends_is_given_up(server_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "_BODY_S", 0.1)
    async with raw(server_url) as (reader, writer):
        host = urlsplit(server_url).netloc.encode()
        writer.write(b"POST /reset HTTP/1.1\r\nhost: " + host + b"\r\ncontent-length: 100\r\n\r\n{")
        assert (await reader.readline()).split()[1] in (b"400", b"422", b"500")
    assert await serves_on(server_url)


async def test_a_slow_agent_holds_no_episode(server_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "_BODY_S", 0.1)
    async with SubworldsEnv(base_url=server_url) as env, raw(server_url) as (reader, writer):
        reset = (await env.reset(task=TASK)).observation
        path = urlsplit(str(reset.mcp_url)).path
        head = ("POST " + path + " HTTP/1.1", "host: x", f"authorization: Bearer {reset.mcp_token}")
        writer.write("\r\n".join([*head, "content-length: 99", "", "{"]).encode())
        assert not (await reader.readline()).startswith(b"HTTP/1.1 2")
        assert (await env.call_tool("list_goods")).observation.error is None


POST = b"POST /reset HTTP/1.1\r\nhost: 127.0.0.1\r\n"
MALFORMED = {
    "no host": b"GET / HTTP/1.1\r\n\r\n",
    "no such version": b"GET / HTTP/9.9\r\nhost: x\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "half a handshake": b"GET /ws HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n",
    "an endless path": b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\nhost: x\r\n\r\n",
    "endless headers": b"GET / HTTP/1.1\r\nhost: x\r\n" + b"a: b\r\n" * 20_000 + b"\r\n",
    "two lengths": POST + b"content-length: 5\r\ncontent-length: 6\r\n\r\n{}",
    "a length and chunks": POST + b"transfer-encoding: chunked\r\ncontent-length: 2\r\n\r\n{}",
    "two hosts": b"GET /stats HTTP/1.1\r\nhost: 127.0.0.1\r\nhost: evil\r\n\r\n",
}


@pytest.mark.parametrize("what", MALFORMED)
async def test_a_request_is_refused_that_has(what: str, server_url: str) -> None:
    async with raw(server_url) as (reader, writer):
        writer.write(MALFORMED[what])
        with suppress(OSError):
            writer.write_eof()
        with suppress(ConnectionResetError):
            assert not (await reader.read()).startswith(b"HTTP/1.1 2")
    assert await serves_on(server_url)


async def test_a_session_is_not_found_by_guessing(server_url: str) -> None:
    """Ids and tokens are long, random, and never those of another episode."""
    seen: set[str] = set()
    async with SubworldsEnv(base_url=server_url) as env:
        for _ in range(8):
            reset = (await env.reset(task=TASK, seed=7)).observation
            seen |= {str(reset.mcp_url), str(reset.mcp_token)}
            assert len(str(reset.mcp_token)) >= 40
    assert len(seen) == 16


async def test_a_replayed_token_of_an_ended_episode_opens_nothing(server_url: str) -> None:
    async with SubworldsEnv(base_url=server_url) as env, httpx.AsyncClient() as http:
        old = (await env.reset(task=TASK)).observation
        await env.reset(task=TASK)
        for url in (old.mcp_url, old.mcp_url):
            answer = await http.post(str(url), json={}, headers={"authorization": f"Bearer {old.mcp_token}"})
            assert answer.status_code == 401


HIDDEN = [
    *("reset", "step", "done", "state", "verify", "world/finish", "world/begin"),
    *("resources/list", "prompts/list", "sampling/createMessage", "completion/complete", "logging/setLevel"),
]


@pytest.mark.parametrize("method", HIDDEN)
async def test_the_agent_plane_knows_no_message_of_the_control_plane(server_url: str, method: str) -> None:
    async with SubworldsEnv(base_url=server_url) as env, httpx.AsyncClient() as http:
        reset = (await env.reset(task=TASK)).observation
        headers = {
            "authorization": f"Bearer {reset.mcp_token}",
            "accept": "application/json, text/event-stream",
        }
        message = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": method,
            "params": {"answer": "3", "data": {"type": "done"}},
        }
        answer = await http.post(str(reset.mcp_url), json=message, headers=headers)
        assert "result" not in answer.json()
        assert (await env.state()).phase == "playing"


async def test_a_client_that_leaves_in_mid_call_takes_nothing_with_it(server_url: str) -> None:
    async with control(server_url) as socket:
        await socket.send(json.dumps({"type": "reset", "data": {"task": TASK}}))
        await socket.recv()
        call = {"type": "call_tool", "tool_name": "nap", "arguments": {"seconds": 0.5}}
        await socket.send(json.dumps({"type": "step", "data": call}))
    assert await serves_on(server_url)


async def test_an_error_of_the_server_is_typed(server_url: str) -> None:
    async with SubworldsEnv(base_url=server_url) as env:
        with pytest.raises(ServerError):
            await env._send_and_receive({"type": "step", "data": {"type": "nonsense"}})
        assert (await env.reset(task=TASK)).observation.error is None
