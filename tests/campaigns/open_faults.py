"""Kinds of faults that campaigns find and that are known to be open, with the reason. Empty is the goal."""

OPEN: dict[str, str] = {}
