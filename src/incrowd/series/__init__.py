"""Releases of a table that changes: k and l over all releases together."""
