"""A model behind any OpenAI-compatible endpoint: chat completions over HTTP, with retries.

Its failure is never the model's: whatever keeps it from a completion is an EndpointFailed, after retries
where another try may help.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import TracebackType
from typing import Any, Self, cast

import httpx

_LONGEST_WAIT_S = 60.0
_SHOWN = 300
_PASSING = frozenset({408, 409, 425, 429})
_HOPELESS = frozenset({401, 403, 404})
_LIMITS = ("max_tokens", "max_completion_tokens")
"""What endpoints call the most tokens of a completion. More know the older name; some only the newer."""


class Fault(StrEnum):
    """Every way in which an endpoint gives no completion."""

    UNREACHABLE = "endpoint_unreachable"
    TIMEOUT = "endpoint_timeout"
    OVERLOADED = "endpoint_overloaded"
    """It answered with 429, or with 5xx."""
    REFUSED = "endpoint_refused"
    """It does not let us in, has no such model, or does not take the request."""
    UNREADABLE = "endpoint_unreadable"
    """Its answer is no chat completion."""
    CONTEXT_FULL = "endpoint_context_full"
    """The conversation has outgrown the model's context."""


@dataclass(frozen=True, slots=True)
class EndpointSettings:
    """Which model, where, and how it is asked."""

    url: str
    """Base URL of the endpoint, up to `/v1`."""
    model: str
    key: str | None = field(default=None, repr=False)
    """Sent as bearer token. It is in no log and no error."""
    temperature: float | None = None
    """None: the endpoint's own."""
    timeout_s: float = 120.0
    """For each request."""
    retries: int = 3
    """Requests after the first that failed in a way that may pass."""
    first_wait_s: float = 1.0
    """Before the first retry; doubled for each that follows, unless the endpoint says how long."""

    def __post_init__(self) -> None:
        try:
            url = httpx.URL(self.url)
        except httpx.InvalidURL as error:
            raise ValueError(f"{self.url!r} is no URL: {error}") from error
        if url.scheme not in ("http", "https") or not url.host:
            raise ValueError(f"an endpoint's URL must be one of http or https, not {self.url!r}")
        if not self.model:
            raise ValueError("the model's name is empty")
        if self.key is not None and not (self.key.isascii() and self.key.isprintable()):
            raise ValueError("the endpoint's key has characters that a header cannot carry")


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A tool call as the endpoint gave it."""

    id: str
    name: str
    arguments: Any
    """Usually a text that should be a JSON object."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What the model said."""

    content: str
    calls: tuple[FunctionCall, ...]
    cut: bool
    """Whether it was stopped before it was through."""
    read_tokens: int | None = None
    """Of the request; None where the endpoint does not say."""
    written_tokens: int | None = None


class EndpointFailed(Exception):
    """There is no completion; `fault` says of which kind."""

    def __init__(self, fault: Fault, message: str, *, hopeless: bool = False) -> None:
        self.fault = fault
        self.hopeless = hopeless
        """Whether no other request would fare better."""
        super().__init__(message)


class _TryAgain(Exception):
    """This request failed, the next may not."""

    def __init__(self, fault: Fault, reason: str, wait_s: float | None = None) -> None:
        self.fault = fault
        self.wait_s = wait_s
        super().__init__(reason)


