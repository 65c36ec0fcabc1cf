"""The report as one HTML file that needs nothing else: templates over facts, every text escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from incrowd.measures.risk_summary import were_suppressed
from incrowd.reports.bars import Bar, Picture, labelled, parted, percent, shortened
from incrowd.reports.cell_words import shown_cell
from incrowd.reports.svg import text
from incrowd.reports.templates import templates_in
from incrowd.schema import CHECKS

MOST_COLUMNS = 60  # that are drawn; all are in the facts
MOST_CELLS = 16  # of an example row that are not folded
ROLES: Mapping[str, str] = {
    "quasi_identifier": "quasi-identifier: others may know it, so it is generalized",
    "sensitive": "sensitive: published unchanged, and must not be linked to a person",
    "keep": "kept: published unchanged; the publisher considers it harmless",
}
SHAPES: Mapping[str, str] = {"range": "intervals", "node": "labels of a hierarchy", "set": "sets of values"}


def render(facts: Mapping[str, Any]) -> str:
    """The report as HTML."""
    page = _templates().get_template("page.html.j2")
    quasi = _having(facts, "quasi_identifier")
    return page.render(facts=facts, quasi=quasi, most_columns=MOST_COLUMNS, most_cells=MOST_CELLS)


@cache
def _templates() -> Environment:
    made = templates_in(Path(__file__).parent)
    made.filters |= {
        "were_suppressed": were_suppressed,
        "number": number,
        "percent": percent,
        "short": shortened,
        "said": said,
        "chance": chance,
        "breakable": breakable,
    }
    made.globals |= {
        "sizes": sizes_picture,
        "widths": widths_picture,
        "counts": counts_picture,
        "both": both_picture,
        "losses": losses_picture,
        "bins": bins_picture,
        "checks": CHECKS,
        "roles": ROLES,
        "shapes": SHAPES,
    }
    return made


def _having(facts: Mapping[str, Any], role: str) -> list[Mapping[str, Any]]:
    return [column for column in facts["columns"] if column["role"] == role]


def number(value: object) -> str:
    """A number for people.

    Examples
    --------
    >>> number(541890), number(0.29137), number(12345.6), number("1/10"), number(None)
    ('541,890', '0.2914', '12,346', '1/10', '')
    """
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.4f}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def breakable(name: str) -> Markup:
    """A name or cell that may go on in the next line where its parts end.

    Examples
    --------
    >>> breakable("{F|<M>}"), breakable("zip_code")
    (Markup('{F|<wbr>&lt;M&gt;}'), Markup('zip_<wbr>code'))
    """
    return _markup(parted(text(name)))


def chance(fraction: str) -> float:
    """A fraction as a number.

    Examples
    --------
    >>> chance("1/10")
    0.1
    """
    return float(Fraction(fraction))


def said(parameters: Mapping[str, Any]) -> str:
    """Parameters in one line.

    Examples
    --------
    >>> said({"k": 10, "columns": {"age": "1"}})
    'k = 10, columns = (age = 1)'
    """
    return ", ".join(
        f"{name} = ({said(value)})" if isinstance(value, Mapping) else f"{name} = {value}"
        for name, value in parameters.items()
    )


def sizes_picture(id: str, classes: Mapping[str, Any]) -> Markup:
    """How many classes there are of which size."""
    rows = []
    for part in classes["histogram"]:
        label = str(part["from"]) if part["from"] == part["to"] else f"{part['from']:,}–{part['to']:,}"
        share = part["classes"] / max(classes["count"], 1)
        rows.append(Bar(label, (share,), f"{part['classes']:,} classes with {part['rows']:,} rows"))
    return _markup(Picture(id, "Classes by their size", tuple(rows)).columns())


def widths_picture(id: str, column: Mapping[str, Any], rows: int) -> Markup:
    """How wide the cells of a column are."""
    bands = [(band["width"], band["rows"]) for band in column["cells"]["bands"] if band["rows"]]
    return _markup(
        Picture(id, f"How wide cells of {column['name']} are", labelled(bands, rows), whole=True).bars()
    )


def losses_picture(losses: Sequence[Mapping[str, Any]]) -> Markup:
    """What each column lost, with what a typical cell looks like."""
    rows = []
    for column in losses:
        asked = "too coarse to be asked about" if column.get("usable") is False else ""
        note = f"typical: {column['typical']}" if column["typical"] else ""
        lost = column["loss"]
        said = "not seen in the published files" if lost is None else percent(lost)
        rows.append(Bar(column["name"], (lost or 0.0,), said, "; ".join(filter(None, [note, asked]))))
    return _markup(Picture("losses", "Information loss by column", tuple(rows), whole=True).bars())


def counts_picture(
    id: str, title: str, counts: Sequence[Mapping[str, Any]], rows: int, cells: bool = False
) -> Markup:
    """How often values occur, or cells of quasi-identifiers."""
    labels = [shown_cell(part["text"]) if cells else part["text"] for part in counts]
    pairs = [(label or "(empty)", part["rows"]) for label, part in zip(labels, counts, strict=True)]
    return _markup(Picture(id, title, labelled(pairs, rows), whole=True).bars())


def bins_picture(id: str, title: str, bins: Sequence[Mapping[str, Any]], rows: int) -> Markup:
    """How many rows have a value from where to where."""
    return _markup(Picture(id, title, labelled([(b["label"], b["rows"]) for b in bins], rows)).columns())


def both_picture(id: str, name: str, spread: Mapping[str, Any]) -> Markup:
    """A distribution before and after."""
    rows = tuple(
        Bar(
            part["label"],
            (part["before"], part["after"]),
            f"{percent(part['before'])} → {percent(part['after'])}",
        )
        for part in spread["bins"]
    )
    picture = Picture(id, f"{name} before and after", rows, ("before", "after"))
    return _markup(picture.columns() if spread["ordered"] else picture.bars())


def _markup(svg: str) -> Markup:
    """A picture escapes its texts by itself; a test tries to break out of one."""
    return Markup(svg)  # noqa: S704
