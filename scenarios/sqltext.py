"""Splitting an SQL file into statements, in one pass, so that each can be run and blamed on its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from .task import Statement

_TOKEN = re.compile(
    r"""
    (?P<blank> \s++ | --[^\n]*+ | /\*.*?\*/ )
  | (?P<quoted> '[^']*+' | "[^"]*+" | `[^`]*+` | \[[^\]]*+\] )   # 'it''s' reads as two tokens: as good
  | (?P<opening> /\* | ['"`\[] )                                # …that nothing closes
  | (?P<end> ; )
  | (?P<word> \w++ )
  | .
    """,
    re.VERBOSE | re.DOTALL,
)

_TRIGGER = re.compile(r"CREATE (TEMP |TEMPORARY )?TRIGGER\b")
_TRIGGER_WORDS = 3
"""Words after which it is known whether a statement makes a trigger."""


class UnclosedText(ValueError):
    """A quote or a comment is opened at `line` and never closed, so that it swallows the rest of the file."""

    def __init__(self, opening: str, line: int) -> None:
        self.opening = opening
        self.line = line
        super().__init__(f"{opening} is opened here and never closed")


def split_statements(text: str, file: str) -> tuple[Statement, ...]:
    """The statements of `text` as written, each with the line where it starts.

    Comments between statements are dropped. The last one needs no `;`. Raises UnclosedText.
    """
    statements: list[Statement] = []
    line, counted = 1, 0
    for start, end in _spans(text):
        line, counted = line + text.count("\n", counted, start), start
        statements.append(Statement(text[start:end], file, line))
    return tuple(statements)


def first_word(sql: str) -> str:
    """The first word of a statement, in capitals; empty if it starts with something else."""
    for token in _TOKEN.finditer(sql):
        if token.lastgroup != "blank":
            return token[0].upper() if token.lastgroup == "word" else ""
    return ""


def _spans(text: str) -> Iterator[tuple[int, int]]:
    statement: _Open | None = None
    last = 0
    for token in _TOKEN.finditer(text):
        if token.lastgroup == "blank":
            continue
        if token.lastgroup == "opening":
            raise UnclosedText(token[0], text.count("\n", 0, token.start()) + 1)
        statement = statement or _Open(token.start())
        last = token.end()
        if statement.ends_with(token):
            if not statement.is_empty:
                yield statement.start, last
            statement = None
    if statement is not None:
        yield statement.start, last


@dataclass
class _Open:
    """A statement whose end has not been seen. In a trigger only `; END ;` ends it, as for SQLite's shell."""

    start: int
    tokens: int = 0
    beginning: str = ""
    recent: tuple[str, str] = ("", "")
    """The two tokens before, in capitals."""

    @property
    def is_empty(self) -> bool:
        return self.tokens == 1

    def ends_with(self, token: re.Match[str]) -> bool:
        """Takes the next token; whether it ends the statement."""
        if token.lastgroup == "end" and (self.recent == (";", "END") or not self._makes_trigger()):
            self.tokens += 1
            return True
        word = token[0].upper() if token.lastgroup == "word" else token[0][:1]
        if self.tokens < _TRIGGER_WORDS:
            self.beginning += f"{word} "
        self.tokens += 1
        self.recent = (self.recent[1], word)
        return False

    def _makes_trigger(self) -> bool:
        return _TRIGGER.match(self.beginning) is not None
