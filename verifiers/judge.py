"""A language model as judge, behind any OpenAI-compatible endpoint.

Its failure is ours, never the agent's: whatever keeps it from a judgment is a JudgeFailed, after retries
where another try may help.
"""

from __future__ import annotations

import asyncio
import json
import math
import random
import re
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn, TypeAlias, cast

import httpx

from .judge_prompt import RESPONSE_SCHEMA, Case, messages

_LONGEST_WAIT_S = 60.0
_SHOWN = 300
_REFUSES_FORMAT = frozenset({400, 404, 415, 422})
"""How endpoints answer that do not know what a request asks for."""
_PASSING = frozenset({408, 409, 425, 429})
_DRESSING = re.compile(
    r"\A\s*(?:<think>.*?</think>\s*)?(?:```(?:json)?\s*(?P<fenced>.*?)\s*```)?\s*", re.DOTALL
)

Judged: TypeAlias = Literal["complete", "incomplete"]


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """Which model judges, and how it is asked. Independent of the agent's model."""

    url: str
    """Base URL of the endpoint, up to `/v1`."""
    model: str
    key: str | None = field(default=None, repr=False)
    """Sent as bearer token. It is in no log, no error, and no process but the server's."""
    temperature: float = 0.0
    timeout_s: float = 60.0
    """For each request."""
    retries: int = 3
    """Requests after the first that failed in a way that may pass."""
    first_wait_s: float = 1.0
    """Before the first retry; doubled for each that follows, unless the endpoint says how long."""
    at_once: int = 16
    """Requests at the same time; more wait."""

    def __post_init__(self) -> None:
        url = httpx.URL(self.url)
        if url.scheme not in ("http", "https") or not url.host:
            raise ValueError(f"the judge's URL must be one of http or https, not {self.url!r}")
        if not self.model:
            raise ValueError("the judge's model is empty")


@dataclass(frozen=True, slots=True)
class Opinion:
    """What the judge said."""

    outcome: Judged
    reason: str
    confidence: float


class JudgeFailed(Exception):
    """There is no judgment: the judge cannot be reached, refuses, or does not answer as asked."""


class _TryAgain(Exception):
    """This request failed, the next may not."""

    def __init__(self, reason: str, wait_s: float | None = None) -> None:
        self.wait_s = wait_s
        super().__init__(reason)


class _FormatRefused(Exception):
    """The endpoint does not take the request as it is."""


