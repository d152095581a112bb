"""The application with everything at its default, for tools that want `module:attribute` (see openenv.yaml).

`subworlds serve` runs the same application with more care: its ready line, its keepalive, its options. Of the
environment this one takes `SUBWORLDS_TOKEN`, the control token, and `SUBWORLDS_ALLOW_REMOTE`; with neither it
serves its own machine only.
"""

from __future__ import annotations

import os

from ..scenarios.pack import BUILTIN_PACKS, Catalog
from .app import Application, ServerSettings
from .gate import Access

_access = Access(
    token=os.environ.get("SUBWORLDS_TOKEN") or None, anyone=bool(os.environ.get("SUBWORLDS_ALLOW_REMOTE"))
)
app = Application(Catalog.load([BUILTIN_PACKS]), ServerSettings(access=_access)).asgi
"""The application with the built-in packs."""
