"""What can go wrong between us and the processes that run untrusted code."""

from __future__ import annotations


class SandboxError(Exception):
    """A sandboxed process could not be started, reached or confined."""


class SandboxUnavailable(SandboxError):
    """This machine lacks a layer of confinement that untrusted code must not run without."""


class ProcessDied(SandboxError):
    """A process we were talking to is gone."""
