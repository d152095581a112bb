"""The OpenEnv environment: what travels, the client, and the server."""

from .client import AccessDenied, ConnectionLost, ServerBusy, ServerError, SubworldsEnv
from .models import (
    CallTool,
    CallToolObservation,
    Done,
    DoneObservation,
    EpisodeError,
    ErrorType,
    ListTools,
    ListToolsObservation,
    ResetObservation,
    SubworldsState,
    TaskCard,
    Tool,
)

__all__ = [
    "AccessDenied",
    "CallTool",
    "CallToolObservation",
    "ConnectionLost",
    "Done",
    "DoneObservation",
    "EpisodeError",
    "ErrorType",
    "ListTools",
    "ListToolsObservation",
    "ResetObservation",
    "ServerBusy",
    "ServerError",
    "SubworldsEnv",
    "SubworldsState",
    "TaskCard",
    "Tool",
]
