"""The mean of a class beside its range, exact and rounded to a public grid."""

from __future__ import annotations

from decimal import Decimal

import numpy as np

from incrowd.flow import Attribute, Codes, Microdata
from incrowd.generalize.groups import Groups
from incrowd.values import EXACT


def means_of(
    data: Microdata, groups: Groups, names: tuple[str, ...], least: int
) -> dict[str, tuple[str, ...]]:
    """Mean texts of each class for the columns named; empty where fewer than `least` values are known.

    Numbers are summed as whole numbers of their smallest decimal unit, so no digit depends on the order of
    rows. The mean is rounded half to even, to one decimal more than the column has.
    """
    found = {}
    for j, attribute in enumerate(data.attributes):
        if attribute.name in names:
            found[attribute.name] = _means(attribute, data.codes[:, j], groups, least)
    return found


def _means(attribute: Attribute, codes: Codes, groups: Groups, least: int) -> tuple[str, ...]:
    known = codes != attribute.missing
    numbers = [
        Decimal(text) if code != attribute.missing else Decimal(0)
        for code, text in enumerate(attribute.texts)
    ]
    decimals = max((max(0, -int(number.as_tuple().exponent)) for number in numbers), default=0)
    units = np.array([int(number.scaleb(decimals, EXACT)) for number in numbers], dtype=object)
    sums = np.add.reduceat(units[codes[groups.order]] * known[groups.order], groups.starts)
    counts = np.add.reduceat(known[groups.order].astype(np.int64), groups.starts)
    return tuple(
        mean_text(int(total), int(count), decimals) if count >= least else ""
        for total, count in zip(sums, counts, strict=True)
    )


def mean_text(total: int, count: int, decimals: int) -> str:
    """``total / count`` units of 10^-decimals, rounded half to even with one more decimal.

    Examples
    --------
    >>> mean_text(71, 2, 0), mean_text(1, 3, 0), mean_text(-1, 4, 1)
    ('35.5', '0.3', '-0.02')
    """
    scaled, rest = divmod(10 * total, count)
    if 2 * rest > count or (2 * rest == count and scaled % 2):
        scaled += 1
    return format(Decimal(scaled).scaleb(-decimals - 1, EXACT), "f")
