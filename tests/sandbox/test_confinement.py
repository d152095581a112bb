"""What a confined process gives up, layer by layer. Each program runs in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from subworlds.sandbox import SandboxUnavailable, require_confinement
from subworlds.sandbox.landlock import restrict_files

PRELUDE = """
import ctypes, errno, json, os, resource, signal, socket, sys, threading
from subworlds.sandbox import Confinement, Limits, Profile, confine
from subworlds.sandbox import confinement, kernel, landlock

def attempt(function, *arguments):
    try:
        function(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]
    return "done"

def tell(value):
    os.write(1, json.dumps(value).encode())
"""


def run(program: str, *arguments: object) -> Any:
    """What a program tells at its end."""
    command = [sys.executable, "-c", PRELUDE + program, *map(str, arguments)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, timeout=60).stdout)


def test_a_leaf_reads_what_is_readable_and_writes_what_is_writable(tmp_path: Path) -> None:
    for name in ("open", "mine", "closed"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    (tmp_path / "single").write_text("x")
    program = """
base = sys.argv[1]
confine(Confinement(Profile.LEAF, (base + "/open", base + "/single", base + "/nowhere"), (base + "/mine",)))
read = lambda name: attempt(lambda: open(f"{base}/{name}").read())
write = lambda name: attempt(lambda: open(f"{base}/{name}", "w").write("x"))
names = ["open/file", "mine/file", "single", "closed/file"]
tell({
    "read": [read(name) for name in names],
    "write": [write(name) for name in names],
    "create": [write(name + "/new") for name in ("open", "mine", "closed")],
    "list": [attempt(os.listdir, f"{base}/{name}") for name in ("open", "mine", "closed", "")],
    "remove": [attempt(os.remove, f"{base}/{name}") for name in names],
    "make": [attempt(os.mkdir, f"{base}/{name}/folder") for name in ("open", "mine", "closed")],
    "rename": attempt(os.rename, f"{base}/mine/new", f"{base}/mine/renamed"),
    "run": attempt(os.execv, sys.executable, ["python"]),
})
"""
    assert run(program, tmp_path) == {
        "read": ["done", "done", "done", "EACCES"],
        "write": ["EACCES", "done", "EACCES", "EACCES"],
        "create": ["EACCES", "done", "EACCES"],
        "list": ["done", "done", "EACCES", "EACCES"],
        "remove": ["EACCES", "done", "EACCES", "EACCES"],
        "make": ["EACCES", "done", "EACCES"],
        "rename": "done",
        "run": "EPERM",
    }


def test_confinement_only_ever_narrows(tmp_path: Path) -> None:
    for name in ("outer", "other"):
        (tmp_path / name / "inner").mkdir(parents=True)
    program = """
base = sys.argv[1]
unlimited = Limits(memory_bytes=None)
confine(Confinement(Profile.FORKSERVER, (), (base + "/outer",), unlimited))
confine(Confinement(Profile.LEAF, (), (base + "/outer/inner", base + "/other"), unlimited))
touch = lambda name: attempt(lambda: open(f"{base}/{name}/x", "w"))
tell([touch("outer/inner"), touch("outer"), touch("other")])
"""
    assert run(program, tmp_path) == ["done", "EACCES", "EACCES"]


def test_a_fork_server_may_fork_and_pass_descriptors_and_a_leaf_may_not() -> None:
    program = """
def fork():
    if os.fork() == 0:
        os._exit(0)
    os.wait()

def pair(kind=socket.SOCK_STREAM):
    return lambda: [end.close() for end in socket.socketpair(socket.AF_UNIX, kind)]

def send():
    socket.send_fds(channel, [b"x"], [0])

channel, other = socket.socketpair()
acts = [fork, pair(), pair(socket.SOCK_DGRAM), pair(socket.SOCK_SEQPACKET), send, lambda: socket.socket()]
acts.append(lambda: os.kill(os.getpid(), 0))
acts.append(lambda: os.chmod(".", 0o755))
confine(Confinement(Profile.FORKSERVER, limits=Limits(memory_bytes=None)))
server = [attempt(act) for act in acts]
confine(Confinement(Profile.LEAF, limits=Limits(memory_bytes=None)))
tell([server, [attempt(act) for act in acts]])
"""
    server, leaf = run(program)
    assert server == ["done", "done", "EPERM", "EPERM", "done", "EPERM", "EPERM", "EPERM"]
    assert leaf == ["EPERM"] * 8


def test_a_leaf_may_compute_talk_over_its_descriptors_and_start_threads() -> None:
    program = """
ours, theirs = socket.socketpair()
reading, writing = os.pipe()
confine(Confinement(Profile.LEAF))
ours.sendall(b"a")
os.write(writing, b"b")
heard = []
thread = threading.Thread(target=lambda: heard.extend([theirs.recv(1), os.read(reading, 1)]))
thread.start()
thread.join()
import time, select
time.sleep(0.001)
select.select([], [], [], 0.001)
tell([b"".join(heard).decode(), os.getpid() > 0, len(os.urandom(8)), threading.active_count()])
"""
    assert run(program) == ["ab", True, 8, 1]


def test_limits_are_set_for_good() -> None:
    program = """
