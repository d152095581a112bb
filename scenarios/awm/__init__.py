"""Agent World Model folders (gen_*.jsonl), loaded as they are."""

from __future__ import annotations

from .folder import AwmFolder, AwmReading
from .names import is_awm_folder, scenario_name

__all__ = ["AwmFolder", "AwmReading", "is_awm_folder", "scenario_name"]
