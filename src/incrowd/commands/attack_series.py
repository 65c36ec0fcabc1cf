"""A series as its adversaries see it: everybody's class in every release, and in tables parted anew."""

from __future__ import annotations

import json

import numpy as np

from incrowd import tables
from incrowd.algorithms.base import method
from incrowd.attacks.series import SeriesTarget
from incrowd.encode import encode
from incrowd.errors import InputError
from incrowd.flow import Codes, Partition, distinct_rows
from incrowd.long_work import silent
from incrowd.release.audit import LINKS
from incrowd.release.data_files import read_rows
from incrowd.release.folder import ReleaseFolder
from incrowd.release.ledger import KeptLedger, Ledger
from incrowd.schema import CLASSES, Role


def series_target(folder: ReleaseFolder) -> SeriesTarget | None:
    """What can be put together; None of a release alone, or the first of a series."""
    if not folder.in_series:
        return None
    chain = KeptLedger.open(folder.path).chain()
    if len(chain) < 2:
        return None
    people = len(chain[-1].read().people)
    shown, anew = (np.full((len(chain), people), -1, np.int32) for _ in range(2))
    recipe, options = method(str(folder.method["name"])), dict(folder.method["options"])
    head = chain[-1].head
    algorithm = recipe.configured(recipe.smallest_group(head.k, head.l), options)
    for number, kept in enumerate(chain):
        ledger = kept.read()
        shown[number, ledger.with_rows] = _large_classes(kept, ledger) if kept.large else _classes(kept)
        data = encode(ledger.effective, kept.schema)
        found = algorithm.group(data, (), silent)
        if isinstance(found, Partition):
            anew[number, ledger.with_rows] = found.labels
    if not recipe.only_in_series:
        return SeriesTarget(shown, anew, head.k)
    values = np.maximum.reduce([codes for (codes,) in chain[-1].read().state.values])
    return SeriesTarget(shown, anew, head.l, values)


def _large_classes(kept: KeptLedger, ledger: Ledger) -> Codes:
    """The same where an engine has published: its audit says which cells each cohort has."""
    table = tables.read(kept.audit / CLASSES)
    cells = [table.column(name) for name in table.names if name != "class"]
    _, which = distinct_rows([each.codes for each in cells], [len(each.texts) for each in cells], len(table))
    cohort = [int(text or -1) for text in table.column("class").rows()]
    found = np.full(ledger.state.as_of.size, -1, np.int32)
    found[cohort] = which
    return found[ledger.state.cohort[ledger.with_rows]]


def _classes(kept: KeptLedger) -> Codes:
    """The class of each record of the effective table, by the published rows and the links of the audit."""
    rows = read_rows(kept.release, lambda: kept.schema)
    columns = [rows.column(column.name) for column in kept.schema.having(Role.QUASI)]
    codes, sizes = [column.codes for column in columns], [len(column.texts) for column in columns]
    _, which = distinct_rows(codes, sizes, len(rows))
    try:
        behind = json.loads((kept.audit / LINKS).read_text(encoding="utf-8"))["record_of_each_row"]
        found = np.empty(len(rows), np.int32)
        found[behind] = which
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        raise InputError(f"the links of {kept.release.name} cannot be read") from None
    return found