limits = Limits(memory_bytes=1 << 30, cpu_seconds=77, file_bytes=1 << 20, descriptors=40)
before = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
confine(Confinement(Profile.FORKSERVER, (), ("/dev",), limits))
kinds = [resource.RLIMIT_CPU, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE, resource.RLIMIT_CORE]
memory = resource.getrlimit(resource.RLIMIT_AS)
def raise_limit(kind):
    try:
        resource.setrlimit(kind, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    except ValueError:
        return "refused"
try:
    bytearray(2 << 30)
except MemoryError:
    big = "refused"
tell([
    [resource.getrlimit(kind) for kind in kinds],
    memory[0] == memory[1] and 0 <= memory[0] - before - (1 << 30) < 1 << 26,
    [raise_limit(kind) for kind in kinds],
    big,
])
"""
    limits, memory_fits, raised, big = run(program)
    assert limits == [[77, 77], [1 << 20, 1 << 20], [40, 40], [0, 0]]
    assert memory_fits
    assert raised == ["refused"] * 4
    assert big == "refused"


def test_a_limit_is_never_raised_above_what_the_parent_set() -> None:
    program = """
confine(Confinement(Profile.FORKSERVER, limits=Limits(cpu_seconds=10, descriptors=30)))
confine(Confinement(Profile.LEAF, limits=Limits(memory_bytes=None, cpu_seconds=99, descriptors=99)))
tell([resource.getrlimit(resource.RLIMIT_CPU), resource.getrlimit(resource.RLIMIT_NOFILE)])
"""
    assert run(program) == [[10, 10], [30, 30]]


def test_privileges_are_given_up_even_where_nothing_else_is_enforced() -> None:
    program = """
confine(Confinement(Profile.LEAF, enforced=False))
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
names = ["CapEff", "CapPrm", "CapInh", "NoNewPrivs", "Seccomp"]
tell([int(status[name].strip(), 16) for name in names])
"""
    assert run(program) == [0, 0, 0, 1, 0]


def test_a_child_keeps_only_the_descriptors_it_is_given() -> None:
    program = """
held = [os.open("/dev/null", os.O_RDONLY) for _ in range(6)]
kept = {held[1], held[4]}
kernel.close_all_descriptors_except(kept | {1, 10_000})
def is_open(fd):
    return attempt(os.fstat, fd) == "done"
tell([[is_open(fd) for fd in held], [is_open(fd) for fd in (0, 1, 2)]])
"""
    assert run(program) == [[False, True, False, False, True, False], [True] * 3]


def test_a_child_dies_with_its_parent() -> None:
    program = """
reading, writing = os.pipe()
parent = os.fork()
if parent == 0:
    me = os.getpid()
    if os.fork() == 0:
        kernel.die_with(me)
        os.write(writing, b"x")
        signal.pause()
    signal.pause()
os.close(writing)
os.read(reading, 1)
os.kill(parent, signal.SIGKILL)
os.waitpid(parent, 0)
tell(os.read(reading, 1).decode())  # the end of the pipe: nobody holds it any more
"""
    assert run(program) == ""


def test_a_child_whose_parent_is_gone_ends_at_once() -> None:
    program = """
pid = os.fork()
if pid == 0:
    kernel.die_with(os.getppid() + 1)
    os._exit(0)
tell(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    assert run(program) == 1


def test_standard_streams_lead_nowhere() -> None:
    program = """
told = os.dup(1)
confinement.silence_standard_streams()
print("to nobody", flush=True)
os.write(told, json.dumps([sys.stdin.read(), os.readlink("/proc/self/fd/2")]).encode())
"""
    assert run(program) == ["", "/dev/null"]


def test_a_kernel_without_landlock_confines_nobody() -> None:
    with pytest.raises(SandboxUnavailable, match="this kernel has no Landlock"):
        restrict_files(readable=(), writable=(), version=0)


def test_without_a_layer_of_confinement_the_server_says_which_and_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    require_confinement()
    monkeypatch.setattr("subworlds.sandbox.confinement._seccomp_available", lambda: False)
    with pytest.raises(SandboxUnavailable, match=r"no seccomp filters.*--allow-unconfined"):
        require_confinement()
    monkeypatch.setattr("subworlds.sandbox.confinement._landlock_version", lambda: 0)
    with pytest.raises(SandboxUnavailable, match=r"no Landlock.*--allow-unconfined"):
        require_confinement()


@pytest.mark.parametrize("version", range(1, 8))
def test_every_version_of_landlock_confines_files(version: int, tmp_path: Path) -> None:
    """A newer kernel speaks all older versions; only their rights are asked for."""
    (tmp_path / "mine").mkdir()
    program = """
version = int(sys.argv[2])
if version > landlock.landlock_version():
    tell("not spoken here")
    raise SystemExit
kernel.no_new_privileges()
landlock.restrict_files(readable=(), writable=(sys.argv[1] + "/mine",), version=version)
def touch(name):
    return attempt(lambda: open(sys.argv[1] + name, "w"))
tell([touch("/mine/x"), touch("/x")])
"""
    assert run(program, tmp_path, version) in (["done", "EACCES"], "not spoken here")
