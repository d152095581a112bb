"""A world's socket speaks the Model Context Protocol as the official SDK's client understands it."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
import pytest_asyncio
from mcp import ClientSession, McpError, types
from mcp.shared.message import SessionMessage

from subworlds.sandbox import ForkControl, Zygote
from subworlds.scenarios.scenario_file import SPEC_FILE, encode_scenario

from .toys import toy

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def template(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[ForkControl, Path]]:
    """A template of the toy world, without the manager around it, and its folder."""
    folder = tmp_path_factory.mktemp("template")
    (folder / SPEC_FILE).write_text(json.dumps(encode_scenario(toy())))
    zygote = await Zygote.start("subworlds.scenarios.template")
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        request = {
            "folders": [str(folder)],
            "user": None,
            "processes": 1024,
            "enforced": True,
            "allow_lost_rows": False,
            "warm": False,
        }
        await zygote.control.fork(request, [theirs.fileno()])
    control = ForkControl(ours)
    assert (await control.ready)["ready"]
    yield control, folder
    await control.close()
    await zygote.stop()


@asynccontextmanager
async def connect(template: tuple[ForkControl, Path], name: str) -> AsyncGenerator[ClientSession]:
    """The SDK's client on the socket of a fresh session, past the notification that is the server's own."""
    control, home = template
    folder = home / name
    folder.mkdir()
    ours, theirs = socket.socketpair()
    with theirs:
        await control.fork({"folder": str(folder), "cpu_seconds": 60}, [theirs.fileno()])
    reader, writer = await asyncio.open_unix_connection(sock=ours)
    assert json.loads(await reader.readline())["method"] == "world/ready"
    to_client, from_world = anyio.create_memory_object_stream[SessionMessage | Exception](16)
    to_world, from_client = anyio.create_memory_object_stream[SessionMessage](16)

    async def pump_in() -> None:
        async with to_client:
            while line := await reader.readline():
                await to_client.send(SessionMessage(types.JSONRPCMessage.model_validate_json(line)))

    async def pump_out() -> None:
        async with from_client:
            async for message in from_client:
                writer.write(
                    message.message.model_dump_json(by_alias=True, exclude_none=True).encode() + b"\n"
                )

    async with anyio.create_task_group() as pumps, ClientSession(from_world, to_world) as client:
        pumps.start_soon(pump_in)
        pumps.start_soon(pump_out)
        try:
            yield client
        finally:
            writer.close()
            pumps.cancel_scope.cancel()


async def test_a_client_can_initialize_ping_and_list_tools(template: tuple[ForkControl, Path]) -> None:
    async with connect(template, "list") as client:
        hello = await client.initialize()
        assert hello.protocolVersion == types.LATEST_PROTOCOL_VERSION
        assert hello.capabilities.tools is not None
        await client.send_ping()
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert tools["add_note"].inputSchema["required"] == ["text"]
        assert tools["list_notes"].description is not None


async def test_a_client_can_call_tools_and_is_told_of_failures(template: tuple[ForkControl, Path]) -> None:
    async with connect(template, "call") as client:
        await client.initialize()
        added = await client.call_tool("add_note", {"text": "Käse ü"})
        assert (added.isError, texts(added)) == (False, ['{"id": 3}'])
        listed = await client.call_tool("list_notes")
        assert json.loads(texts(listed)[0])[2] == {"id": 3, "text": "Käse ü"}
        for name, arguments in (("read_note", {"id": 99}), ("add_note", {}), ("no_such_tool", {})):
            assert (await client.call_tool(name, arguments)).isError


async def test_a_client_that_asks_for_what_there_is_not_gets_an_error(
    template: tuple[ForkControl, Path],
) -> None:
    async with connect(template, "error") as client:
        await client.initialize()
        with pytest.raises(McpError, match="method not found"):
            await client.list_resources()


@pytest.mark.parametrize(
    ("wanted", "spoken"),
    [("2024-11-05", "2024-11-05"), ("1999-01-01", "2025-11-25")],
)
async def test_the_protocols_version_is_the_clients_if_the_world_speaks_it(
    template: tuple[ForkControl, Path], wanted: str, spoken: str
) -> None:
    async with connect(template, wanted) as client:
        info = types.Implementation(name="test", version="1")
        parameters = types.InitializeRequestParams(
            protocolVersion=wanted, capabilities=types.ClientCapabilities(), clientInfo=info
        )
        request = types.ClientRequest(types.InitializeRequest(params=parameters))
        hello = await client.send_request(request, types.InitializeResult)
        assert hello.protocolVersion == spoken


def texts(result: types.CallToolResult) -> list[str]:
    """The texts of a result."""
    return [block.text for block in result.content if isinstance(block, types.TextContent)]
