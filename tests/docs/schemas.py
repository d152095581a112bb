"""docs/schemas: the formats of packs. `make schemas` writes them from scenarios/formats.py."""

from __future__ import annotations

import json
from pathlib import Path

from subworlds.scenarios.formats import FORMATS

SCHEMAS = Path(__file__).parent.parent.parent / "docs" / "schemas"


def written(name: str) -> str:
    """The file of a format."""
    return json.dumps(FORMATS[name], indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for format_name in FORMATS:
        (SCHEMAS / f"{format_name}.json").write_text(written(format_name))
