"""The processes of one run, as `accelerate launch` starts them; without it there is one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeVar, cast

from accelerate.state import PartialState
from accelerate.utils import operations

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Processes:
    """Which of them this is."""

    count: int
    index: int

    @classmethod
    def current(cls) -> Self:
        """As this process was started."""
        state: Any = PartialState()
        return cls(state.num_processes, state.process_index)

    @property
    def is_main(self) -> bool:
        """Whether this is the one that writes and prints."""
        return self.index == 0

    def wait(self) -> None:
        """Until all are here."""
        state: Any = PartialState()
        state.wait_for_everyone()

    def share(self, values: Sequence[_T]) -> list[_T]:
        """The part of `values` that is for this process."""
        return list(values[self.index :: self.count])

    def gather(self, values: Sequence[_T]) -> list[_T]:
        """All processes' values. Every process must ask."""
        gather: Any = operations
        return cast("list[_T]", gather.gather_object(list(values)))
