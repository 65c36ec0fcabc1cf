"""ART, the artificial data of "k-Anonymization Revisited" (VI): six independent attributes.

The paper gives probabilities and permissible sets, but not how many records it drew.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from incrowd.encode import encode
from incrowd.flow import Microdata, Table
from incrowd.policy import Policy
from incrowd.schema import Column, Kind, Role, Schema, Shape

SEED = 1


@dataclass(frozen=True, slots=True)
class Drawn:
    """An attribute: how likely a1, a2, … are, and the sets of them that may be published.

    ``sets`` are from-to pairs of the values' numbers; single values and the whole domain are always allowed.
    """

    shares: tuple[float, ...]
    sets: tuple[tuple[int, int], ...] = ()

    @property
    def values(self) -> tuple[str, ...]:
        return tuple(f"a{number}" for number in range(1, len(self.shares) + 1))

    @property
    def family(self) -> tuple[tuple[str, ...], ...]:
        """The sets of values, the whole domain last, so that values which nobody has are known too."""
        return (*(self.values[first - 1 : last] for first, last in self.sets), self.values)


ATTRIBUTES: Mapping[str, Drawn] = {
    "A1": Drawn((0.7, 0.3)),
    "A2": Drawn((0.3, 0.3, 0.2, 0.2), ((1, 2), (3, 4))),
    "A3": Drawn((0.25, 0.25, 0.4, 0.1), ((1, 2), (3, 4))),
    "A4": Drawn(
        (*[0.07] * 6, *[0.04] * 10, *[0.02] * 9), ((1, 6), (7, 12), (13, 18), (19, 25), (1, 12), (13, 25))
    ),
    "A5": Drawn((0.1,) * 10, ((1, 2), (3, 4), (6, 7), (8, 9), (1, 5), (6, 10))),
    "A6": Drawn((0.05, 0.05, 0.5, 0.3, 0.1), ((1, 2), (4, 5), (3, 5))),
}


def art_table(rows: int, seed: int = SEED) -> Table:
    """Draw ART as a table of texts.

    Examples
    --------
    >>> art_table(3).names
    ('A1', 'A2', 'A3', 'A4', 'A5', 'A6')
    """
    dice = Random(seed)  # noqa: S311  # invented records, to be drawn again by anyone
    return Table.of({name: dice.choices(a.values, a.shares, k=rows) for name, a in ATTRIBUTES.items()})


def art_policy() -> Policy:
    """The policy that publishes ART as the paper does."""
    families = {name: {"family": [list(each) for each in a.family]} for name, a in ATTRIBUTES.items()}
    return Policy.from_dict({"quasi_identifiers": families, "method": "agglomerative"})


def art(rows: int, seed: int = SEED) -> Microdata:
    """Draw ART as numbers.

    Examples
    --------
    >>> data = art(100)
    >>> len(data), [len(attribute) for attribute in data.attributes]
    (100, [2, 4, 4, 25, 10, 5])
    """
    columns = [set_column(name, a.family) for name, a in ATTRIBUTES.items()]
    return encode(art_table(rows, seed), Schema(tuple(columns)))


def set_column(name: str, family: tuple[tuple[str, ...], ...]) -> Column:
    """A quasi-identifier that is published as one of these sets."""
    return Column(name, Role.QUASI, Kind.CATEGORICAL, Shape.SET, family=tuple(map(frozenset, family)))


def art_files(rows: int, seed: int = SEED) -> dict[str, str]:
    """ART and its policy as files, to be published by ``incrowd publish art.csv -p art.toml -k 10 -o …``."""
    table = art_table(rows, seed)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.names)
    writer.writerows(zip(*(column.rows() for column in table.columns), strict=True))
    return {"art.csv": text.getvalue(), "art.toml": _policy_text(seed)}


def _policy_text(seed: int) -> str:
    lines = [
        f'# ART of "k-Anonymization Revisited", drawn with seed {seed}',
        'method = "agglomerative"',
        "",
        "[quasi_identifiers]",
    ]
    for name, attribute in ATTRIBUTES.items():
        sets = ", ".join("[" + ", ".join(f'"{value}"' for value in each) + "]" for each in attribute.family)
        lines.append(f"{name} = {{family = [{sets}]}}")
    return "\n".join([*lines, ""])
