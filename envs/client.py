"""The client of a subworlds server: one WebSocket, one episode at a time."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any, Self, cast

import httpx
from openenv.core.client_types import StepResult
from openenv.core.env_client import EnvClient
from pydantic import ValidationError
from websockets.exceptions import ConnectionClosed, InvalidStatus

from .models import (
    CallTool,
    CallToolObservation,
    Done,
    DoneObservation,
    ListTools,
    ListToolsObservation,
    ResetObservation,
    SubworldsObservation,
    SubworldsState,
    TaskCard,
    Tool,
    observations,
)

ENVIRONMENT = "subworlds"
"""The environment's name in the task API's routes."""


class ServerError(RuntimeError):
    """The server answered a message with an error frame."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        """OpenEnv's WebSocket error code."""
        super().__init__(f"{message} ({code})")


class ServerBusy(ServerError):
    """The server has no room for another connection."""


class ConnectionLost(ConnectionError):
    """The connection to the server closed before it answered. The episode is gone."""


class AccessDenied(ConnectionError):
    """The server did not let us in: no control token, a wrong one, or a machine that it does not serve."""


class SubworldsEnv(EnvClient[Any, SubworldsObservation, SubworldsState]):
    """Plays episodes on a subworlds server.

    Use as `async with SubworldsEnv(base_url=...) as env`, or `.sync()` for the same methods without await.
    Keepalive is left to TCP, so a client that generates tokens for minutes does not lose its episode.
    """

    def __init__(
        self,
        base_url: str = "http://127.0.0.1:8000",
        *,
        token: str | None = None,
        connect_timeout_s: float = 10.0,
        message_timeout_s: float = 120.0,
        websocket_ping_interval_s: float | None = None,
        websocket_ping_timeout_s: float | None = None,
        **options: Any,
    ) -> None:
        """Args:
        base_url: where the server listens.
        token: the server's control token, where it asks for one.
        connect_timeout_s: seconds to wait for a connection.
        message_timeout_s: seconds to wait for an answer; more than the server's limit for a call.
        options: passed to OpenEnv's EnvClient (`headers`, `provider`, ...).
        """
        if token is not None:
            options["headers"] = {**(options.get("headers") or {}), "Authorization": f"Bearer {token}"}
        super().__init__(
            base_url=base_url,
            connect_timeout_s=connect_timeout_s,
            message_timeout_s=message_timeout_s,
            websocket_ping_interval_s=websocket_ping_interval_s,
            websocket_ping_timeout_s=websocket_ping_timeout_s,
            **options,
        )
        self._turn = asyncio.Lock()
        """One message at a time: answers carry no number that would tell them apart."""

    async def __aenter__(self) -> Self:
        await self.connect()
        return self

    async def _connect_async(self) -> Self:
        """Connect. Raises AccessDenied where the server refuses us, ConnectionError where there is none."""
        try:
            await super()._connect_async()  # pyright: ignore[reportUnknownMemberType]
        except ConnectionError as error:
            raise _explained(error, self.base_url) from error
        return self

    async def list_tools(self) -> list[Tool]:
        """The tools of the world that is played: name, description, input_schema. Empty before a reset."""
        result = await self._step_async(ListTools())
        observation = cast(ListToolsObservation, result.observation)
        return observation.tools

    async def call_tool(self, tool_name: str, /, **arguments: Any) -> StepResult[CallToolObservation]:
        """Call a tool. The agent's mistakes come back in `observation.error`, never as an exception."""
        result = await self._step_async(CallTool(tool_name=tool_name, arguments=arguments))
        return cast(StepResult[CallToolObservation], result)

    async def done(self, answer: str | None = None) -> StepResult[DoneObservation]:
        """End the episode and score it, once. `reward` is None where world or verifier broke.

        Args:
            answer: what the agent said at the end, for tasks that ask a question.
        """
        return cast(StepResult[DoneObservation], await self._step_async(Done(answer=answer)))

    async def list_splits(self) -> list[str]:
        """Names of the splits the server has tasks in."""
        found = await self._get(f"/{ENVIRONMENT}/splits")
        return [str(split["name"]) for split in found]

    async def num_tasks(self, split: str) -> int:
        """How many tasks a split has."""
        return int((await self._post(f"/{ENVIRONMENT}/num_tasks", {"split": split}))["num_tasks"])

    async def list_tasks(self, split: str) -> list[TaskCard]:
        """The tasks of a split, in order."""
        found = await self._post(f"/{ENVIRONMENT}/tasks", {"split": split})
        return [TaskCard(**task) for task in found["tasks"]]

    async def get_task(self, split: str, index: int) -> TaskCard:
        """One task of a split.

        Raises:
            IndexError: the split has no such task.
        """
        if not 0 <= index < (count := await self.num_tasks(split)):
            raise IndexError(f"split '{split}' has {count} tasks; there is no task {index}")
        found = await self._post(f"/{ENVIRONMENT}/task", {"split": split, "index": index})
        return TaskCard(**found["task"])

    async def _reset_async(  # type: ignore[override]  # narrows OpenEnv's **kwargs to what this server takes
        self,
        *,
        scenario: str | None = None,
        task: str | None = None,
        index: int | None = None,
        split: str | None = None,
        seed: int | None = None,
        episode_id: str | None = None,
    ) -> StepResult[ResetObservation]:
        """Start an episode, ending the one before.

        Give a task id, or a scenario and an index among its tasks, or a split and an index among its tasks.
        With less than that, the seed chooses. The same seed and the same calls leave the same database.
        """
        options = {
            "scenario": scenario,
            "task": task,
            "index": index,
            "split": split,
            "seed": seed,
            "episode_id": episode_id,
        }
        given = {name: value for name, value in options.items() if value is not None}
        response = await self._send_and_receive({"type": "reset", "data": given})
        return cast(StepResult[ResetObservation], self._parse_result(response.get("data", {})))

    async def _send_and_receive(self, message: dict[str, Any]) -> dict[str, Any]:
        try:
            async with self._turn:
                with contextlib.suppress(ConnectionClosed):  # a refusal can still be read
                    await self._send(message)
                response = await self._receive()
        except ConnectionClosed as error:
            raise ConnectionLost(f"the connection to {self.base_url} closed before it answered") from error
        if response.get("type") == "error":
            raise _error_of(response.get("data", {}))
        return response

    def _step_payload(self, action: Any) -> dict[str, Any]:
        payload: dict[str, Any] = action.model_dump(exclude={"metadata"})
        return payload

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[SubworldsObservation]:
        done, reward = bool(payload.get("done", False)), payload.get("reward")
        try:
            observation = observations.validate_python(
                {**payload["observation"], "done": done, "reward": reward}
            )
        except (KeyError, ValidationError) as error:
            raise ServerError(
                "UNREADABLE", f"the server's answer is not a subworlds observation: {error}"
            ) from error
        return StepResult(observation=observation, reward=reward, done=done, metadata=payload.get("metadata"))

    def _parse_state(self, payload: dict[str, Any]) -> SubworldsState:
        return SubworldsState(**payload)

    async def _get(self, path: str) -> Any:
        return await self._http("GET", path, None)

    async def _post(self, path: str, body: dict[str, Any]) -> Any:
        return await self._http("POST", path, body)

    async def _http(self, method: str, path: str, body: dict[str, Any] | None) -> Any:
        base = (self.base_url or "").replace("ws://", "http://", 1).replace("wss://", "https://", 1)
        async with httpx.AsyncClient(
            headers=self._headers, timeout=self._message_timeout, trust_env=False
        ) as http:
            response = await http.request(method, base + path, json=body)
        if response.is_error:
            raise ServerError(str(response.status_code), f"{method} {path}: {response.text[:300]}")
        return response.json()


def _explained(error: ConnectionError, url: str | None) -> ConnectionError:
    """A refusal as one; any other failure to connect as it is."""
    refusal = error.__cause__
    if not isinstance(refusal, InvalidStatus) or refusal.response.status_code not in (401, 403):
        return error
    said = refusal.response.body.decode(errors="replace")[:300]
    return AccessDenied(f"{url} refused the connection ({refusal.response.status_code}): {said}")


def _error_of(data: dict[str, Any]) -> ServerError:
    code, message = str(data.get("code", "UNKNOWN")), str(data.get("message", "the server reported an error"))
    if details := data.get("errors"):
        message += ": " + "; ".join(str(detail.get("msg", detail)) for detail in details)
    return ServerBusy(code, message) if code == "CAPACITY_REACHED" else ServerError(code, message)
