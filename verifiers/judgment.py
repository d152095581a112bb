"""From a judge's opinion to a verdict."""

from __future__ import annotations

from .judge import Opinion
from .judge_prompt import PROMPT_VERSION
from .verdict import Judgment, Receipt, Verdict


def judged(
    opinion: Opinion, model: str, code_result: str | None, receipt: Receipt, answer_matched: bool | None
) -> Verdict:
    """The judge decides; where the task's own code thinks otherwise, the verdict says so."""
    disagrees = code_result is not None and (code_result == "complete") != (opinion.outcome == "complete")
    judgment = Judgment(
        opinion.outcome,
        opinion.reason,
        opinion.confidence,
        model,
        PROMPT_VERSION,
        code_result,
        disagrees,
    )
    reason = f"the judge says {opinion.outcome!r} (confidence {opinion.confidence:.2f}): {opinion.reason}"
    if disagrees:
        reason += f"; the task's code disagrees: it says {code_result!r:.80}"
    return Verdict(opinion.outcome, reason, receipt, answer_matched, judgment)
