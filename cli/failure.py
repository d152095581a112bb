"""How a command fails: with one message for a person and an exit status for a script."""

from __future__ import annotations


class CommandFailed(Exception):
    """What was asked for did not work out. The text says what, where, why, and what to do."""

    exit_code = 1


class BadInput(CommandFailed):
    """What was given cannot be used: unreadable packs, unknown names, options that do not go together."""

    exit_code = 2
