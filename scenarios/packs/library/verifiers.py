"""Verifiers for tasks of the library whose end state the agent may choose."""

import sqlite3
from contextlib import closing
from typing import Any

Rows = set[tuple[Any, ...]]

UNREAD_BOOKS_BY_ALDOUS = """
    SELECT books.id FROM books JOIN authors ON authors.id = books.author_id
    WHERE authors.name = 'Viktor Aldous' AND books.id NOT IN (
      SELECT copies.book_id FROM loans
      JOIN copies ON copies.id = loans.copy_id JOIN members ON members.id = loans.member_id
      WHERE members.name = 'Isla Fraser')
"""


def verify_two_unread_books_are_queued_for(
    initial_db_path: str, final_db_path: str, final_answer: str | None
) -> dict[str, str]:
    """Isla Fraser waits for two books by Viktor Aldous that are new to her; nothing else has changed."""
    with closing(read_only(initial_db_path)) as initial, closing(read_only(final_db_path)) as final:
        before, after = everything(initial), everything(final)
        old_holds, holds = before.pop("holds"), after.pop("holds")
        [isla] = initial.execute("SELECT id, home_branch_id FROM members WHERE name = 'Isla Fraser'")
        unread = {book for (book,) in initial.execute(UNREAD_BOOKS_BY_ALDOUS)}
    new_holds = holds - old_holds
    queued = {book for _, book, *_ in new_holds}
    complete = (
        before == after
        and old_holds < holds
        and len(new_holds) == len(queued) == 2
        and queued <= unread
        and all(
            (member, branch, status) == (*isla, "waiting") for _, _, member, branch, _, status, _ in new_holds
        )
    )
    return {"result": "complete" if complete else "others"}


def read_only(path: str) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{path}?mode=ro", uri=True)


def everything(db: sqlite3.Connection) -> dict[str, Rows]:
    """All rows of all tables."""
    tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {table: set(db.execute(f'SELECT * FROM "{table}"')) for table in tables}
