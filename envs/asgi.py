"""The application with everything at its default, for tools that want `module:attribute` (see openenv.yaml).

`subworlds serve` runs the same application with more care: its ready line, its keepalive, its options.
"""

from __future__ import annotations

from ..scenarios.pack import BUILTIN_PACKS, Catalog
from .app import Application, ServerSettings

app = Application(Catalog.load([BUILTIN_PACKS]), ServerSettings()).asgi
