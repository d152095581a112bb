"""Where commands print for people."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

WIDTH = 100
"""Columns of a page for people; less where the terminal has less."""


def screen(*, stderr: bool = False) -> Console:
    """stdout, without guesses at what to colour; a page of WIDTH columns where it is no terminal."""
    console = Console(highlight=False, emoji=False, markup=False, stderr=stderr)
    console.width = min(console.width, WIDTH) if console.is_terminal else WIDTH
    return console


def counted(count: int, thing: str, things: str | None = None) -> str:
    """`1 task`, `2 tasks`."""
    return f"{count} {thing}" if count == 1 else f"{count} {things or f'{thing}s'}"


def indented(text: str | Text) -> Padding:
    """The text, all its lines two columns to the right."""
    return Padding(text, (0, 0, 0, 2), expand=False)