class ChatEndpoint:
    """Asks one model. Use as an async context manager; it may be asked by many at once."""

    def __init__(self, settings: EndpointSettings) -> None:
        self._settings = settings
        headers = {} if settings.key is None else {"Authorization": f"Bearer {settings.key}"}
        self._client = httpx.AsyncClient(timeout=settings.timeout_s, headers=headers)
        self._limit = 0
        """Which of _LIMITS this endpoint was found to take."""

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.__aexit__(kind, error, trace)

    @property
    def model(self) -> str:
        """The model's name."""
        return self._settings.model

    async def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        functions: Sequence[Mapping[str, Any]] | None = None,
        *,
        most_tokens: int | None = None,
    ) -> Completion:
        """Go on with a conversation.

        Args:
            functions: tools the model may call, each as `{"type": "function", "function": {...}}`.
            most_tokens: the most it may write; None leaves that to the endpoint.

        Raises:
            EndpointFailed: there is no completion.
        """
        body: dict[str, Any] = {"model": self._settings.model, "messages": list(messages)}
        if functions:
            body["tools"] = list(functions)
        if self._settings.temperature is not None:
            body["temperature"] = self._settings.temperature
        for attempt in range(self._settings.retries + 1):
            try:
                return _read(await self._ask(body, most_tokens))
            except _TryAgain as failure:
                if attempt == self._settings.retries:
                    raise self._failed(
                        failure.fault, f"no completion in {attempt + 1} tries; the last: {failure}"
                    ) from None
                usual = self._settings.first_wait_s * 2**attempt * random.uniform(0.8, 1.2)
                await asyncio.sleep(min(usual if failure.wait_s is None else failure.wait_s, _LONGEST_WAIT_S))
        raise AssertionError("unreachable")

    async def _ask(self, body: Mapping[str, Any], most_tokens: int | None) -> httpx.Response:
        if most_tokens is None:
            return self._accepted(await self._send(body))
        response = await self._send({**body, _LIMITS[self._limit]: most_tokens})
        if response.status_code in (400, 422) and self._limit == 0:
            other = await self._send({**body, _LIMITS[1]: most_tokens})
            if other.is_success:
                self._limit = 1
                response = other
        return self._accepted(response)

    async def _send(self, body: Mapping[str, Any]) -> httpx.Response:
        seconds = self._settings.timeout_s
        try:
            async with asyncio.timeout(seconds):
                return await self._client.post(
                    f"{self._settings.url.rstrip('/')}/chat/completions", json=body
                )
        except (TimeoutError, httpx.TimeoutException) as error:
            raise _TryAgain(Fault.TIMEOUT, f"no answer within {seconds:g} s") from error
        except httpx.TransportError as error:
            reason = str(error) or type(error).__name__
            raise _TryAgain(Fault.UNREACHABLE, f"it cannot be reached: {reason}") from error

    def _accepted(self, response: httpx.Response) -> httpx.Response:
        """A response with a completion. Raises _TryAgain or EndpointFailed for any other."""
        status = response.status_code
        if response.is_success:
            return response
        reason = f"HTTP status {status}: {response.text[:_SHOWN]}"
        if status in _PASSING or status >= 500:
            raise _TryAgain(Fault.OVERLOADED, reason, _wait_of(response))
        if _error_code(response) == "context_length_exceeded":
            raise self._failed(Fault.CONTEXT_FULL, reason)
        raise self._failed(Fault.REFUSED, reason, hopeless=status in _HOPELESS)

    def _failed(self, fault: Fault, reason: str, *, hopeless: bool = False) -> EndpointFailed:
        settings = self._settings
        if settings.key:
            reason = reason.replace(settings.key, "…")
        return EndpointFailed(fault, f"{settings.model} at {settings.url}: {reason}", hopeless=hopeless)


def _wait_of(response: httpx.Response) -> float | None:
    """Seconds that the endpoint asks us to wait."""
    try:
        wait = float(response.headers.get("retry-after", ""))
    except ValueError:
        return None
    return wait if math.isfinite(wait) and wait >= 0 else None


def _error_code(response: httpx.Response) -> Any:
    try:
        return response.json()["error"]["code"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _read(response: httpx.Response) -> Completion:
    """Raises _TryAgain if it is not what was asked for."""
    try:
        data = cast("dict[str, Any]", response.json())
        choice = data["choices"][0]
        message = choice["message"]
        usage = cast("dict[str, Any]", data.get("usage") or {})
        return Completion(
            content=_text(message.get("content")),
            calls=tuple(
                _read_call(number, call) for number, call in enumerate(message.get("tool_calls") or ())
            ),
            cut=choice.get("finish_reason") == "length",
            read_tokens=_count(usage.get("prompt_tokens")),
            written_tokens=_count(usage.get("completion_tokens")),
        )
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise _TryAgain(Fault.UNREADABLE, f"no chat completion: {response.text[:_SHOWN]}") from error


def _read_call(number: int, call: Mapping[str, Any]) -> FunctionCall:
    function = call["function"]
    return FunctionCall(str(call.get("id") or f"call_{number}"), str(function["name"]), function["arguments"])


def _text(content: Any) -> str:
    """The content, which is a text or nothing. Raises TypeError otherwise."""
    if content is None:
        return ""
    if not isinstance(content, str):
        raise TypeError("the content is no text")
    return content


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) else None
