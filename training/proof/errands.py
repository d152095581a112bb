"""What is asked at the desk: ten kinds of errands, of one to six calls, drawn from a world's rows.

Easy ones take one or two calls, medium ones three or four, hard ones five or six.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Named:
    """A person or a shelf."""

    number: int
    name: str


@dataclass(frozen=True, slots=True)
class Thing:
    """A thing, its shelf, and who has it."""

    number: int
    name: str
    shelf: Named
    holder: Named | None


@dataclass(frozen=True, slots=True)
class Desk:
    """The rows of one world."""

    people: tuple[Named, ...]
    shelves: tuple[Named, ...]
    things: tuple[Thing, ...]


Call: TypeAlias = dict[str, Any]
"""As in tasks.jsonl."""


@dataclass(frozen=True, slots=True)
class Errand:
    """One task as it was drawn."""

    prompt: str
    solution: Sequence[Call]
    answer: dict[str, Any] | None = None
    """As in tasks.jsonl."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Errands of one kind."""

    name: str
    difficulty: str
    draw: Callable[[Desk, random.Random], Errand]


def shelf_of(desk: Desk, chance: random.Random) -> Errand:
    """One call."""
    thing = chance.choice(desk.things)
    prompt = f"What is the number of the shelf of {thing.name}?"
    return Errand(prompt, [_find_thing(thing)], {"number": thing.shelf.number})


def holder_of(desk: Desk, chance: random.Random) -> Errand:
    """Two calls."""
    thing = chance.choice(_out(desk))
    assert thing.holder is not None
    named = _call("get_name", person=thing.holder.number)
    return Errand(f"Who has {thing.name}?", [_find_thing(thing), named], {"text": thing.holder.name})


def back(desk: Desk, chance: random.Random) -> Errand:
    """Two calls."""
    thing = chance.choice(_out(desk))
    return Errand(f"Take back {thing.name}.", [_find_thing(thing), _take_back(thing)])


def lend(desk: Desk, chance: random.Random) -> Errand:
    """Three calls."""
    thing, person = chance.choice(_in(desk)), chance.choice(desk.people)
    return Errand(
        f"Lend {thing.name} to {person.name}.",
        [_find_thing(thing), _find_person(person), _lend(thing, person)],
    )


def move(desk: Desk, chance: random.Random) -> Errand:
    """Three calls."""
    thing, shelf = _thing_and_shelf(desk.things, desk, chance)
    return Errand(
        f"Move {thing.name} to {shelf.name}.",
        [_find_thing(thing), _find_shelf(shelf), _move(thing, shelf)],
    )


def same_holder(desk: Desk, chance: random.Random) -> Errand:
    """Three calls, the third with a number that the first one showed."""
    held, thing = chance.choice(_out(desk)), chance.choice(_in(desk))
    assert held.holder is not None
    return Errand(
        f"Lend {thing.name} to whoever has {held.name}.",
        [_find_thing(held), _find_thing(thing), _lend(thing, held.holder)],
    )


def pass_on(desk: Desk, chance: random.Random) -> Errand:
    """Four calls."""
    thing = chance.choice(_out(desk))
    person = chance.choice([each for each in desk.people if each != thing.holder])
    return Errand(
        f"Take back {thing.name} and lend it to {person.name}.",
        [_find_thing(thing), _take_back(thing), _find_person(person), _lend(thing, person)],
    )


def lend_two(desk: Desk, chance: random.Random) -> Errand:
    """Five calls."""
    (first, second), person = chance.sample(_in(desk), 2), chance.choice(desk.people)
    return Errand(
        f"Lend {first.name} and {second.name} to {person.name}.",
        [
            _find_person(person),
            _find_thing(first),
            _lend(first, person),
            _find_thing(second),
            _lend(second, person),
        ],
    )


def move_two(desk: Desk, chance: random.Random) -> Errand:
    """Five calls."""
    first, shelf = _thing_and_shelf(desk.things, desk, chance)
    others = [each for each in desk.things if each != first and each.shelf != shelf]
    second = chance.choice(others)
    return Errand(
        f"Move {first.name} and {second.name} to {shelf.name}.",
        [
            _find_shelf(shelf),
            _find_thing(first),
            _move(first, shelf),
            _find_thing(second),
            _move(second, shelf),
        ],
    )


def turn_round(desk: Desk, chance: random.Random) -> Errand:
    """Six calls."""
    thing, shelf = _thing_and_shelf(_out(desk), desk, chance)
    person = chance.choice([each for each in desk.people if each != thing.holder])
    return Errand(
        f"Take back {thing.name}, move it to {shelf.name} and lend it to {person.name}.",
        [
            _find_thing(thing),
            _take_back(thing),
            _find_shelf(shelf),
            _move(thing, shelf),
            _find_person(person),
            _lend(thing, person),
        ],
    )


KINDS = (
    Kind("shelf-of", "easy", shelf_of),
    Kind("holder-of", "easy", holder_of),
    Kind("back", "easy", back),
    Kind("lend", "medium", lend),
    Kind("move", "medium", move),
    Kind("same-holder", "medium", same_holder),
    Kind("pass-on", "medium", pass_on),
    Kind("lend-two", "hard", lend_two),
    Kind("move-two", "hard", move_two),
    Kind("turn-round", "hard", turn_round),
)


def _out(desk: Desk) -> list[Thing]:
    return [thing for thing in desk.things if thing.holder is not None]


def _in(desk: Desk) -> list[Thing]:
    return [thing for thing in desk.things if thing.holder is None]


def _thing_and_shelf(things: Sequence[Thing], desk: Desk, chance: random.Random) -> tuple[Thing, Named]:
    """A thing, and a shelf that it is not on: a task that is done already would pay for nothing."""
    thing = chance.choice(things)
    return thing, chance.choice([shelf for shelf in desk.shelves if shelf != thing.shelf])


def _call(tool: str, **arguments: Any) -> Call:
    return {"tool": tool, "arguments": arguments}


def _find_thing(thing: Thing) -> Call:
    return _call("find_thing", name=thing.name)


def _find_person(person: Named) -> Call:
    return _call("find_person", name=person.name)


def _find_shelf(shelf: Named) -> Call:
    return _call("find_shelf", name=shelf.name)


def _lend(thing: Thing, person: Named) -> Call:
    return _call("lend", thing=thing.number, person=person.number)


def _take_back(thing: Thing) -> Call:
    return _call("take_back", thing=thing.number)


def _move(thing: Thing, shelf: Named) -> Call:
    return _call("move", thing=thing.number, shelf=shelf.number)
