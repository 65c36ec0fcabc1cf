"""What is asked of a table as a policy reads it: risks of columns, levels, some records before and after."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from incrowd.commands.inspect.known_columns import KnownColumns
from incrowd.commands.inspect.levels import LevelCounts
from incrowd.commands.inspect.risks import Risk
from incrowd.errors import PolicyError, option
from incrowd.flow import Table
from incrowd.long_work import Watch, unwatched
from incrowd.policy import Policy
from incrowd.results import Result, Row

if TYPE_CHECKING:
    from incrowd.commands.inspect.preview import Preview

EVERY = "all"  # in the place of a column: each that has a hierarchy


@dataclass(frozen=True, repr=False)
class Inspection(Result):
    """Answers about a table: ``risks`` (the policy's quasi-identifiers first), ``levels``, a ``preview``.

    ``known`` is the table, to ask for more; it is never shown.
    """

    rows: int
    k: int | None
    risks: tuple[Risk, ...]
    levels: tuple[LevelCounts, ...]
    preview: Preview | None
    known: KnownColumns = field(compare=False)

    def risk_of(
        self, columns: Sequence[str], k: int | None = None, levels: Mapping[str, int] | None = None
    ) -> Risk:
        """The risk if somebody knows just these columns; each is numbered once, however often it is asked."""
        return self.known.risk_of(columns, k or self.k, levels)

    def level_counts(self, column: str, k: int | None = None) -> LevelCounts:
        """How many labels each level of a column's hierarchy has, and how small its smallest group is."""
        return self.known.level_counts(column, k or self.k)

    def headline(self) -> str:
        said = [
            f"{risk.unique:,} are unique in {', '.join(risk.columns)}: largest prosecutor risk {odds(risk)}"
            for risk in self.risks[:1]
        ]
        said += [f"levels of {len(self.levels)} hierarchies"] if self.levels else []
        said += [f"{len(self.preview.records)} records before and after"] if self.preview else []
        return f"{self.rows:,} rows; {'; '.join(said)}"

    def overview(self) -> tuple[Row, Iterable[Row]]:
        rows = (
            (", ".join(risk.columns), risk.unique, risk.below_5, risk.below_10, risk.smallest, odds(risk))
            for risk in self.risks
        )
        return ("known together", "unique", "below 5", "below 10", "smallest class", "largest risk"), rows

    def to_dict(self) -> dict[str, Any]:
        return {
            "rows": self.rows,
            "k": self.k,
            "risks": [asdict(risk) for risk in self.risks],
            "levels": [counts.to_dict() for counts in self.levels],
            "preview": None if self.preview is None else self.preview.to_dict(),
        }


def odds(risk: Risk) -> str:
    """The largest risk as people say it: 1, or one in so many."""
    return "1" if risk.highest >= 1 else f"1/{1 / risk.highest:.4g}"


def inspected(
    table: Table,
    policy: Policy | None,
    risk: Sequence[Sequence[str]] = (),
    levels: Sequence[str] = (),
    preview: int = 0,
    watch: Watch = unwatched,
) -> Inspection:
    """Answer what was asked of a table; with a policy, the risk of its quasi-identifiers always."""
    known = KnownColumns.of(table, policy)
    k = None if policy is None else policy.privacy.k
    if policy is None and (levels or preview):
        raise PolicyError(f"levels and rows follow from a policy; pass it with {option('policy')}")
    sets = [names for names in (known.quasi_identifiers(), *risk) if names]
    columns = known.with_hierarchy() if tuple(levels) == (EVERY,) else levels
    return Inspection(
        len(table),
        k,
        tuple(known.risk_of(names, k) for names in sets),
        tuple(known.level_counts(name, k) for name in columns),
        _previewed(table, policy, preview, watch) if policy is not None and preview else None,
        known,
    )


def _previewed(table: Table, policy: Policy, rows: int, watch: Watch) -> Preview:
    from incrowd.commands.inspect.preview import previewed  # all of publishing, which nothing else needs here

    return previewed(table, policy, rows, watch)
