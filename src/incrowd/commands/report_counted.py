"""`report` about a release that does not fit into memory: DuckDB counts, and the page says what it lacks."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from incrowd.commands.counted_release import check_texts_of, counted_release, release_files
from incrowd.commands.measure import ASKED, evenly
from incrowd.commands.measure_counted import counted_facts
from incrowd.commands.report_facts import attacks_on, losses_of, made_from, published_facts, verdict_on
from incrowd.commands.report_rows import RowsCounted
from incrowd.engines.counted import CountedTable, counted_tables
from incrowd.engines.resources import Resources
from incrowd.long_work import Watch
from incrowd.measures.counted import frequency
from incrowd.release.folder import ReleaseFolder
from incrowd.reports.assessment import assessment_parts
from incrowd.reports.spread import before_and_after


def report_counted(
    folder: ReleaseFolder,
    resources: Resources,
    attacks: tuple[bool, str | int | None],
    bound: str,
    watch: Watch,
) -> dict[str, Any]:
    """All facts of a page: for readers, or with the original for the publisher.

    `attacks` says whether they are wanted, and how much memory they may use.
    """
    if folder.source is None:
        files = release_files(folder)
        with (
            TemporaryDirectory(prefix="incrowd-") as work,
            counted_tables([files], Path(work), resources) as (rows,),
        ):
            check_texts_of("report", folder, rows)
            return _published(folder, rows)
    with counted_release("report", folder, resources) as counted:
        facts = _published(folder, counted.rows)
        measured = counted_facts(counted, folder, bound, {"range_counts": ASKED}, evenly, watch)
        reported = _reported(folder, counted.rows)
        data, shown = counted.data, counted.shown
        private = {
            "measured": measured,
            "distributions": {
                attribute.name: before_and_after(attribute, frequency(data, j), shown, j)
                for j, attribute in enumerate(counted.attributes)
            },
            "losses": losses_of(folder.manifest, reported, shown, measured),
            "measured_why_not": "",
        }
    used = {"engine": "duckdb", "memory": resources.memory, "threads": resources.threads}
    facts |= made_from(folder, verdict_on(folder, watch, **used)) | private
    wanted, memory = attacks
    facts |= attacks_on(folder, wanted, watch, memory)
    return facts | {"assessment": assessment_parts(facts)}


def _published(folder: ReleaseFolder, rows: CountedTable) -> dict[str, Any]:
    return published_facts(folder, lambda opened: _reported(opened, rows))


def _reported(folder: ReleaseFolder, rows: CountedTable) -> RowsCounted:
    return RowsCounted(rows, [name for name in release_files(folder).columns if name in rows.names])
