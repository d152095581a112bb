"""The app of a hostile world: it tries attacks when it is imported, and by a tool in its session."""

import gc
from typing import Annotated

from fastapi import Body, FastAPI

PRELUDE = """
import array, ctypes, fcntl, gc, mmap, multiprocessing, os, pathlib, resource, shutil, signal, socket, sqlite3
import stat, subprocess, sys, threading, time, urllib.request

libc = ctypes.CDLL(None, use_errno=True)

def ctypes_call(number, *arguments):
    if libc.syscall(ctypes.c_long(number), *arguments) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
"""
ATTACKS: dict[str, str] = {}
NAMES: dict[str, object] = {}
app = FastAPI()


def attempt(code: str, names: dict[str, object]) -> str:
    """How an attack ends: with its error, or with `done`."""
    try:
        exec(PRELUDE + code, {**names, "gc": gc})
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    return "done"


@app.post("/", operation_id="attack")
def attack(
    attacks: Annotated[dict[str, str], Body()], names: Annotated[dict[str, object], Body()]
) -> dict[str, str]:
    return {name: attempt(code, names) for name, code in attacks.items()}


@app.get("/", operation_id="tell_import")
def tell_import() -> dict[str, str]:
    return AT_IMPORT


AT_IMPORT = {name: attempt(code, NAMES) for name, code in ATTACKS.items()}
