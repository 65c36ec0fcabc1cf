"""One verification as a single flat noun, so that a test can replace any part of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from incrowd.schema import Claim, Schema, Verdict
from incrowd.verifier import (
    Expected,
    PublicTable,
    PublishedTables,
    RowSource,
    Stated,
    Witness,
    verify_rows,
)


@dataclass(frozen=True, eq=False)
class Case:
    """Everything that `verify_rows` takes."""

    original: RowSource
    published: RowSource
    schema: Schema
    claims: Sequence[Claim]
    suppressed: int | None = None
    max_suppression: Fraction | Literal["as stated"] | None = "as stated"
    levels: Any = None
    domains: Mapping[str, Any] | None = None
    links: Any = None
    neighbourhoods: Any = None
    match_probability: Any = None
    sensitive: RowSource | None = None
    public: PublicTable | None = None


def verified(case: Case) -> Verdict:
    stated = Stated(
        suppressed=case.suppressed,
        levels=case.levels,
        domains=case.domains,
        match_probability=case.match_probability,
    )
    return verify_rows(
        case.original,
        PublishedTables(case.published, case.sensitive, stated),
        Expected(case.schema, case.claims, max_suppression=case.max_suppression),
        witness=Witness(case.links, case.neighbourhoods),
        public=case.public,
    )


def assert_rejected(verdict: Verdict, caught_by: str, private: Iterable[str]) -> None:
    """A forgery is rejected by the check that should see it, which breaks off nowhere and quotes no cell."""
    assert not verdict.passed
    assert verdict.failures[0].name == caught_by, verdict.failures
    assert "stopped with an error" not in verdict.failures[0].detail
    details = " ".join(check.detail for check in verdict.checks)
    assert not any(text in details for text in private), "a message quotes a cell"


def long_texts(rows: Iterable[Sequence[str]]) -> set[str]:
    """Cells that are long enough to be told from ordinary words."""
    return {text for row in rows for text in row if len(text) > 2}
