"""What came of generating tasks, by template."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

_SHOWN_FLAW = """template '{template}': {bad} of {drawn} unsound; the first:
  prompt: {prompt}
  gold:   {gold}
  reason: {reason}"""


@dataclass(frozen=True, slots=True)
class TemplateReport:
    """One template's drafts."""

    name: str
    difficulty: str
    drawn: int
    flaws: tuple[tuple[dict[str, Any], str], ...]
    """The lines that do not hold, and why."""

    def first_flaw(self) -> str:
        """The first of them, for its author."""
        line, reason = self.flaws[0]
        gold = "; ".join(f"{call['tool']}({_arguments(call)})" for call in line["solution"])
        return _SHOWN_FLAW.format(
            template=self.name,
            bad=len(self.flaws),
            drawn=self.drawn,
            prompt=line["prompt"],
            gold=gold or "(no calls)",
            reason=reason,
        )


@dataclass(frozen=True, slots=True)
class GenerationReport:
    """All templates' drafts."""

    world: str
    seed: int
    asked: int
    templates: tuple[TemplateReport, ...]
    splits: dict[str, int]

    @classmethod
    def of(
        cls, world: str, seed: int, asked: int, lines: Sequence[dict[str, Any]], flaws: Iterable[str | None]
    ) -> GenerationReport:
        """Of task lines and what is wrong with each."""
        judged = list(zip(lines, flaws, strict=True))
        names = dict.fromkeys(line["template"] for line in lines)
        templates = tuple(_template(name, judged) for name in names)
        splits = Counter(line["split"] for line in lines)
        return cls(world, seed, asked, templates, {name: splits[name] for name in sorted(splits)})

    @property
    def unsound(self) -> tuple[TemplateReport, ...]:
        """The templates with drafts that do not hold."""
        return tuple(template for template in self.templates if template.flaws)

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        return {
            "world": self.world,
            "seed": self.seed,
            "asked": self.asked,
            "tasks": sum(template.drawn for template in self.templates),
            "splits": self.splits,
            "difficulties": self._difficulties(),
            "templates": [
                {
                    "name": template.name,
                    "difficulty": template.difficulty,
                    "tasks": template.drawn,
                    "unsound": [{"task": line, "reason": reason} for line, reason in template.flaws],
                }
                for template in self.templates
            ],
        }

    def print(self, console: Console) -> None:
        """For people."""
        table = Table("template", "difficulty", box=None, pad_edge=False, header_style="bold")
        table.add_column("tasks", justify="right")
        table.add_column("unsound", justify="right")
        for template in self.templates:
            table.add_row(
                template.name, template.difficulty, str(template.drawn), str(len(template.flaws) or "")
            )
        console.print(table)
        console.print(
            f"\n{self.world}, seed {self.seed}: {_listed(self._difficulties())}; {_listed(self.splits)}"
        )

    def _difficulties(self) -> dict[str, int]:
        counts: Counter[str] = Counter()
        for template in self.templates:
            counts[template.difficulty] += template.drawn
        return dict(counts)


def _template(name: str, judged: Sequence[tuple[dict[str, Any], str | None]]) -> TemplateReport:
    own = [(line, flaw) for line, flaw in judged if line["template"] == name]
    flawed = tuple((line, flaw) for line, flaw in own if flaw is not None)
    return TemplateReport(name, own[0][0]["difficulty"], len(own), flawed)


def _arguments(call: dict[str, Any]) -> str:
    return ", ".join(
        f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in call.get("arguments", {}).items()
    )


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items())
