"""The episode's tools in the shape that OpenEnv's own `/mcp` routes expect of an environment."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any

from .models import CallTool, CallToolObservation, Tool


class ToolCallFailed(Exception):
    """A tool gave no result; the text says why."""


class EpisodeToolClient:
    """What HTTPEnvServer calls an `mcp_client`: always connected, since the episode is in this process."""

    def __init__(
        self,
        list_tools: Callable[[], list[Tool]],
        call_tool: Callable[[CallTool], Awaitable[CallToolObservation]],
    ) -> None:
        self._list_tools = list_tools
        self._call_tool = call_tool

    def is_connected(self) -> bool:
        """Always."""
        return True

    async def list_tools(self) -> list[dict[str, Any]]:
        """The tools as MCP lists them."""
        return [
            {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}
            for tool in self._list_tools()
        ]

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The tool's result, as `{"data": result}`.

        Raises:
            ToolCallFailed: there is no result.
        """
        observation = await self._call_tool(CallTool(tool_name=name, arguments=arguments))
        if observation.error is not None:
            raise ToolCallFailed(str(observation.error))
        return {"data": observation.result}

    async def __aenter__(self) -> EpisodeToolClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None