class Judge:
    """Asks one model. It may be asked by many at once."""

    def __init__(self, settings: JudgeSettings) -> None:
        self._settings = settings
        self._slots = asyncio.Semaphore(settings.at_once)
        self._endpoint = f"{settings.url.rstrip('/')}/chat/completions"
        self._plainness = 0
        """How much of a request this endpoint was found not to take: an index of _formats."""

    @property
    def model(self) -> str:
        """The model that judges."""
        return self._settings.model

    async def judge(self, case: Case) -> Opinion:
        """Ask for a judgment.

        Raises:
            JudgeFailed: there is none.
        """
        settings = self._settings
        headers = {} if settings.key is None else {"Authorization": f"Bearer {settings.key}"}
        try:
            async with (
                self._slots,
                httpx.AsyncClient(timeout=settings.timeout_s, headers=headers) as client,
            ):
                return await self._persist(client, case)
        except JudgeFailed:
            raise
        except Exception as error:  # such as a key that is no header, or a proxy that is no URL
            self._fail(f"cannot be asked: {type(error).__name__}: {error}")

    async def _persist(self, client: httpx.AsyncClient, case: Case) -> Opinion:
        for attempt in range(self._settings.retries + 1):
            try:
                return await self._ask(client, case)
            except _TryAgain as failure:
                if attempt == self._settings.retries:
                    self._fail(f"gave no judgment in {attempt + 1} tries; the last: {failure}")
                usual = self._settings.first_wait_s * 2**attempt * random.uniform(0.8, 1.2)
                await asyncio.sleep(min(usual if failure.wait_s is None else failure.wait_s, _LONGEST_WAIT_S))
        raise AssertionError("unreachable")

    async def _ask(self, client: httpx.AsyncClient, case: Case) -> Opinion:
        """Ask once, in the fullest way that the endpoint takes."""
        formats = _formats(self._settings.temperature)
        for plainness in range(self._plainness, len(formats)):
            body = {"model": self._settings.model, "messages": messages(case), **formats[plainness]}
            try:
                response = await self._send(client, body)
            except _FormatRefused as refusal:
                if plainness + 1 == len(formats):
                    self._fail(str(refusal))
                continue
            self._plainness = plainness
            return _read(response)
        raise AssertionError("unreachable")

    async def _send(self, client: httpx.AsyncClient, body: dict[str, Any]) -> httpx.Response:
        try:
            async with asyncio.timeout(self._settings.timeout_s):
                response = await client.post(self._endpoint, json=body)
        except (TimeoutError, httpx.TimeoutException) as error:
            raise _TryAgain(f"no answer within {self._settings.timeout_s:g} s") from error
        except httpx.TransportError as error:
            raise _TryAgain(f"cannot be reached: {error}") from error
        status = response.status_code
        if status in _PASSING or status >= 500:
            raise _TryAgain(f"HTTP status {status}", _wait_of(response))
        if status in _REFUSES_FORMAT:
            raise _FormatRefused(f"answers with HTTP status {status}: {response.text[:_SHOWN]}")
        if status != 200:
            self._fail(f"answers with HTTP status {status}: {response.text[:_SHOWN]}")
        return response

    def _fail(self, reason: str) -> NoReturn:
        if self._settings.key:
            reason = reason.replace(self._settings.key, "…")
        raise JudgeFailed(f"the judge ({self._settings.model} at {self._settings.url}) {reason}") from None


def _formats(temperature: float) -> list[dict[str, Any]]:
    """Ways to ask, the fullest first: some endpoints know no JSON Schema, some models take no temperature."""
    schema = {"name": "judgment", "strict": True, "schema": RESPONSE_SCHEMA}
    structured = {"response_format": {"type": "json_schema", "json_schema": schema}}
    return [{**structured, "temperature": temperature}, {"temperature": temperature}, {}]


def _wait_of(response: httpx.Response) -> float | None:
    """Seconds that the endpoint asks us to wait."""
    try:
        wait = float(response.headers.get("retry-after", ""))
    except ValueError:
        return None
    return wait if math.isfinite(wait) and wait >= 0 else None


def _read(response: httpx.Response) -> Opinion:
    """The judgment in a chat completion. Raises _TryAgain if it is not what was asked for."""
    try:
        choice = cast("dict[str, Any]", response.json())["choices"][0]
        content = choice["message"]["content"]
        if choice.get("finish_reason") == "length":
            raise _TryAgain("its answer was cut off")
        return _read_opinion(content)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise _TryAgain(f"its answer is no judgment: {response.text[:_SHOWN]}") from error


def _read_opinion(content: str) -> Opinion:
    """Raises ValueError, KeyError or TypeError if it is anything else than asked for."""
    dressing = _DRESSING.match(content)
    fenced = dressing["fenced"] if dressing else None
    start = dressing.end() if dressing else 0
    if fenced is not None and content[start:].strip():
        raise ValueError("there is text after the JSON")
    data: Any = json.loads(content[start:] if fenced is None else fenced)
    if set(data) != {"outcome", "reason", "confidence"}:
        raise ValueError("other fields than asked for")
    outcome, reason, confidence = data["outcome"], data["reason"], data["confidence"]
    if outcome not in ("complete", "incomplete") or not isinstance(reason, str) or not reason.strip():
        raise ValueError("no outcome or no reason")
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
        raise ValueError("no confidence")
    return Opinion(outcome, reason.strip(), float(confidence))
