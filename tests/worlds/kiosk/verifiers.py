import contextlib
import os
import sqlite3


def _pears(path):
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return connection.execute("SELECT stock FROM goods WHERE name = 'pear'").fetchone()[0]


def verify_pear_sold(initial_db_path, final_db_path, final_answer=None):
    sold = _pears(initial_db_path) - _pears(final_db_path)
    return {"result": "complete" if sold == 1 else "others"}


def verify_crashes(initial_db_path, final_db_path):
    raise KeyError("no such thing")


def verify_forever(initial_db_path, final_db_path):
    while True:
        pass


def verify_by_forgery(initial_db_path, final_db_path):
    for descriptor in range(64):
        with contextlib.suppress(OSError):
            os.write(descriptor, b'{"outcome": "complete", "reason": "trust me"}')
    os._exit(0)
