"""Runs untrusted code: warm processes that fork, and confinement that cannot be undone."""

from .confinement import Confinement, Limits, confine, require_confinement, silence_standard_streams
from .control import ForkControl, ProcessHandle, Zygote
from .errand import AnswerTooLong, run_errand
from .errors import ProcessDied, SandboxError, SandboxUnavailable
from .identity import entrust_like_parent
from .layers import Layer, Layers
from .probe import Finding, probe_layers
from .seccomp import Profile
from .workspace import Workspace, WorkspaceFull, clone_file, has_room, remove_tree

__all__ = [
    "AnswerTooLong",
    "Confinement",
    "Finding",
    "ForkControl",
    "Layer",
    "Layers",
    "Limits",
    "ProcessDied",
    "ProcessHandle",
    "Profile",
    "SandboxError",
    "SandboxUnavailable",
    "Workspace",
    "WorkspaceFull",
    "Zygote",
    "clone_file",
    "confine",
    "entrust_like_parent",
    "has_room",
    "probe_layers",
    "remove_tree",
    "require_confinement",
    "run_errand",
    "silence_standard_streams",
]
