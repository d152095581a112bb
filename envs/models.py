"""What travels between a client and the server: actions, observations, state.

Each kind of action and observation is its own class. On the wire an error has OpenEnv's own vocabulary, so
that its stock clients can read it, beside ours in `error_type`; in Python `observation.error.error_type` is
ours.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal, Self, TypeAlias, cast

from openenv.core.env_server.mcp_types import Tool
from openenv.core.env_server.types import Action, Observation, State
from pydantic import (
    BaseModel,
    Field,
    GetJsonSchemaHandler,
    TypeAdapter,
    WithJsonSchema,
    model_serializer,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

from ..verifiers.verdict import Verdict

MAX_ANSWER = 20_000
"""Characters an answer may have."""


class ErrorType(StrEnum):
    """Every way in which a step gives no result."""

    TOOL_NOT_FOUND = "tool_not_found"
    INVALID_ARGUMENTS = "invalid_arguments"
    TOOL_FAILED = "tool_failed"
    TIMEOUT = "timeout"
    WORLD_CRASHED = "world_crashed"
    NO_EPISODE = "no_episode"
    EPISODE_DONE = "episode_done"
    SESSION_EXPIRED = "session_expired"
    INVALID_REQUEST = "invalid_request"
    UNKNOWN_SCENARIO = "unknown_scenario"
    UNKNOWN_TASK = "unknown_task"
    SCENARIO_ERROR = "scenario_error"
    SERVER_FULL = "server_full"
    SERVER_STOPPING = "server_stopping"


_OPENENV_NAMES = {
    ErrorType.TOOL_NOT_FOUND: "tool_not_found",
    ErrorType.INVALID_ARGUMENTS: "invalid_args",
    ErrorType.TIMEOUT: "timeout",
    ErrorType.WORLD_CRASHED: "transport_error",
}

_OTHER = "execution_error"
_WIRE_NAMES = [*_OPENENV_NAMES.values(), _OTHER]


class EpisodeError(BaseModel):
    """Why there is no result."""

    error_type: Annotated[ErrorType, WithJsonSchema({"type": "string", "enum": _WIRE_NAMES})]
    message: str

    def __str__(self) -> str:
        return f"{self.error_type}: {self.message}"

    @model_serializer
    def _in_openenv_terms(self) -> dict[str, str]:
        name = _OPENENV_NAMES.get(self.error_type, _OTHER)
        return {"error_type": name, "message": self.message}


class ListTools(Action):
    """Ask for the world's tools."""

    type: Literal["list_tools"] = "list_tools"


class CallTool(Action):
    """Call one of the world's tools."""

    type: Literal["call_tool"] = "call_tool"
    tool_name: str
    arguments: dict[str, Any] = Field(default_factory=dict)


class Done(Action):
    """End the episode and have it scored. Not a tool: agents cannot reach it."""

    type: Literal["done"] = "done"
    answer: str | None = Field(default=None, max_length=MAX_ANSWER)


AnyAction: TypeAlias = Annotated[ListTools | CallTool | Done, Field(discriminator="type")]

_actions: TypeAdapter[ListTools | CallTool | Done] = TypeAdapter(AnyAction)


class SubworldsAction(Action):
    """Any of the three actions, told apart by `type`."""

    @model_validator(mode="wrap")
    @classmethod
    def _choose(cls, data: Any, handler: Any) -> Any:
        if not isinstance(data, dict):
            raise PydanticCustomError("action_type", "an action is a JSON object with a 'type'")
        return _actions.validate_python(data)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return handler(_actions.core_schema)


class SubworldsObservation(Observation):
    """What every observation has. `reward` is None until the episode is done, and where it is invalid."""

    error: EpisodeError | None = None
    """Why there is no result, or None."""
    error_type: ErrorType | None = None
    """The same as `error.error_type`, for readers of the raw JSON."""

    @model_validator(mode="before")
    @classmethod
    def _restore_error_type(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return cast(object, data)
        fields = cast(dict[str, Any], data)
        if isinstance(fields.get("error"), dict) and fields.get("error_type"):
            return {**fields, "error": {**fields["error"], "error_type": fields["error_type"]}}
        return fields

    @model_validator(mode="after")
    def _expose_error_type(self) -> Self:
        if self.error is not None and self.error_type != self.error.error_type:
            self.error_type = self.error.error_type
        return self


class ResetObservation(SubworldsObservation):
    """A fresh episode: the instruction, and the agent's own MCP endpoint. Or the reason why there is none."""

    kind: Literal["reset"] = "reset"
    prompt: str | None = None
    """The instruction, in a person's words."""
    scenario: str | None = None
    task: str | None = None
    """The task's id."""
    mcp_url: str | None = None
    """Streamable HTTP endpoint that shows this world's tools and nothing else."""
    mcp_token: str | None = None
    """Bearer token for `mcp_url`, good for this episode."""


class ListToolsObservation(SubworldsObservation):
    """The world's tools."""

    kind: Literal["list_tools"] = "list_tools"
    tools: list[Tool] = Field(default_factory=list[Tool])


class CallToolObservation(SubworldsObservation):
    """What a tool answered."""

    kind: Literal["call_tool"] = "call_tool"
    tool_name: str
    result: Any = None
    """The tool's JSON result; a text that says so where it was cut."""
    truncated: bool = False
    """Whether the output was over the limit."""


class DoneObservation(SubworldsObservation):
    """The end of the episode: the verdict with its receipt. `reward` is in the step result."""

    kind: Literal["done"] = "done"
    verdict: Verdict | None = None
    components: dict[str, float] | None = None
    """The reward's components by name, each in [0, 1]. None where the episode is invalid."""


AnyObservation: TypeAlias = Annotated[
    ResetObservation | ListToolsObservation | CallToolObservation | DoneObservation,
    Field(discriminator="kind"),
]

observations: TypeAdapter[ResetObservation | ListToolsObservation | CallToolObservation | DoneObservation] = (
    TypeAdapter(AnyObservation)
)
"""Reads any observation by its `kind`."""


class StepObservation(SubworldsObservation):
    """Published as the schema of what a step returns: one of the three kinds."""

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        steps: TypeAdapter[Any] = TypeAdapter(
            Annotated[
                ListToolsObservation | CallToolObservation | DoneObservation, Field(discriminator="kind")
            ]
        )
        return handler(steps.core_schema)


class SubworldsState(State):
    """Where an episode stands, for its harness."""

    phase: Literal["idle", "playing", "done", "expired"] = "idle"
    scenario: str | None = None
    task: str | None = None


class TaskCard(BaseModel):
    """What may be known of a task before it is played: no solution, no check, no answer."""

    id: str
    index: int
    """Position in its split, from 0."""
    scenario: str
    prompt: str
    difficulty: str | None
    split: str
    tags: list[str]

    @property
    def kind(self) -> str | None:
        """What sort of task it is: its first tag, `read` or `write` in the built-in packs."""
        return self.tags[0] if self.tags else None


__all__ = [
    "AnyAction",
    "CallTool",
    "CallToolObservation",
    "Done",
    "DoneObservation",
    "EpisodeError",
    "ErrorType",
    "ListTools",
    "ListToolsObservation",
    "ResetObservation",
    "StepObservation",
    "SubworldsAction",
    "SubworldsObservation",
    "SubworldsState",
    "TaskCard",
    "Tool",
    "observations",
]
