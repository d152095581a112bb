"""Certification: right verifiers are certified, and each way to be a wrong one is caught and named."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from subworlds.scenarios.manager import ManagerSettings, ScenarioManager
from subworlds.scenarios.pack import Catalog
from subworlds.verifiers.certification.certifier import Certifier, CertifierOptions
from subworlds.verifiers.certification.findings import TaskReport
from subworlds.verifiers.service import Verification, VerifierLimits

DEPOT = Path(__file__).parent.parent / "certification" / "depot"

Reports = dict[str, TaskReport]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def reports() -> AsyncIterator[Reports]:
    """What certification finds of every task of the depot, by its name."""
    catalog = Catalog.load([DEPOT])
    async with (
        ScenarioManager(catalog.scenario, ManagerSettings(prefork=2)) as manager,
        Verification(manager, VerifierLimits(wall_s=60.0)) as verification,
    ):
        certifier = Certifier(manager, verification, CertifierOptions(jobs=4))
        tasks = catalog.tasks_of("depot")
        yield {
            report.task.removeprefix("depot/"): report
            async for report in certifier.certify(catalog.scenario("depot"), tasks, tasks)
        }


def codes(report: TaskReport) -> set[str]:
    """What it failed for."""
    return {flaw.code for flaw in report.flaws}


def kinds(report: TaskReport, code: str) -> set[str]:
    """The kinds of variants that show a flaw."""
    return {flaw.judged.variant.kind for flaw in report.flaws if flaw.code == code and flaw.judged}


@pytest.mark.parametrize(
    "task", ["right-state", "right-python", "right-sql", "right-read", "right-number", "right-several"]
)
def test_right_verifier_is_certified(task: str, reports: Reports) -> None:
    report = reports[task]
    assert (report.standing, report.flaws) == ("certified", ())
    assert report.mutants == report.killed >= 12
    assert report.harmless >= 4
    assert report.rejected == 0


def test_verifier_that_always_agrees_passes_for_nothing(reports: Reports) -> None:
    assert codes(reports["always"]) == {"nothing-passes"}


def test_verifier_that_only_counts_does_not_see_which_row(reports: Reports) -> None:
    report = reports["counts"]
    assert {"other row", "other argument"} <= kinds(report, "survivor")
    assert any("which row" in flaw.reason for flaw in report.flaws)


def test_verifier_that_ignores_tables_does_not_see_other_changes(reports: Reports) -> None:
    report = reports["ignores-tables"]
    assert kinds(report, "survivor") == {"extra write"}
    assert any("something else changed" in flaw.reason for flaw in report.flaws)


def test_verifier_that_hashes_times_rejects_the_solution_later(reports: Reports) -> None:
    report = reports["hashes-times"]
    assert codes(report) == {"gold-rejected-later"}
    assert "another clock" in report.flaws[0].reason


def test_verifier_of_the_wrong_column_does_not_see_a_wrong_value(reports: Reports) -> None:
    report = reports["wrong-column"]
    assert "other argument" in kinds(report, "survivor")
    assert any("another quantity" in flaw.reason for flaw in report.flaws)


def test_verifier_that_swallows_its_errors_passes_for_nothing(reports: Reports) -> None:
    assert codes(reports["swallows"]) == {"nothing-passes"}


def test_verifier_of_literal_numbers_rejects_rows_under_other_numbers(reports: Reports) -> None:
    report = reports["literal-ids"]
    assert codes(report) == {"false-reject"}
    assert "the numbers of inserted rows" in report.flaws[0].reason


def test_verifier_that_raises_cannot_judge(reports: Reports) -> None:
    report = reports["raises"]
    assert codes(report) == {"unjudged"}
    assert "ValueError" in report.flaws[0].reason


def test_verifier_that_never_agrees_rejects_the_solution(reports: Reports) -> None:
    assert codes(reports["never"]) == {"gold-rejected"}


def test_solution_that_fails_is_named_by_its_call(reports: Reports) -> None:
    report = reports["broken-gold"]
    assert codes(report) == {"gold-fails"}
    assert "order_part(part_id=999, quantity=8)" in report.flaws[0].reason


def test_what_is_the_agents_choice_is_no_survivor_where_the_author_says_so(reports: Reports) -> None:
    assert kinds(reports["open-part"], "survivor") == {"other row"}
    said = reports["open-part-as-choice"]
    assert said.standing == "certified"
    assert said.choices


def test_survivor_is_shown_with_its_calls_and_receipt(reports: Reports) -> None:
    flaw = next(flaw for flaw in reports["open-part"].flaws if flaw.code == "survivor")
    assert [call.call.tool for call in flaw.judged.calls] == ["list_parts", "order_part"]
    assert flaw.judged.verdict.receipt.unsorted


def test_reordered_work_counts_as_equal_not_as_a_survivor(reports: Reports) -> None:
    report = reports["right-several"]
    assert any(row.startswith("swapped") for row in report.equivalents)


def test_task_without_a_solution_is_floor_checked(reports: Reports) -> None:
    assert reports["no-solution"].standing == "floor-checked"
    always = reports["no-solution-always"]
    assert always.standing == "failed"
    assert {"nothing-passes", "policy-passes"} <= codes(always)


def test_every_task_is_reported_on(reports: Reports) -> None:
    assert len(reports) == len((DEPOT / "tasks.jsonl").read_text().splitlines())
