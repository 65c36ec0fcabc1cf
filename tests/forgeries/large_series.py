"""The same ways to spoil a series whose ledgers an engine wrote: Parquet files, rewritten by queries.

All start from two months of 26 people with k = 3, in which p0 has left and a newcomer waits, as those of
`forgeries.series`. Each forgery names the check that must catch it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
from forgeries.series import FIRST, State, promise_less, widen_two_classes
from support.large_series import large_months, rewritten
from support.series_tables import policy, rehash

from incrowd.cohorts import SeriesState
from incrowd.engines.series_people import SeriesPeople
from incrowd.release.stage import LEDGER, SUCCESSOR, audit_folder
from incrowd.schema import CLASSES, LARGE_EFFECTIVE, LARGE_PEOPLE, MANIFEST
from incrowd.tables.checked_files import sha256_of

Spoil = Callable[[Path], None]
LARGE_AUDITS: dict[str, tuple[str, Spoil]] = {}


def audit(caught_by: str) -> Callable[[Spoil], Spoil]:
    def enter(spoil: Spoil) -> Spoil:
        LARGE_AUDITS[spoil.__name__] = (caught_by, spoil)
        return spoil

    return enter


def settled_wrongly(spoil: State) -> Callable[[SeriesPeople, bool], None]:
    """A publisher that changes the state after it was decided, if it is the second release."""
    real = SeriesPeople.settle

    def settle(self: SeriesPeople, new: bool) -> None:
        real(self, new)
        session = self._session
        if self.number:
            found = session.arrays("SELECT * FROM series_next ORDER BY number")
            cohort = found["cohort"].astype(np.int32)
            as_of = np.zeros(cohort.max() + 1, np.int32)
            as_of[cohort[cohort >= 0]] = found["as_of"][cohort >= 0]
            since = found["since"].astype(np.int32)
            state = spoil(SeriesState(self.number + 1, found["atom"].astype(np.int64), cohort, as_of, since))
            dates = np.append(state.as_of, -1)[state.cohort]
            session.load("wrong", {"number": found["number"], "cohort": state.cohort, "as_of": dates})
            session.run(
                "CREATE OR REPLACE TEMP TABLE series_next AS SELECT n.* REPLACE (w.cohort AS cohort, "
                "w.as_of AS as_of) FROM series_next n JOIN wrong w USING (number)"
            )

    return settle


def change(folder: Path, release: str, file: str, select: str) -> None:
    """Rewrite a file of a ledger and make all digests right again, as a forger would."""
    rewritten(audit_folder(folder / release) / file, select)
    rehash(folder / release)
    if release == "m0":
        head = {"folder": "m0", "manifest": sha256_of(folder / "m0" / MANIFEST)}
        rehash(folder / "m1", parent=head | {"ledger": sha256_of(audit_folder(folder / "m0") / LEDGER)})


def people(folder: Path, replaced: str, release: str = "m1") -> None:
    change(folder, release, LARGE_PEOPLE, f"SELECT * REPLACE ({replaced}) FROM old")


ONE_REPEATED = "number = (SELECT min(number) FROM old WHERE cohort >= 0 AND as_of = 0)"
ONE_CURRENT = "number = (SELECT min(number) FROM old WHERE as_of = 1)"


@audit("effective")
def a_class_of_mixed_dates(folder: Path) -> None:
    people(folder, f"CASE WHEN {ONE_REPEATED} THEN 1 ELSE as_of END AS as_of")


@audit("effective")
def a_date_after_all_releases(folder: Path) -> None:
    people(folder, "CASE WHEN as_of = 1 THEN 2 ELSE as_of END AS as_of")


@audit("effective")
def a_repeated_row_says_something_else(folder: Path) -> None:
    change(folder, "m0", LARGE_EFFECTIVE, "SELECT * REPLACE (replace(age, '20', '21') AS age) FROM old")


@audit("effective")
def a_current_row_says_something_else(folder: Path) -> None:
    change(folder, "m1", LARGE_EFFECTIVE, "SELECT * REPLACE (replace(age, '60', '61') AS age) FROM old")


@audit("effective")
def a_row_without_somebody(folder: Path) -> None:
    change(folder, "m1", LARGE_EFFECTIVE, "SELECT * FROM old WHERE id > (SELECT min(id) FROM old)")


@audit("effective")
def two_rows_of_somebody(folder: Path) -> None:
    change(folder, "m1", LARGE_EFFECTIVE, "FROM old UNION ALL (FROM old ORDER BY id LIMIT 1)")


@audit("effective")
def two_people_of_one_number(folder: Path) -> None:
    change(
        folder, "m1", LARGE_PEOPLE, "FROM old UNION ALL (SELECT * REPLACE (low + 1 AS low) FROM old LIMIT 1)"
    )


@audit("effective")
def a_number_that_means_somebody_else(folder: Path) -> None:
    people(folder, "CASE number WHEN 0 THEN 1 WHEN 1 THEN 0 ELSE number END AS number")


@audit("effective")
def somebody_whom_the_next_ledger_forgets(folder: Path) -> None:
    change(folder, "m1", LARGE_PEOPLE, "SELECT * FROM old WHERE NOT (cohort < 0)")


@audit("effective")
def nothing_said_of_a_cohort(folder: Path) -> None:
    people(folder, f"CASE WHEN {ONE_CURRENT} THEN NULL ELSE cohort END AS cohort")


@audit("effective")
def an_earlier_class_with_other_cells(folder: Path) -> None:
    change(
        folder,
        "m0",
        CLASSES,
        "SELECT (SELECT max(class) FROM old) - class AS class, * EXCLUDE class FROM old",
    )


@audit("truth")
def a_class_with_other_cells(folder: Path) -> None:
    change(
        folder,
        "m1",
        CLASSES,
        "SELECT (SELECT max(class) FROM old) - class AS class, * EXCLUDE class FROM old",
    )


@audit("truth")
def a_class_that_is_there_twice(folder: Path) -> None:
    change(folder, "m1", CLASSES, "FROM old UNION ALL (FROM old LIMIT 1)")


@audit("truth")
def a_cohort_without_a_class(folder: Path) -> None:
    change(folder, "m1", CLASSES, "SELECT * FROM old WHERE class > 0")


@audit("chain")
def a_changed_file(folder: Path) -> None:
    path = audit_folder(folder / "m1") / LARGE_PEOPLE
    rewritten(path, "SELECT * FROM old ORDER BY number DESC")


@audit("chain")
def the_mark_of_the_successor_is_gone(folder: Path) -> None:
    (audit_folder(folder / "m0") / SUCCESSOR).unlink()


@audit("chain")
def rows_of_an_earlier_release_that_were_widened(folder: Path) -> None:
    widen_two_classes(folder / "m0" / "data.csv")


@audit("chain")
def a_release_that_promised_less(folder: Path) -> None:
    promise_less(folder)


@audit("chain")
def a_ledger_of_another_series(folder: Path) -> None:
    other = folder / "other series"
    other.mkdir()
    large_months(other, [FIRST], policy())
    for name in (LARGE_PEOPLE, LARGE_EFFECTIVE, CLASSES, "schema.json", LEDGER):
        shutil.copy(audit_folder(other / "m0") / name, audit_folder(folder / "m0") / name)
    rehash(folder / "m0", manifest=sha256_of(folder / "m0" / MANIFEST))


@audit("chain")
def a_ledger_that_counts_a_release_too_many(folder: Path) -> None:
    rehash(folder / "m1", number=2)


@audit("erased")
def somebody_who_was_erased_has_a_row(folder: Path) -> None:
    people(folder, f"erased OR {ONE_CURRENT} AS erased")


@audit("erased")
def somebody_who_was_erased_is_not_any_more(folder: Path) -> None:
    waiting = "number = (SELECT min(number) FROM old WHERE cohort >= 0)"
    people(folder, f"erased OR {waiting} AS erased", "m0")
