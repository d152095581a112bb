"""An event loop on a thread of its own, for a trainer that is not asynchronous.

The loop runs on while the trainer computes, so connections are looked after during the longest generation.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Self, TypeVar

_T = TypeVar("_T")


class LoopThread:
    """Use as a context manager."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="subworlds-rollout", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def start(self, work: Coroutine[Any, Any, _T]) -> Future[_T]:
        """Begin `work`; its result can be waited for from any thread."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Do `work` and return what it returns, or raise what it raises."""
        pending = self.start(work)
        try:
            return pending.result()
        except BaseException:
            pending.cancel()
            raise

    def close(self) -> None:
        """Cancel what is under way, stop the loop and end the thread. Once or often."""
        if self._thread.is_alive():
            self.run(_cancel_others())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
        if not self._loop.is_closed():
            self._loop.close()


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
