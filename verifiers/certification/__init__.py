"""Certification: whether a task's verifier tells right from wrong, found out by playing both."""
