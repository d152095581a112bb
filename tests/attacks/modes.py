"""The modes of confinement that attacks are tried against, and the processes that try them."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from subworlds.sandbox import Layers

Endings: TypeAlias = dict[str, dict[str, str]]
"""How each attack ended, by where it was tried."""

PLAYER = Path(__file__).with_name("player.py")
ORDINARY_USER = 1000
TIMEOUT_S = 240


@dataclass(frozen=True)
class Mode:
    """One way to be confined."""

    layers: Layers
    as_ordinary_user: bool = False
    """Started by a user who is not root (where we are root: by one that we become)."""
    as_root: bool = False
    """Only where we are root."""


MODES = {
    "all layers": Mode(Layers()),
    "no namespaces": Mode(Layers(namespaces=False)),
    "the oldest landlock": Mode(Layers(landlock=1)),
    "landlock without scopes": Mode(Layers(landlock=4)),
    "root stays root": Mode(Layers(unprivileged=False), as_root=True),
    "root without namespaces": Mode(Layers(unprivileged=False, namespaces=False), as_root=True),
    "an ordinary user": Mode(Layers(), as_ordinary_user=True),
    "an ordinary user without namespaces": Mode(Layers(namespaces=False), as_ordinary_user=True),
}


def lacking(mode: Mode) -> str | None:
    """Why a mode is not to be had here, if so."""
    if mode.as_root and os.geteuid() != 0:
        return "this takes root"
    if not mode.as_ordinary_user or os.geteuid() != 0:
        return None
    tried = subprocess.run(
        _command("-c", "import fastapi, subworlds", ordinary=True), capture_output=True, check=False
    )
    if tried.returncode == 0:
        return None
    reason = (tried.stderr.decode().strip().splitlines() or ["no reason given"])[-1]
    return f"as user {ORDINARY_USER}, Python does not start: {reason}"


def play(mode: Mode, outside: Path) -> Endings:
    """Try every attack under a mode. `outside` gets the secret that they are after.

    The player imports what lies beside it, also where PYTHONSAFEPATH forbids that to others.
    """
    outside.mkdir(mode=0o755)
    (outside / "secret").write_text("the answer is 42")
    arguments = (str(PLAYER), json.dumps(dataclasses.asdict(mode.layers)), str(outside))
    command = _command(*arguments, ordinary=mode.as_ordinary_user)
    beside = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    ran = subprocess.run(command, stdout=subprocess.PIPE, timeout=TIMEOUT_S, check=True, env=beside)
    return dict(json.loads(ran.stdout))


def _command(*arguments: str, ordinary: bool) -> list[str]:
    """Python; where we are root and it lies in root's home, in a mount namespace where it can be reached."""
    if not ordinary or os.geteuid() != 0:
        return [sys.executable, *arguments]
    return [
        "unshare",
        "--mount",
        "sh",
        "-c",
        _BECOME_ORDINARY,
        "sh",
        sys.base_prefix,
        sys.executable,
        *arguments,
    ]


_BECOME_ORDINARY = f"""
set -e
prefix=$1; shift
barrier=/$(echo "$prefix" | cut -d/ -f2)
if [ "$(stat -c %a "$barrier")" = 700 ]; then
    kept=$(mktemp -d); mount --bind "$prefix" "$kept"
    mount -t tmpfs -o mode=755 tmpfs "$barrier"
    mkdir -p "$prefix"; mount --bind "$kept" "$prefix"
fi
exec setpriv --reuid {ORDINARY_USER} --regid {ORDINARY_USER} --clear-groups --bounding-set=-all "$@"
"""
