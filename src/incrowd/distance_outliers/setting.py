"""What counts as an outlier, and which groups count as plain: the parameters, checked at birth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

from incrowd.contracts import AnyLimit, Choice, Limit, Limited, Share, exact
from incrowd.errors import PolicyError, unknown

FORMS = ("both", "corner", "candidate")
_WEIGHT = Share(Fraction(0), None)


@dataclass(frozen=True)
class Setting(Limited):
    """Parameters of (p,d)-outliers and of plain groups.

    A point is an outlier if at least `p` of all records lie further than `d` from it. Who is removed, and so
    the scale, is settled at p and d. Classes are then checked at ``p - margin`` and ``d - margin``: with the
    same people on the same scale a class stays plain at p and d, and at all between. ``margin=0`` is the
    paper's form.

    Parameters
    ----------
    p : decimal
        Share of all records that must be far away, above 0 and at most 1.
    d : decimal
        From which distance on a record is far away, above 0.
    distinct : int
        Least number of different sensitive values (combinations) of a class.
    margin : decimal
        By how much p and d are lowered where classes are checked.
    form : str
        ``corner`` looks at the corners of a class's box, as the paper does, ``candidate`` at the people
        inside it, ``both`` at both.
    removal : str
        What becomes of records whose sensitive values alone make them outliers: removed ``once``, ``repeat``
        until there is none, or ``none`` is removed.
    rescale : str
        ``yes``: distances are scaled by the records that are left, ``no``: by all records.
    columns : sequence or mapping
        The columns that distance is measured over; empty for all. A mapping gives weights as well.
    weights : mapping
        Weights of columns in the squared distance, 1 where none is given.

    Examples
    --------
    >>> setting = Setting(p=0.8, d="0.85", distinct=15, weights={"income": 2})
    >>> setting.p0, setting.d0, setting.weights
    (Fraction(3, 4), Fraction(4, 5), (('income', '2'),))
    """

    p: float | str
    d: float | str
    distinct: int
    margin: float | str = "0.05"
    form: str = "both"
    removal: str = "once"
    rescale: str = "yes"
    columns: tuple[str, ...] | Mapping[str, object] = ()
    weights: tuple[tuple[str, str], ...] | Mapping[str, object] = ()
    limits: ClassVar[Mapping[str, AnyLimit]] = {
        "p": Share(Fraction(0), Fraction(1)),
        "d": Share(Fraction(0), None),
        "distinct": Limit(2),
        "margin": Share(Fraction(0), None, low_included=True),
        "form": Choice(FORMS),
        "removal": Choice(("once", "repeat", "none")),
        "rescale": Choice(("yes", "no")),
    }

    def __post_init__(self) -> None:
        """Keep decimals as text, and weights apart from columns: equal settings then compare equal."""
        super().__post_init__()
        for name in ("p", "d", "margin"):
            object.__setattr__(self, name, _decimal(getattr(self, name)))
        if self.p0 <= 0 or self.d0 <= 0:
            raise PolicyError(f"{type(self).__name__}: margin must be below p and d, got {self.margin}.")
        weights: dict[str, object] = dict(self.weights)
        if isinstance(self.columns, Mapping):
            weights.update(self.columns)
        names = tuple(self.columns)
        strange = [name for name in weights if names and name not in names]
        if strange:
            raise PolicyError(unknown("in the columns that distance is measured over", strange, names))
        for name, weight in weights.items():
            if not _WEIGHT.allows(weight):
                raise PolicyError(
                    f"{type(self).__name__}: the weight of {name} must be {_WEIGHT.words()}, got {weight}."
                )
        given = {name: _decimal(weight) for name, weight in weights.items() if exact(weight) != 1}
        object.__setattr__(self, "columns", names)
        object.__setattr__(self, "weights", tuple(sorted(given.items())))

    @property
    def p0(self) -> Fraction:
        return exact(self.p) - exact(self.margin)

    @property
    def d0(self) -> Fraction:
        return exact(self.d) - exact(self.margin)

    def weight(self, name: str) -> str:
        """The weight of a column, as decimal text."""
        return str(dict(self.weights).get(name, "1"))


def _decimal(value: object) -> str:
    """The text of a decimal without an exponent and without zeros at its end."""
    exact(value)
    text = format(Decimal(str(value)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
