"""Agents over MCP: stock clients see the world's tools and nothing else."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import fastmcp
import httpx
import pytest
from fastmcp.client.transports import StreamableHttpTransport
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from openenv.core.mcp_client import MCPToolClient

from subworlds.envs import ResetObservation, SubworldsEnv

_TOOLS = ["list_goods", "sell", "get_price", "trip", "recite", "nap", "crash"]
_PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
_JSON = {"accept": "application/json, text/event-stream"}


@asynccontextmanager
async def playing(server_url: str) -> AsyncGenerator[tuple[SubworldsEnv, ResetObservation]]:
    async with SubworldsEnv(base_url=server_url) as env:
        reset = await env.reset(task="kiosk/sell-apples")
        yield env, reset.observation


async def test_the_official_client_plays_the_episode(server_url: str) -> None:
    async with playing(server_url) as (env, reset):
        async with (
            httpx.AsyncClient(headers={"authorization": f"Bearer {reset.mcp_token}"}) as http,
            streamable_http_client(reset.mcp_url, http_client=http) as (read, write, _),
            ClientSession(read, write) as agent,
        ):
            await agent.initialize()
            assert [tool.name for tool in (await agent.list_tools()).tools] == _TOOLS
            sold = await agent.call_tool("sell", {"good_id": 1, "quantity": 3})
            assert sold.structuredContent == {"sale_id": 2}
            refused = await agent.call_tool("sell", {"good_id": 3})
            assert refused.isError
            assert refused.content[0].text == "tool_failed: only 0 left"
            hidden = await agent.call_tool("done", {"answer": "1"})
            assert hidden.content[0].text == "tool_not_found: there is no tool 'done' in this world"
        assert (await env.state()).step_count == 3
        assert (await env.done()).observation.verdict.outcome == "complete"


async def test_a_fastmcp_client_lists_and_calls(server_url: str) -> None:
    async with (
        playing(server_url) as (_, reset),
        fastmcp.Client(StreamableHttpTransport(reset.mcp_url, auth=reset.mcp_token)) as agent,
    ):
        assert [tool.name for tool in await agent.list_tools()] == _TOOLS
        assert (await agent.call_tool("sell", {"good_id": 1})).structured_content == {"sale_id": 2}


async def test_openenvs_own_mcp_client_lists_and_calls(server_url: str) -> None:
    async with MCPToolClient(base_url=server_url) as client:
        await client.reset(task="kiosk/sell-apples")
        assert [tool.name for tool in await client.list_tools()] == _TOOLS
        assert await client.call_tool("get_price", good_id=2) == 70
        for hidden in ("done", "verify", "reset", "step", "state", "close"):
            with pytest.raises(RuntimeError, match="tool_not_found"):
                await client.call_tool(hidden)


async def test_only_the_episodes_own_token_opens_its_endpoint(server_url: str) -> None:
    async with playing(server_url) as (_, one), playing(server_url) as (_, two), httpx.AsyncClient() as http:

        async def status(url: str | None, token: str | None) -> int:
            headers = {**_JSON, **({"authorization": f"Bearer {token}"} if token else {})}
            return (await http.post(str(url), json=_PING, headers=headers)).status_code

        assert await status(one.mcp_url, one.mcp_token) == 200
        assert await status(one.mcp_url, two.mcp_token) == 401
        assert await status(one.mcp_url, None) == 401
        assert await status(one.mcp_url, "x" * 43) == 401
        assert await status(f"{server_url}/sessions/0123456789abcdef/mcp", one.mcp_token) == 401


async def test_the_endpoint_is_gone_when_the_episode_is_done(server_url: str) -> None:
    async with playing(server_url) as (env, reset), httpx.AsyncClient() as http:
        await env.done()
        headers = {**_JSON, "authorization": f"Bearer {reset.mcp_token}"}
        assert (await http.post(str(reset.mcp_url), json=_PING, headers=headers)).status_code == 401


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b'"x"', b'{"jsonrpc": "2.0", "id": 1, "method": "done"}', b"\xff\xfe", b"[" * 5000],
)
async def test_malformed_messages_are_refused_and_the_episode_goes_on(server_url: str, body: bytes) -> None:
    async with playing(server_url) as (env, reset), httpx.AsyncClient() as http:
        headers = {**_JSON, "authorization": f"Bearer {reset.mcp_token}", "content-type": "application/json"}
        answer = await http.post(str(reset.mcp_url), content=body, headers=headers)
        assert answer.status_code < 500
        assert (await env.call_tool("list_goods")).observation.error is None


async def test_a_get_stream_is_refused_rather_than_held_open(server_url: str) -> None:
    async with playing(server_url) as (_, reset), httpx.AsyncClient() as http:
        headers = {**_JSON, "authorization": f"Bearer {reset.mcp_token}"}
        assert (await http.get(str(reset.mcp_url), headers=headers)).status_code == 405
