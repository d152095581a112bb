"""Findings: what is wrong with a pack, told so that its author can mend it, and what shows on paper."""
