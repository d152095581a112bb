"""How an observation reads to a model: the same in training and in evaluation."""

from __future__ import annotations

import json

from ..envs.models import CallToolObservation


def told(seen: CallToolObservation, most: int) -> str:
    """What a call answered, as JSON, or its error; `most` characters of it."""
    if seen.error is not None:
        return shortened(f"error: {seen.error}", most)
    return shortened(json.dumps(seen.result, ensure_ascii=False), most)


def shortened(text: str, most: int) -> str:
    """`text`, or the first `most` characters of it, with the cut marked."""
    return text if len(text) <= most else f"{text[:most]}… [cut: {most} of {len(text)} characters]"
