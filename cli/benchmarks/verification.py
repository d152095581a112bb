"""A verifier run by itself: two databases in, one verdict out, through the server's own Verification."""

from __future__ import annotations

from ...scenarios.manager import ScenarioManager
from ...verifiers.service import Verification, VerifierLimits
from ..failure import CommandFailed
from .figures import Figures, Stopwatch
from .plan import Plan
from .subject import Subject, replay


async def measure_verdicts(manager: ScenarioManager, subject: Subject, plan: Plan) -> Figures:
    """Verdicts over one finished episode. The first, which learns what the gold reaches, is not counted."""
    watch = Stopwatch()
    async with Verification(manager, VerifierLimits()) as verification:
        session = await manager.start_session(subject.scenario.name)
        try:
            await replay(session, subject)
            final = await session.finish()
            for number in range(plan.verdicts + 1):
                with watch.lap("verifier" if number else "learning"):
                    verdict = await verification.verify(
                        subject.task, initial=session.snapshot, final=final, answer=None, calls=1
                    )
                if not verdict.valid:
                    raise CommandFailed(f"the verifier of '{subject.task.id}' broke: {verdict.reason}")
        finally:
            await session.close()
    return {"verifier": watch.figures()["verifier"]}
