"""A stand-in for a language model: an HTTP server that speaks OpenAI's chat completions from a script."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Reply:
    """What the endpoint answers to one request."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict[str, str])
    hang: bool = False
    """Answer nothing until the server closes."""


def says(outcome: str = "complete", reason: str = "The row is there.", confidence: Any = 0.9) -> Reply:
    """A judgment."""
    return says_text(json.dumps({"reason": reason, "outcome": outcome, "confidence": confidence}))


def says_text(content: str | None, finish_reason: str = "stop") -> Reply:
    message = {"role": "assistant", "content": content}
    return Reply(body={"choices": [{"index": 0, "message": message, "finish_reason": finish_reason}]})


@dataclass
class JudgeServer:
    """Answers with its replies in order, and with the last one for ever."""

    url: str
    replies: list[Reply]
    requests: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """Bodies of the requests so far."""
    keys: list[str | None] = field(default_factory=list[str | None])
    """Their Authorization headers."""
    closing: threading.Event = field(default_factory=threading.Event)
    answering: Callable[[dict[str, Any]], Reply] | None = None
    """Finds the reply to a request's body, in place of `replies`."""

    def take(self, key: str | None, body: dict[str, Any]) -> Reply:
        self.requests.append(body)
        self.keys.append(key)
        if self.answering is not None:
            return self.answering(body)
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]

    @property
    def case(self) -> str:
        """The user message of the last request."""
        return str(self.requests[-1]["messages"][1]["content"])


@contextmanager
def judge_server(
    *replies: Reply, answering: Callable[[dict[str, Any]], Reply] | None = None
) -> Generator[JudgeServer]:
    """Serve the replies, or what `answering` finds, for as long as the block lasts."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            reply = judge.take(self.headers["authorization"], body)
            if self.path != "/v1/chat/completions":
                reply = Reply(404, {"error": f"no {self.path} here"})
            if reply.hang:
                judge.closing.wait()
                return
            content = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
            self.send_response(reply.status)
            for name, value in {"content-length": str(len(content)), **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        judge = JudgeServer(f"http://127.0.0.1:{server.server_address[1]}/v1", list(replies))
        judge.answering = answering
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield judge
        finally:
            judge.closing.set()
            server.shutdown()
            thread.join()
