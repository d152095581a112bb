"""The reward's weights as a command line says them: `task=0.5,process=0.2,format=0.2,efficiency=0.1`."""

from __future__ import annotations

from dataclasses import fields

from ..envs.rubric import RubricWeights
from .failure import BadInput

_NAMES = tuple(field.name for field in fields(RubricWeights))


def read_weights(text: str | None) -> RubricWeights:
    """The weights that `text` gives; the usual ones for None.

    Raises:
        BadInput: a component is missing, unknown or no number, or they do not sum to 1.
    """
    if text is None:
        return RubricWeights()
    try:
        given = {
            name.strip(): float(value) for name, _, value in (part.partition("=") for part in text.split(","))
        }
    except ValueError as error:
        raise BadInput(f"--reward-weights {text}: {error}; say {_example()}") from error
    if set(given) != set(_NAMES):
        raise BadInput(f"--reward-weights {text}: give each of {', '.join(_NAMES)} once; say {_example()}")
    try:
        return RubricWeights(**given)
    except ValueError as error:
        raise BadInput(f"--reward-weights {text}: {error}") from error


def _example() -> str:
    usual = RubricWeights()
    return ",".join(f"{name}={getattr(usual, name):g}" for name in _NAMES)
