"""Texts that mean missing: words that everybody uses, and the negative codes of surveys."""

from __future__ import annotations

from collections import Counter

from incrowd.commands.inspect.vocabulary import word_list
from incrowd.flow import Table, TextColumn
from incrowd.values import read_number

WELL_KNOWN = (
    "?", "-", "--", ".", "NA", "N/A", "n/a", "na", "#N/A", "NULL", "null", "NaN", "nan", "missing", "Missing",
    "unknown", "Unknown", "UNKNOWN",
)  # fmt: skip
CODES = tuple(word_list("-7 -8 -9 -77 -88 -97 -98 -99 -777 -888 -997 -998 -999 -9999"))
LEAST_COLUMNS = 3  # in which a code must occur: one column may have a reason of its own


def missing_markers(table: Table) -> tuple[str, ...]:
    """The texts by which a table seems to say that something is missing.

    A negative code is one of them if at least three columns have it in which no other number is below zero,
    and no column has it among other negative numbers.

    Examples
    --------
    >>> answers = {f"q{i}": ["1", "2", "-9"] for i in range(3)}
    >>> missing_markers(Table.of({**answers, "job": ["cook", "?", "n/a"]}))
    ('?', 'n/a', '-9')
    >>> missing_markers(Table.of({**answers, "balance": ["-9", "-4", "7"]}))
    ()
    """
    used = {text for column in table.columns for text in {*WELL_KNOWN}.intersection(column.texts)}
    meant: Counter[str] = Counter()
    real: set[str] = set()
    for column in table.columns:
        met = {*CODES}.intersection(column.texts)
        if met and _only_codes_are_negative(column, used):
            meant.update(met)
        else:
            real |= met
    codes = [code for code in CODES if meant[code] >= LEAST_COLUMNS and code not in real]
    return (*(marker for marker in WELL_KNOWN if marker in used), *codes)


def _only_codes_are_negative(column: TextColumn, missing: set[str]) -> bool:
    """Numbers, at least two of them not negative, and none below zero but codes."""
    texts = [text for text in column.texts if text and text not in missing and text not in CODES]
    numbers = [read_number(text) for text in texts]
    return len(texts) >= 2 and all(number is not None and number >= 0 for number in numbers)
