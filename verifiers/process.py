"""The process that judges one episode: forked from a warm zygote, confined, one verdict, gone.

It reads its job from its own socket, so that the zygote never holds what a later run could inherit. An
author's Python runs in yet another process, a fork of this one, which cannot reach the verdict's socket: all
it can do is make a claim, which the trusted parent checks, completes with a receipt of its own making, and
sends. Not promised: that an author's function is right; it may always claim `complete`.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import socket
import sqlite3
import struct
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from ..sandbox.confinement import Confinement, Limits, confine, enter_child, silence_standard_streams
from ..sandbox.errand import read_request
from ..sandbox.messages import Message
from ..sandbox.seccomp import Profile
from ..sandbox.timezones import time_zone_folders
from ..scenarios.imports import standard_library
from .certification.renumbering import renumber
from .claim import Claim, FunctionFailed, call_function, gather_evidence, imports_of
from .database import writable_uri
from .job import run_job
from .rehearsal import rehearse

_WARM = (
    "sqlite3 json re datetime math csv io zoneinfo collections itertools statistics decimal fractions string "
    "random typing unicodedata _strptime"
)
_CLAIM_BYTES = {"python": 16_384, "evidence": 262_144}
"""The longest claim, by kind of job."""
_NONCE_BYTES = 16
_HEAD = struct.Struct("?I")
"""Of a claim, after the nonce: whether the function failed, and the length of the text that follows."""

_HINTS = {"SIGKILL": ": it used up its time", "SIGSEGV": ": it broke the interpreter"}
_TIME_ZONES = time_zone_folders()
_LIBRARY = standard_library()


def warm_up() -> None:
    """Runs once in the zygote: imports what verifiers import, and judges a toy, so that forks start warm."""
    for name in _WARM.split():
        importlib.import_module(name)
    rehearse()


def run(_: Message, descriptors: list[int]) -> None:
    """Runs in a fresh fork of the zygote: read one job, judge it, answer once."""
    silence_standard_streams()
    with socket.socket(fileno=descriptors[0]) as channel:
        job = json.loads(read_request(channel))
        try:
            answer = _judge(job)
        except Exception as error:
            answer = {"error": f"the verifier's process failed: {_kind_of(error)}"}
        channel.sendall(json.dumps(answer).encode())


def _kind_of(error: Exception) -> str:
    """What failed, without the text of an error, which may quote what no agent should read."""
    reason = error.strerror if isinstance(error, OSError) else None
    return f"{type(error).__name__} ({reason})" if reason else type(error).__name__


def _judge(job: dict[str, Any]) -> dict[str, Any]:
    limits = Limits(memory_bytes=job["memory_bytes"], cpu_seconds=job["cpu_seconds"])
    match job["kind"]:
        case "seal":
            confine(_writing(job, limits))
            return _seal(job["final"])
        case "renumber":
            confine(_writing(job, limits))
            return renumber(job["final"], job["statements"])
        case "python" | "evidence" if job["code"] is not None:
            for name in imports_of(job["code"]):
                with contextlib.suppress(Exception):  # whatever fails, fails again where the code imports it
                    importlib.import_module(name)
            author = _Author.start(job, limits)
            confine(_reading(job, Profile.FORKSERVER, limits))
            return run_job({**job, "claim": author.claim})
        case _:
            confine(_reading(job, Profile.LEAF, limits))
            return run_job(job)


def _writing(job: Mapping[str, Any], limits: Limits) -> Confinement:
    """The folder of the final database, and nothing else."""
    return Confinement(Profile.LEAF, (), (os.path.dirname(job["final"]),), limits, enforced=job["enforced"])


def _reading(
    job: Mapping[str, Any], profile: Profile, limits: Limits, libraries: tuple[str, ...] = ()
) -> Confinement:
    """Sight of exactly the databases that the job names (and of public data)."""
    databases = [job["initial"], *job.get("finals", ()), *([job["final"]] if "final" in job else [])]
    return Confinement(profile, (*databases, *_TIME_ZONES, *libraries), (), limits, enforced=job["enforced"])


@dataclass(frozen=True, slots=True)
class _Author:
    """The process in which the author's function runs. It ends, at the latest, with its parent.

    The nonce is drawn after the fork and read by the child only when the function has returned, so that code
    which writes to every descriptor and exits early has claimed nothing. Code that looks for the nonce, and
    finds it, can claim what it could have returned.
    """

    pid: int
    nonce: bytes
    claims: int
    longest: int
    """Bytes a claim may have."""

    @classmethod
    def start(cls, job: Mapping[str, Any], limits: Limits) -> _Author:
        claims, claims_in = os.pipe()
        nonces, nonces_in = os.pipe()
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            _become_author(job, limits, parent, nonces, claims_in)
        nonce = os.urandom(_NONCE_BYTES)
        os.write(nonces_in, nonce)
        for descriptor in (claims_in, nonces, nonces_in):
            os.close(descriptor)
        return cls(pid, nonce, claims, _CLAIM_BYTES[job["kind"]])

    def claim(self) -> Claim:
        """Wait for the claim."""
        with os.fdopen(self.claims, "rb") as pipe:
            data = pipe.read(self.longest + 1)
        _, status = os.waitpid(self.pid, 0)
        return _check_claim(data, self.nonce, status)


def _become_author(job: Mapping[str, Any], limits: Limits, parent: int, nonces: int, claims: int) -> None:
    write, read, leave = os.write, os.read, os._exit
    encode = _HEAD.pack
    try:
        enter_child(parent, {nonces, claims})
        confine(_reading(job, Profile.LEAF, limits, _LIBRARY))
        failed, text = _call(job)
        body = text.encode("utf-8", "replace")[: _CLAIM_BYTES[job["kind"]] - _NONCE_BYTES - _HEAD.size]
        write(claims, read(nonces, _NONCE_BYTES) + encode(failed, len(body)) + body)
    except BaseException:
        leave(1)
    leave(0)


def _call(job: Mapping[str, Any]) -> tuple[bool, str]:
    """Whether the author's function failed, and what it returned or how it failed."""
    arguments = (job["initial"], job["final"], job["answer"], job["clock"])
    call = gather_evidence if job["kind"] == "evidence" else call_function
    try:
        return False, call(job["code"], job["function"], *arguments)
    except FunctionFailed as error:
        return True, str(error)


def _check_claim(data: bytes, nonce: bytes, status: int) -> Claim:
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        return Claim(None, f"the verifier's code was ended by {name}{_HINTS.get(name, '')}")
    start = _NONCE_BYTES + _HEAD.size
    if status != 0 or len(data) < start or data[:_NONCE_BYTES] != nonce:
        return Claim(None, "the verifier's code ended its process instead of returning")
    failed, size = _HEAD.unpack(data[_NONCE_BYTES:start])
    if len(data) != start + size:
        return Claim(None, "the verifier's code wrote to a channel that is not its own")
    text = data[start:].decode("utf-8", "replace")
    return Claim(None, text) if failed else Claim(text, None)


def _seal(path: str) -> dict[str, Any]:
    """Fold journals into the database file and leave it in the journal mode that needs no company."""
    try:
        with closing(sqlite3.connect(writable_uri(path), uri=True, isolation_level=None)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            mode = connection.execute("PRAGMA journal_mode = DELETE").fetchone()[0]
    except sqlite3.Error as error:
        return {"sealed": False, "reason": f"the final database is damaged: {error}"}
    return {"sealed": mode == "delete", "reason": f"the final database stayed in journal mode {mode}"}
