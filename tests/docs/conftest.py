"""A server over the built-in worlds, as the README's reader has it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from subworlds.cli.hosting import hosted
from subworlds.cli.worlds import Worlds

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="session")
def builtin_url() -> Iterator[str]:
    worlds = Worlds()
    with hosted(worlds, worlds.catalog()) as url:
        yield url
