"""Every way we know to spoil a series: states of a publisher that does wrong, and audits that were rewritten.

All start from two months of 26 people with k = 3. In the second one p0 has left, whose class is repeated, and
a newcomer waits. Each forgery names the check that must catch it.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from support.series_tables import crowd, months, policy, rehash

from incrowd.cohorts import NONE, SeriesState
from incrowd.release.ledger import PEOPLE
from incrowd.release.stage import LEDGER, SUCCESSOR, audit_folder
from incrowd.schema import MANIFEST
from incrowd.tables.checked_files import sha256_of

FIRST = crowd()
SECOND = {who: said for who, said in FIRST.items() if who != "p0"} | {"new": (31, "a")}

State = Callable[[SeriesState], SeriesState]
STATES: dict[str, tuple[str, State]] = {}
AUDITS: dict[str, tuple[str, Callable[[Path], None]]] = {}


def state(caught_by: str) -> Callable[[State], State]:
    def enter(spoil: State) -> State:
        STATES[spoil.__name__] = (caught_by, spoil)
        return spoil

    return enter


def audit(caught_by: str) -> Callable[[Callable[[Path], None]], Callable[[Path], None]]:
    def enter(spoil: Callable[[Path], None]) -> Callable[[Path], None]:
        AUDITS[spoil.__name__] = (caught_by, spoil)
        return spoil

    return enter


def repeated(found: SeriesState) -> int:
    """The class that shows how things were."""
    (cohort,) = np.flatnonzero(found.as_of < found.releases - 1)
    return int(cohort)


def without(found: SeriesState, person: int) -> SeriesState:
    cohort = found.cohort.copy()
    cohort[person] = NONE
    return replace(found, cohort=cohort)


@state("effective")
def one_leaver_is_dropped_from_a_repeated_class(found: SeriesState) -> SeriesState:
    return without(found, int(np.flatnonzero(found.cohort == repeated(found))[0]))


@state("series-k")
def one_person_is_dropped_from_a_current_class(found: SeriesState) -> SeriesState:
    """A class of four or more, so that what is left is large enough."""
    size = np.bincount(found.cohort[found.cohort != NONE])
    (large,) = np.flatnonzero((size > 3) & (found.as_of == found.releases - 1))[:1]
    return without(found, int(np.flatnonzero(found.cohort == large)[0]))


@state("series-k")
def one_newcomer_is_joined_to_an_old_class(found: SeriesState) -> SeriesState:
    cohort = found.cohort.copy()
    cohort[np.flatnonzero((cohort == NONE) & (found.atom == 0))[0]] = (repeated(found) + 1) % found.as_of.size
    return replace(found, cohort=cohort)


@state("effective")
def a_class_that_could_be_current_has_an_older_date(found: SeriesState) -> SeriesState:
    """With people who were in different classes before: it is no repetition."""
    cohort, as_of = found.cohort.copy(), found.as_of.copy()
    one, two = np.flatnonzero(as_of == found.releases - 1)[:2]
    a, b = np.flatnonzero(cohort == one)[0], np.flatnonzero(cohort == two)[0]
    cohort[[a, b]] = cohort[[b, a]]
    as_of[[one, two]] = found.releases - 2
    return replace(found, cohort=cohort, as_of=as_of)


@state("series-k")
def two_people_change_their_classes(found: SeriesState) -> SeriesState:
    cohort = found.cohort.copy()
    one, two = np.flatnonzero(found.as_of == found.releases - 1)[:2]
    a, b = np.flatnonzero(cohort == one)[0], np.flatnonzero(cohort == two)[0]
    cohort[[a, b]] = cohort[[b, a]]
    return replace(found, cohort=cohort)


@audit("effective")
def a_class_of_mixed_dates(folder: Path) -> None:
    people = audit_folder(folder / "m1") / PEOPLE
    lines = people.read_text().splitlines()
    place = next(at for at, line in enumerate(lines) if line.split(",")[3] == '"0"')
    cells = lines[place].split(",")
    cells[3] = '"1"'
    people.write_text("\n".join([*lines[:place], ",".join(cells), *lines[place + 1 :]]) + "\n")
    rehash(folder / "m1")


@audit("effective")
def a_repeated_row_says_something_else(folder: Path) -> None:
    effective = audit_folder(folder / "m0") / "effective.csv"
    effective.write_text(effective.read_text().replace('"20"', '"21"'))
    rehash(folder / "m0")
    head = {"folder": "m0", "manifest": sha256_of(folder / "m0" / MANIFEST)}
    rehash(folder / "m1", parent=head | {"ledger": sha256_of(audit_folder(folder / "m0") / LEDGER)})


@audit("chain")
def a_forked_chain(folder: Path) -> None:
    """Somebody took the mark away, and went on after the same release once more."""
    (audit_folder(folder / "m0") / SUCCESSOR).unlink()
    months_after(folder, "other")


def months_after(folder: Path, name: str) -> None:
    from support.series_tables import table

    from incrowd.commands.publish import publish

    publish(table(SECOND), policy(), folder / name, after=folder / "m0")


@audit("chain")
def the_mark_of_the_successor_is_gone(folder: Path) -> None:
    (audit_folder(folder / "m0") / SUCCESSOR).unlink()


@audit("chain")
def rows_of_an_earlier_release_that_were_widened(folder: Path) -> None:
    """Two classes as one: true of everybody, and atoms that were torn would look whole."""
    widen_two_classes(folder / "m0" / "data.csv")


@audit("chain")
def other_rows_beside_those_of_an_earlier_release(folder: Path) -> None:
    """Where there are both, Parquet is read."""
    widened = folder / "widened.csv"
    shutil.copy(folder / "m0" / "data.csv", widened)
    widen_two_classes(widened)
    pd.read_csv(widened, dtype=str).to_parquet(folder / "m0" / "data.parquet", index=False)


def widen_two_classes(rows: Path) -> None:
    text = rows.read_text()
    cells = {cell: [int(end) for end in re.findall("[0-9]+", cell)] for cell in re.findall(r"\[.*?\]", text)}
    one, two = sorted(cells, key=lambda cell: cells[cell])[:2]
    both = f"[{cells[one][0]},{cells[two][1]}]"
    rows.write_text(text.replace(one, both).replace(two, both))


@audit("chain")
def a_release_that_promised_less(folder: Path) -> None:
    promise_less(folder)


def promise_less(folder: Path) -> None:
    """The manifest of the first release claims k = 2, and all digests are right again."""

    def change(said: dict[str, Any]) -> None:
        next(claim for claim in said["claims"] if claim["model"] == "series-k")["parameters"] = {"k": 2}

    rewrite_first(folder, change)


def rewrite_first(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """The manifest of the first release says something else, and all digests are right again."""
    first, second = folder / "m0" / MANIFEST, folder / "m1" / MANIFEST
    was, said = sha256_of(first), json.loads(first.read_text())
    change(said)
    first.write_text(json.dumps(said))
    rehash(folder / "m0", manifest=sha256_of(first))
    second.write_text(second.read_text().replace(was, sha256_of(first)))
    ledger = sha256_of(audit_folder(folder / "m0") / LEDGER)
    parent = {"folder": "m0", "manifest": sha256_of(first), "ledger": ledger}
    rehash(folder / "m1", manifest=sha256_of(second), parent=parent)
    mark = {"folder": "m1", "manifest": sha256_of(second)}
    (audit_folder(folder / "m0") / SUCCESSOR).write_text(json.dumps(mark))


@audit("chain")
def a_release_that_promised_two_things(folder: Path) -> None:
    more = {"model": "series-k", "parameters": {"k": 2}}
    rewrite_first(folder, lambda said: said["claims"].append(more))


@audit("chain")
def claims_that_are_none(folder: Path) -> None:
    rewrite_first(folder, lambda said: said.update(claims=None))


@audit("chain")
def a_claim_that_is_a_word(folder: Path) -> None:
    rewrite_first(folder, lambda said: said["claims"].append("series-k"))


@audit("chain")
def a_manifest_without_files(folder: Path) -> None:
    rewrite_first(folder, lambda said: said.update(files=None))


@audit("chain")
def a_release_whose_rows_are_gone(folder: Path) -> None:
    """Its manifest does not name them, either."""
    (folder / "m0" / "data.csv").unlink()
    rewrite_first(folder, lambda said: said["files"].pop("data.csv"))


@audit("chain")
def a_datasheet_of_an_earlier_release_that_was_changed(folder: Path) -> None:
    datasheet = folder / "m0" / "README.md"
    datasheet.write_text(datasheet.read_text() + "Nobody lingers.\n")


def leave_out_a_release(folder: Path) -> None:
    """Of three releases the second is taken away, and the third says that it follows the first."""
    first, third = folder / "m0", folder / "m2"
    for path in (folder / "m1", audit_folder(folder / "m1")):
        shutil.rmtree(path)
    said = json.loads((third / MANIFEST).read_text())
    said["series"] |= {"number": 1, "parent": sha256_of(first / MANIFEST)}
    (third / MANIFEST).write_text(json.dumps(said, indent=2, ensure_ascii=False) + "\n")
    ledger = sha256_of(audit_folder(first) / LEDGER)
    parent = {"folder": "m0", "manifest": sha256_of(first / MANIFEST), "ledger": ledger}
    rehash(third, number=1, parent=parent, manifest=sha256_of(third / MANIFEST))


@audit("chain")
def a_ledger_of_another_series(folder: Path) -> None:
    other = folder / "other series"
    other.mkdir()
    months(other, [FIRST], policy())
    for name in (PEOPLE, "effective.csv", "links.json", "schema.json", LEDGER):
        shutil.copy(audit_folder(other / "m0") / name, audit_folder(folder / "m0") / name)
    rehash(folder / "m0", manifest=sha256_of(folder / "m0" / MANIFEST))


@audit("chain")
def a_ledger_that_counts_a_release_too_many(folder: Path) -> None:
    rehash(folder / "m1", number=2)


@audit("erased")
def somebody_who_was_erased_has_a_row(folder: Path) -> None:
    people = audit_folder(folder / "m1") / PEOPLE
    lines = people.read_text().splitlines()
    place = next(at for at, line in enumerate(lines) if line.split(",")[3] == '"1"')
    lines[place] = lines[place].removesuffix('"0"') + '"1"'
    people.write_text("\n".join(lines) + "\n")
    rehash(folder / "m1")
