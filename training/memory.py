"""What a model has worked out about the conversations of a batch: the keys and values of their tokens.

With it no turn reads again what came before. Conversations differ in length, so some slots of the table are
empty: the attention mask says which, and a token's position is how many tokens come before it, not its slot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

_ROOM = 64
"""Slots that are set aside behind those in use."""


@dataclass(slots=True)
class Rows:
    """Conversations side by side. What gives other rows uses these up, so that nothing is held twice."""

    numbers: list[int]
    """Which conversations they are."""
    ids: list[list[int]]
    """The tokens that each row holds, in order."""
    taken: Any
    """Which slots hold a token: boolean, of shape (rows, slots)."""
    layers: list[tuple[Any, Any]] = field(default_factory=list[tuple[Any, Any]], repr=False)
    """Keys and values of each layer, of shape (rows, heads, slots, size of a head); none if none was read."""

    @classmethod
    def empty(cls, numbers: Sequence[int], device: Any) -> Rows:
        """Rows without a slot."""
        taken = torch.zeros((len(numbers), 0), dtype=torch.bool, device=device)
        return cls(list(numbers), [[] for _ in numbers], taken)

    def tokens(self, padding: int) -> Any:
        """The token in each slot, `padding` where there is none; of shape (rows, slots)."""
        table = torch.full(self.taken.shape, padding, device=self.taken.device)
        tokens = [token for ids in self.ids for token in ids]
        table[self.taken] = torch.tensor(tokens, dtype=table.dtype, device=table.device)
        return table

    def lend(self) -> Any:
        """The layers, as a transformers model takes them: what it reads and writes is appended there."""
        cache: Any = DynamicCache()
        new_layer: Any = _Roomy
        cache.layer_class_to_replicate = new_layer
        while self.layers:
            layer = new_layer()
            layer.lazy_initialization(*self.layers[0])
            layer.keys, layer.values = self.layers.pop(0)
            cache.layers.append(layer)
        return cache

    def take_back(self, cache: Any, ids: Sequence[list[int]], taken: Any) -> None:
        """What was lent, and what its slots hold now.

        Raises:
            RuntimeError: the model did not append what it read.
        """
        if cache.get_seq_length() != taken.shape[1]:
            raise RuntimeError(
                f"the model kept {cache.get_seq_length()} tokens of {taken.shape[1]}, so it does not "
                "remember what it reads. Is gradient checkpointing on while it generates?"
            )
        self.ids, self.taken = list(ids), taken
        self.layers = [(layer.keys, layer.values) for layer in cache.layers]

    def split(self, *groups: Sequence[int]) -> list[Rows]:
        """The rows of each group, by place and as often as they are named, without needless slots."""
        indexes = [torch.tensor(list(rows), dtype=torch.long, device=self.taken.device) for rows in groups]
        orders = [_last_slots(self.taken[index]) for index in indexes]
        found = [
            Rows([self.numbers[row] for row in rows], [self.ids[row] for row in rows], taken)
            for rows, (_, taken) in zip(groups, orders, strict=True)
        ]
        while self.layers:
            layer = self.layers.pop(0)
            for rows, index, (order, _) in zip(found, indexes, orders, strict=True):
                rows.layers.append((_gathered(layer[0], index, order), _gathered(layer[1], index, order)))
        return found


def joined(parts: Sequence[Rows]) -> Rows:
    """The rows of all parts (one at least), one part after the other."""
    if len(parts) == 1:
        return parts[0]
    slots = max(part.taken.shape[1] for part in parts)
    whole = Rows(
        [number for part in parts for number in part.numbers],
        [ids for part in parts for ids in part.ids],
        torch.cat([_widened(part.taken, slots, dim=1) for part in parts]),
    )
    while parts[0].layers:
        of_parts = [part.layers.pop(0) for part in parts]
        keys, values = (
            torch.cat([_widened(each[kind], slots, dim=2) for each in of_parts]) for kind in (0, 1)
        )
        whole.layers.append((keys, values))
    return whole


class _Roomy(DynamicLayer):  # type: ignore[no-untyped-call]
    """Appends in place: the layer that it extends copies all that it holds, for every token."""

    _room: tuple[Any, ...] = ()
    """Keys and values, and empty slots behind them."""

    def update(self, key_states: Any, value_states: Any, *_: Any, **__: Any) -> tuple[Any, Any]:
        """Take in the states of further slots; give those of all."""
        held: Any = self
        if not self.is_initialized:
            held.lazy_initialization(key_states, value_states)
            held.keys, held.values = key_states[:, :, :0], value_states[:, :, :0]
        before = held.keys.shape[2]
        now = before + key_states.shape[2]
        if not self._room or now > self._room[0].shape[2]:
            self._room = _roomy(held.keys, now), _roomy(held.values, now)
        for room, states in zip(self._room, (key_states, value_states), strict=True):
            room[:, :, before:now] = states
        held.keys, held.values = (room[:, :, :now] for room in self._room)
        return held.keys, held.values


class Memory:
    """The memory of one batch: empty at first, and gone with it."""

    def __init__(self) -> None:
        self._rows: Rows | None = None

    def recall(self, contexts: Mapping[int, list[int]]) -> Rows | None:
        """Give away the rows that one of these conversations begins with, and forget all others."""
        rows, self._rows = self._rows, None
        if rows is None:
            return None
        of_use = [
            place
            for place, (number, ids) in enumerate(zip(rows.numbers, rows.ids, strict=True))
            if len(ids) < len(contexts.get(number, [])) and contexts[number][: len(ids)] == ids
        ]
        return rows.split(of_use)[0] if of_use else None

    def keep(self, rows: Rows) -> None:
        """Take in what is known now."""
        self._rows = rows


def _last_slots(taken: Any) -> tuple[Any, Any]:
    """As many slots as the fullest row needs, the taken ones last: their places, and which are taken."""
    width = int(taken.sum(dim=1).max())
    places = taken.int().argsort(dim=1, stable=True)[:, taken.shape[1] - width :]
    return places, taken.gather(1, places)


def _gathered(states: Any, rows: Any, places: Any) -> Any:
    """The chosen places of the chosen rows."""
    chosen = states[rows]
    return chosen.gather(2, places[:, None, :, None].expand(-1, chosen.shape[1], -1, chosen.shape[3]))


def _roomy(states: Any, slots: int) -> Any:
    """The same, with memory for at least as many slots."""
    room = states.new_empty((*states.shape[:2], slots + _ROOM, states.shape[3]))
    room[:, :, : states.shape[2]] = states
    return room


def _widened(table: Any, slots: int, *, dim: int) -> Any:
    """With empty slots before the others, so that there are `slots`."""
    shape = list(table.shape)
    shape[dim] = slots - shape[dim]
    return torch.cat([table.new_zeros(shape), table], dim=dim) if shape[dim] else table
