"""`subworlds doctor`: which layers of confinement this machine has, found out by trying each."""

from __future__ import annotations

import json
import subprocess

from rich.table import Table

from ..sandbox import Finding, probe_layers
from .failure import CommandFailed
from .screen import screen

ADVICE = (
    "Untrusted worlds and verifiers are refused here. To run code that you trust all the same, unconfined, "
    "pass --allow-unconfined."
)

LEGEND = "* mandatory: without it, worlds and verifiers are refused unless --allow-unconfined is passed"


def doctor(*, as_json: bool) -> None:
    """Try every layer and print what was found.

    Raises:
        CommandFailed: a layer is missing without which worlds are refused.
    """
    try:
        found = probe_layers()
    except (OSError, subprocess.SubprocessError) as error:
        raise CommandFailed(f"the layers of confinement could not be tried: {error}") from error
    missing = [finding.layer.name for finding in found if finding.layer.mandatory and not finding.present]
    if as_json:
        layers = [_to_json(finding) for finding in found]
        print(json.dumps({"confined": not missing, "layers": layers}, indent=2))
    else:
        screen().print(_table(found))
    if missing:
        raise CommandFailed(f"this machine cannot confine worlds: it lacks {', '.join(missing)}.\n{ADVICE}")


def _to_json(finding: Finding) -> dict[str, str | bool]:
    layer = finding.layer
    return {
        "name": layer.name,
        "gives": layer.gives,
        "mandatory": layer.mandatory,
        "present": finding.present,
        "reason": finding.reason,
    }


def _table(found: list[Finding]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", caption=LEGEND, caption_justify="left")
    for heading in ("layer", "here", "what it gives", "what was seen"):
        table.add_column(heading)
    for finding in found:
        here = "yes" if finding.present else "MISSING" if finding.layer.mandatory else "no"
        name = f"{finding.layer.name} *" if finding.layer.mandatory else finding.layer.name
        table.add_row(name, here, finding.layer.gives, finding.reason)
    return table
