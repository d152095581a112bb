"""A manager over the toy world, one per test module."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from .toys import Worlds, open_worlds


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def worlds() -> AsyncIterator[Worlds]:
    """The toy world and what a test adds to it."""
    async with open_worlds() as opened:
        yield opened
