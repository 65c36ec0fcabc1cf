"""The file of one-way totals of a release: how many rows have which value of a quasi-identifier."""

from __future__ import annotations

TOTALS = "totals"  # the key of the manifest that names the file
FILE = "totals.csv"
HEADER = ("column", "value", "rows")
