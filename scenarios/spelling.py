"""Suggestions for names that nobody knows."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_LONGEST = 100
"""Characters of an unknown name that are compared and quoted: a name may come from the wire."""


def closest(name: str, known: Iterable[str]) -> list[str]:
    """Up to three known names that come close, the closest first."""
    return get_close_matches(name[:_LONGEST], known)


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """`unknown field 'promt'; did you mean 'prompt'?`, without the question where nothing comes close."""
    guesses = " or ".join(map(repr, closest(name, known)))
    return f"unknown {what} {name[:_LONGEST]!r}" + (f"; did you mean {guesses}?" if guesses else "")
