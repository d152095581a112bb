"""Changes as a graph: whether two sets of them are one and the same, whatever numbers their rows got.

A change is a node, coloured at first by its content; a reference to an inserted row is an edge. Colours are
refined (Weisfeiler and Lehman): each round joins to a node's colour those of its neighbours, until two nodes
have one colour only if they stand in like surroundings. That tells everything but rings of equal rows apart,
for which one row of a ring is singled out and the rest compared again.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .changes import stable
from .verdict import Change

_MOST_ROUNDS = 100
_SINGLED_OUT = "singled out"


@dataclass(frozen=True, slots=True)
class Node:
    """A change that counts, and the colour under which an equal one is found."""

    change: Change
    colour: str
    links: tuple[tuple[str, int], ...] = ()
    """References to inserted rows: columns, and the position of the row's node."""


def colour_of(*parts: Any) -> str:
    """The colour of what these parts say."""
    return hashlib.blake2b(stable(parts).encode(), digest_size=16).hexdigest()


def refine(nodes: list[Node]) -> list[Node]:
    """The nodes in colours that tell apart whatever stands in other surroundings.

    Two graphs are refined apart and then compared: equal ones stop at the same round.
    """
    if not any(node.links for node in nodes):
        return nodes
    for _ in range(_MOST_ROUNDS):
        finer = _next_round(nodes)
        if _number_of_colours(finer) == _number_of_colours(nodes):
            return finer
        nodes = finer
    return nodes


def are_alike(one: list[Node], other: list[Node]) -> bool:
    """Whether two refined graphs are the same."""
    if colours(one) != colours(other):
        return False
    twin = _twin_in_a_ring(one)
    if twin is None:
        return True
    singled_out = refine(_single_out(one, twin))
    return any(
        are_alike(singled_out, refine(_single_out(other, number)))
        for number, node in enumerate(other)
        if node.colour == one[twin].colour
    )


def colours(nodes: Iterable[Node]) -> Counter[str]:
    """How many nodes have each colour."""
    return Counter(node.colour for node in nodes)


def _next_round(nodes: Sequence[Node]) -> list[Node]:
    around: list[list[tuple[str, ...]]] = [[] for _ in nodes]
    for number, node in enumerate(nodes):
        for name, target in node.links:
            if target == number:
                around[number].append(("to itself", name))
                continue
            around[number].append(("to", name, nodes[target].colour))
            around[target].append(("from", node.change.table, name, node.colour))
    return [
        replace(node, colour=colour_of(node.colour, sorted(near)))
        for node, near in zip(nodes, around, strict=True)
    ]


def _number_of_colours(nodes: Iterable[Node]) -> int:
    return len({node.colour for node in nodes})


def _single_out(nodes: Sequence[Node], number: int) -> list[Node]:
    singled_out = replace(nodes[number], colour=colour_of(nodes[number].colour, _SINGLED_OUT))
    return [*nodes[:number], singled_out, *nodes[number + 1 :]]


def _twin_in_a_ring(nodes: Sequence[Node]) -> int | None:
    """A node in a ring that has the colour of another; None where refinement has told all."""
    counts = colours(nodes)
    return next((number for number in _in_rings(nodes) if counts[nodes[number].colour] > 1), None)


def _in_rings(nodes: Sequence[Node]) -> Iterator[int]:
    """The nodes that are left when whatever hangs on one other node alone is taken away, again and again."""
    near: list[set[tuple[int, bool]]] = [set() for _ in nodes]
    for number, node in enumerate(nodes):
        for _, target in node.links:
            if target != number:
                near[number].add((target, True))
                near[target].add((number, False))
    loose = [number for number, around in enumerate(near) if len(around) == 1]
    while loose:
        number = loose.pop()
        for neighbour, is_target in near[number]:
            near[neighbour].discard((number, not is_target))
            if len(near[neighbour]) == 1:
                loose.append(neighbour)
        near[number] = set()
    return (number for number, around in enumerate(near) if around)
