"""A stand-in for a Hugging Face hub: one data set, over the part of its HTTP protocol that a client needs."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

REPOSITORY, COMMIT = "somebody/awm", "c0ffee" + "0" * 34


@dataclass
class Hub:
    """What it holds and what it was asked."""

    url: str
    files: dict[str, bytes]
    etags: dict[str, str] = field(default_factory=dict[str, str])
    """File to the digest that is told of it, if it is another than its own."""
    breaks_after: dict[str, int] = field(default_factory=dict[str, int])
    """File to how many bytes of it are sent before the connection breaks, once."""
    stalls_after: dict[str, int] = field(default_factory=dict[str, int])
    """File to how many bytes of it are sent before nothing more comes."""
    ranges: list[tuple[str, str | None]] = field(default_factory=list[tuple[str, str | None]])
    """Every download: the file, and the range that was asked for."""
    stalled: threading.Event = field(default_factory=threading.Event)
    """Set when a download stalls."""
    closing: threading.Event = field(default_factory=threading.Event)


@contextmanager
def hub(files: dict[str, bytes]) -> Generator[Hub]:
    """Serve the files as the data set REPOSITORY for as long as the block lasts."""

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self._answer(head=True)

        def do_GET(self) -> None:
            self._answer(head=False)

        def _answer(self, *, head: bool) -> None:
            path = unquote(urlsplit(self.path).path)
            match path.strip("/").split("/"):
                case ["api", "datasets", owner, name, *_] if f"{owner}/{name}" != REPOSITORY:
                    self._send(404, {}, {"X-Error-Code": "RepoNotFound"})
                case ["api", "datasets", _, _, "revision", revision] if revision in ("main", COMMIT):
                    names = [{"rfilename": file} for file in held.files]
                    self._send(200, {"id": REPOSITORY, "sha": COMMIT, "siblings": names})
                case ["api", "datasets", _, _, "revision", _]:
                    self._send(404, {}, {"X-Error-Code": "RevisionNotFound"})
                case ["api", "datasets", _, _, "tree", *_]:
                    self._send(200, [_entry(file, content) for file, content in held.files.items()])
                case ["datasets", _, _, "resolve", _, file] if file in held.files:
                    self._send_file(file, head)
                case _:
                    self._send(404, {}, {"X-Error-Code": "EntryNotFound"})

        def _send(self, status: int, value: Any, headers: dict[str, str] | None = None) -> None:
            content = json.dumps(value).encode()
            self.send_response(status)
            for name, text in {"Content-Length": str(len(content)), **(headers or {})}.items():
                self.send_header(name, text)
            self.end_headers()
            self.wfile.write(content)

        def _send_file(self, file: str, head: bool) -> None:
            content = held.files[file]
            asked = self.headers["range"]
            start = int(asked.removeprefix("bytes=").partition("-")[0]) if asked and not head else 0
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(content) - start))
            self.send_header("ETag", f'"{held.etags.get(file) or hashlib.sha256(content).hexdigest()}"')
            self.send_header("X-Repo-Commit", COMMIT)
            self.send_header("Accept-Ranges", "bytes")
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
            self.end_headers()
            if not head:
                held.ranges.append((file, asked))
                self._send_content(file, content[start:])

        def _send_content(self, file: str, content: bytes) -> None:
            if file in held.breaks_after:
                self.wfile.write(content[: held.breaks_after.pop(file)])
                self.close_connection = True
            elif file in held.stalls_after:
                self.wfile.write(content[: held.stalls_after.pop(file)])
                self.wfile.flush()
                held.stalled.set()
                held.closing.wait()
            else:
                self.wfile.write(content)

        def log_message(self, format: str, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        held = Hub(f"http://127.0.0.1:{server.server_address[1]}", files)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield held
        finally:
            held.closing.set()
            server.shutdown()
            thread.join()


def _entry(file: str, content: bytes) -> dict[str, Any]:
    return {"type": "file", "path": file, "size": len(content), "oid": hashlib.sha1(content).hexdigest()}
