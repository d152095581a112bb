"""The control token, read from a file or the environment; never from the command line, which all can see."""

from __future__ import annotations

from pathlib import Path

from .failure import BadInput

MIN_TOKEN_CHARACTERS = 16
"""A shorter control token could be guessed."""

_MOST_BYTES = 4096
_VARIABLE = "SUBWORLDS_TOKEN"


def read_token(file: Path | None, variable: str | None) -> str | None:
    """The token in `file` or in the environment variable's value; None if neither is given.

    Raises:
        BadInput: both are given, the file cannot be read, or what it holds is no token.
    """
    if file is not None and variable is not None:
        raise BadInput(f"--token-file and {_VARIABLE} are both given; give one of them")
    if file is not None:
        return _checked(_read(file), f"the token in {file}")
    return None if variable is None else _checked(variable, f"the token in {_VARIABLE}")


def _read(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return opened.read(_MOST_BYTES).decode()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise BadInput(f"--token-file {file} cannot be read: {reason}") from error


def _checked(text: str, where: str) -> str:
    """Without the line's end. The message never holds the token itself."""
    token = text.strip()
    if len(token) < MIN_TOKEN_CHARACTERS:
        raise BadInput(
            f"{where} has {len(token)} characters; it needs at least {MIN_TOKEN_CHARACTERS}. "
            "Make one with: python -c 'import secrets; print(secrets.token_urlsafe())'"
        )
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise BadInput(f"{where} has characters that a header cannot carry; use printable ASCII, no spaces")
    return token
