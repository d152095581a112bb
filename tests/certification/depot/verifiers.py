"""One verifier that is right, and those that are wrong as verifiers are wrong. The task: order 8 springs."""

import hashlib
import sqlite3
from contextlib import closing

NEW = "SELECT part_id, quantity, status FROM orders WHERE id > 503"
FIRST = "SELECT * FROM orders WHERE id <= 503 ORDER BY id"


def rows(path: str, query: str) -> list[tuple]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return connection.execute(query).fetchall()


def claim(complete: bool) -> dict[str, str]:
    return {"result": "complete" if complete else "others"}


def rest_is_same(initial: str, final: str) -> bool:
    same = all(rows(initial, f"SELECT * FROM {table}") == rows(final, f"SELECT * FROM {table}") for table in ("parts", "shelves"))
    return same and rows(initial, FIRST) == rows(final, FIRST)


def due_in_days(final: str) -> list[float]:
    query = "SELECT julianday(due_at) - julianday(placed_at) FROM orders WHERE id > 503"
    return [round(days, 3) for (days,) in rows(final, query)]


def verify_springs(initial: str, final: str) -> dict[str, str]:
    """Right."""
    ordered = rows(final, NEW) == [(105, 8, "open")] and due_in_days(final) == [14.0]
    return claim(ordered and rest_is_same(initial, final))


def verify_always(initial: str, final: str) -> dict[str, str]:
    return claim(True)


def verify_counts(initial: str, final: str) -> dict[str, str]:
    return claim(len(rows(final, "SELECT 1 FROM orders")) == len(rows(initial, "SELECT 1 FROM orders")) + 1)


def verify_without_the_other_tables(initial: str, final: str) -> dict[str, str]:
    ordered = rows(final, NEW) == [(105, 8, "open")] and due_in_days(final) == [14.0]
    return claim(ordered and rows(initial, FIRST) == rows(final, FIRST))


def verify_hash_of_times(initial: str, final: str) -> dict[str, str]:
    new = rows(final, "SELECT part_id, quantity, status, placed_at FROM orders WHERE id > 503")
    wanted = [(105, 8, "open", "2026-03-02T09:00:02")]
    digests = [hashlib.sha256(repr(some).encode()).hexdigest() for some in (new, wanted)]
    return claim(digests[0] == digests[1] and due_in_days(final) == [14.0] and rest_is_same(initial, final))


def verify_wrong_column(initial: str, final: str) -> dict[str, str]:
    ordered = rows(final, "SELECT part_id, status FROM orders WHERE id > 503") == [(105, "open")]
    return claim(ordered and due_in_days(final) == [14.0] and rest_is_same(initial, final))


def verify_swallowing(initial: str, final: str) -> dict[str, str]:
    try:
        (new,) = rows(final, NEW)
        return claim(new == (105, 8, "open") and due_in_days(final) == [14.0] and rest_is_same(initial, final))
    except Exception:
        return claim(True)


def verify_literal_ids(initial: str, final: str) -> dict[str, str]:
    ordered = rows(final, "SELECT id, part_id, quantity, status FROM orders WHERE id > 503") == [(504, 105, 8, "open")]
    return claim(ordered and due_in_days(final) == [14.0] and rest_is_same(initial, final))


def verify_raising(initial: str, final: str) -> dict[str, str]:
    (new,) = rows(final, NEW)
    return claim(new == (105, 8, "open") and due_in_days(final) == [14.0] and rest_is_same(initial, final))


def verify_never(initial: str, final: str) -> dict[str, str]:
    return claim(False)


def verify_any_part(initial: str, final: str) -> dict[str, str]:
    """Right where any part may be ordered."""
    ordered = [row[1:] for row in rows(final, NEW)] == [(8, "open")] and due_in_days(final) == [14.0]
    return claim(ordered and rest_is_same(initial, final))
