"""Where the pages for authors lie: docs/ of a checkout, which an installed package has beside its code."""

from __future__ import annotations

from pathlib import Path

MANUAL = Path(__file__).resolve().parent.parent / "docs"
AUTHORING = MANUAL / "authoring.md"
SCHEMAS = MANUAL / "schemas"
