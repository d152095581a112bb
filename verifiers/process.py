"""The process that judges one episode: forked from a warm zygote, confined, one verdict, gone.

It reads its job from its own socket, so that the zygote never holds what a later run could inherit. An
author's Python runs in yet another process, a fork of this one, which cannot reach the verdict's socket: all
it can do is make a claim, which the trusted parent checks, completes with a receipt of its own making, and
sends. Not promised: that an author's function is right; it may always claim `complete`.
"""

from __future__ import annotations

import importlib
import json
import os
import socket
import sqlite3
import struct
from collections.abc import Mapping
from contextlib import closing
from typing import Any

from ..sandbox.confinement import Confinement, Limits, confine, enter_child, silence_standard_streams
from ..sandbox.messages import Message
from ..sandbox.seccomp import Profile
from ..sandbox.timezones import time_zone_folders
from .claim import Claim, FunctionFailed, call_function, imports_of
from .job import run_job

_WARM = (
    "sqlite3 json re datetime math csv io zoneinfo collections itertools statistics decimal fractions string"
)
_CLAIM_BYTES = 16_384
_NONCE_BYTES = 16
_TIME_ZONES = time_zone_folders()


def warm_up() -> None:
    """Runs once in the zygote: imports what verifiers import, and no verifier."""
    for name in _WARM.split():
        importlib.import_module(name)
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("SELECT 1")


def run(_: Message, descriptors: list[int]) -> None:
    """Runs in a fresh fork of the zygote: read one job, judge it, answer once."""
    silence_standard_streams()
    with socket.socket(fileno=descriptors[0]) as channel:
        job = json.loads(_read_all(channel))
        answer = _judge(job)
        channel.sendall(json.dumps(answer).encode())


def _judge(job: dict[str, Any]) -> dict[str, Any]:
    limits = Limits(memory_bytes=job["memory_bytes"], cpu_seconds=job["cpu_seconds"])
    match job["kind"]:
        case "seal":
            confine(
                Confinement(
                    Profile.LEAF, (), (os.path.dirname(job["final"]),), limits, enforced=job["enforced"]
                )
            )
            return _seal(job["final"])
        case "python":
            for name in imports_of(job["code"]):
                _import_if_there(name)
            confine(_reading(job, Profile.FORKSERVER, limits))
            claim = _ask_author(job, limits)
            return run_job({**job, "claim": claim})
        case _:
            confine(_reading(job, Profile.LEAF, limits))
            return run_job(job)


def _reading(job: Mapping[str, Any], profile: Profile, limits: Limits) -> Confinement:
    """Sight of exactly the databases that the job names (and of the public time zone data)."""
    databases = [job["initial"], *job.get("finals", ()), *([job["final"]] if "final" in job else [])]
    return Confinement(profile, (*databases, *_TIME_ZONES), (), limits, enforced=job["enforced"])


def _ask_author(job: Mapping[str, Any], limits: Limits) -> Claim:
    """Run the author's function in a process of its own and return what it claims.

    The nonce is drawn after the fork and read by the child only when the function has returned, so that code
    which writes to every descriptor and exits early has claimed nothing.
    """
    claims, claims_in = os.pipe()
    nonces, nonces_in = os.pipe()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        _become_author(job, limits, parent, nonces, claims_in)
    os.close(claims_in)
    os.close(nonces)
    nonce = os.urandom(_NONCE_BYTES)
    os.write(nonces_in, nonce)
    os.close(nonces_in)
    data = _read_limited(claims)
    _, status = os.waitpid(pid, 0)
    return _check_claim(data, nonce, status)


def _become_author(job: Mapping[str, Any], limits: Limits, parent: int, nonces: int, claims: int) -> None:
    write, read, leave = os.write, os.read, os._exit
    encode = struct.Struct("?I").pack
    try:
        enter_child(parent, {nonces, claims})
        confine(_reading(job, Profile.LEAF, Limits(memory_bytes=None, cpu_seconds=limits.cpu_seconds)))
        try:
            failed, text = (
                False,
                call_function(
                    job["code"], job["function"], job["initial"], job["final"], job["answer"], job["clock"]
                ),
            )
        except FunctionFailed as error:
            failed, text = True, str(error)
        body = text.encode("utf-8", "replace")[: _CLAIM_BYTES - 64]
        write(claims, read(nonces, _NONCE_BYTES) + encode(failed, len(body)) + body)
    except BaseException:
        leave(1)
    leave(0)


def _check_claim(data: bytes, nonce: bytes, status: int) -> Claim:
    head = struct.Struct("?I")
    start = len(nonce) + head.size
    if status != 0 or len(data) < start or data[: len(nonce)] != nonce:
        return Claim(None, "the verifier's code ended its process instead of returning")
    failed, size = head.unpack(data[len(nonce) : start])
    if len(data) != start + size:
        return Claim(None, "the verifier's code wrote to a channel that is not its own")
    text = data[start:].decode("utf-8", "replace")
    return Claim(None, text) if failed else Claim(text, None)


def _seal(path: str) -> dict[str, Any]:
    """Fold journals into the database file and leave it in the journal mode that needs no company."""
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            mode = connection.execute("PRAGMA journal_mode = DELETE").fetchone()[0]
    except sqlite3.Error as error:
        return {"sealed": False, "reason": f"the final database is damaged: {error}"}
    return {"sealed": mode == "delete", "reason": f"the final database stayed in journal mode {mode}"}


def _import_if_there(name: str) -> None:
    try:
        importlib.import_module(name)
    except ImportError:
        return


def _read_all(channel: socket.socket) -> bytes:
    parts: list[bytes] = []
    while part := channel.recv(1 << 20):
        parts.append(part)
    return b"".join(parts)


def _read_limited(descriptor: int) -> bytes:
    with os.fdopen(descriptor, "rb") as pipe:
        return pipe.read(_CLAIM_BYTES + 1)
