"""Runs untrusted code: warm processes that fork, and confinement that cannot be undone."""

from .confinement import Confinement, Limits, confine, require_confinement, silence_standard_streams
from .control import ForkControl, ProcessHandle, Zygote
from .errand import AnswerTooLong, run_errand
from .errors import ProcessDied, SandboxError, SandboxUnavailable
from .seccomp import Profile
from .workspace import Workspace, WorkspaceFull, clone_file, has_room, remove_tree

__all__ = [
    "AnswerTooLong",
    "Confinement",
    "ForkControl",
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
    "has_room",
    "remove_tree",
    "require_confinement",
    "run_errand",
    "silence_standard_streams",
]
