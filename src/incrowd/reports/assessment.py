"""Paragraphs for a data protection impact assessment, filled with the facts of a private report.

They say what was done and what was measured, and end with what a person must still decide. Nothing here is
computed: every number stands in the facts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from incrowd.measures.risk_summary import were_suppressed
from incrowd.reports.svg import visible

TITLE = "For a data protection impact assessment"
PRIVATE = "Private: it says what was measured on the original table. Not to be published with the release."
MOST_NAMES = 40  # of columns; all are in the facts
ROLES = (
    ("quasi_identifier", "generalized, since others may know them"),
    ("sensitive", "sensitive, published unchanged"),
    ("keep", "kept unchanged as harmless"),
)
DECIDE = (
    "Do the roles fit what recipients, or anybody they may share with, can know about a person?",
    "Are the residual risks acceptable for these people and this purpose, given who receives the data, and "
    "under which conditions?",
    "Is the release anonymous, or still personal data, in the sense of the law that applies? No measure "
    "decides that.",
    "Have the same people been published before, or will they be again? Claims are about one release alone.",
)
_MARKDOWN = re.compile(r"([\\`*_\[\]<>#|])")


def assessment_parts(facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Titled parts, each of some sentences and a list of points: what the page and the text are made from."""
    return [
        {"title": title, "text": list(text), "points": list(points)}
        for title, text, points in (
            ("What was published", _published(facts), ()),
            ("Guarantee", _guarantee(facts), _claims(facts)),
            ("Risk of re-identification", _risk(facts), ()),
            ("Residual risk: not promised", (), _residual(facts)),
            ("Worth for analysis", _worth(facts), ()),
            ("To be decided by people", (), DECIDE),
        )
    ]


def assessment_text(facts: Mapping[str, Any]) -> str:
    """The parts as Markdown, to be copied."""
    lines = [f"# {TITLE}", "", PRIVATE, ""]
    for part in facts["assessment"]:
        lines += [f"## {part['title']}", ""]
        if part["text"]:
            lines += [" ".join(map(_escaped, part["text"])), ""]
        if part["points"]:
            lines += [*(f"- {_escaped(point)}" for point in part["points"]), ""]
    return "\n".join(lines)


def _escaped(text: str) -> str:
    r"""A text in which no sign means anything to Markdown.

    Examples
    --------
    >>> print(_escaped("a_b <1>"))
    a\_b \<1\>
    """
    return _MARKDOWN.sub(r"\\\1", visible(text))


def _published(facts: Mapping[str, Any]) -> Iterator[str]:
    made = facts["made"]
    yield f"This text is of {made['written']}. The release {facts['name']} was made from {facts['original']}"
    yield f"with {facts['tool']} (method {facts['method']['name']}, {facts['rows']['published']:,} rows)."
    if made["policy_sha256"]:
        yield f"Its policy has the SHA-256 digest {made['policy_sha256']}."
    for role, words in ROLES:
        if names := [str(column["name"]) for column in facts["columns"] if column["role"] == role]:
            more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
            yield f"Columns that are {words}: {', '.join(names[:MOST_NAMES])}{more}."
    if facts["left_out"]:
        yield f"{were_suppressed(facts['left_out'])}."


def _guarantee(facts: Mapping[str, Any]) -> Iterator[str]:
    if not facts["verdict"]["passed"]:
        yield "The release was REJECTED by the verifier: it must not be published."
        yield "What it claims does not hold:"
    else:
        yield "A verifier that shares no code with the publisher checked every claim against the original:"


def _claims(facts: Mapping[str, Any]) -> Iterator[str]:
    for claim in facts["claims"]:
        assumed = "; ".join(claim["assumptions"])
        yield f"{claim['model']}: {claim['means']} Against: {claim['adversary']}." + (
            f" Assumed: {assumed}." if assumed else ""
        )


def _risk(facts: Mapping[str, Any]) -> Sequence[str]:
    if not facts["measured"]:
        return (f"Nothing was measured: {facts['measured_why_not']}.",)
    names = facts["measured"]["risk"]["columns"]
    shown = ", ".join(names[:MOST_NAMES]) + (", …" if len(names) > MOST_NAMES else "")
    return (f"Counted for somebody who knows {shown}.", *facts["measured"]["risk"]["sentences"])


def _residual(facts: Mapping[str, Any]) -> Iterator[str]:
    yield from facts["not_promised"]
    for exposure in facts["accepted"]:
        yield f"Accepted by the publisher: {exposure['name']} ({exposure['meaning']})."
    if facts["attacks"]:
        counted = facts["attacks"]["attacks"]
        broken = [one["name"] for one in counted if one["outcome"] == "broken"]
        words = f"broken by {', '.join(broken)}" if broken else "none exceeded its bound"
        yield f"{len(counted)} known attacks were tried: {words}."
    else:
        yield f"No attack was tried: {facts['attacks_why_not']}."


def _worth(facts: Mapping[str, Any]) -> Sequence[str]:
    if not facts["measured"]:
        return ("Nothing was measured.",)
    gcp = float(facts["measured"]["loss"]["gcp"])
    bound = facts["measured"]["bound"]
    least = "" if bound["least"] is None else f"; {bound['sentence']}"
    return (*facts["measured"]["two_way"]["headline"], f"Information loss (GCP) {gcp:.3f}{least}.")
