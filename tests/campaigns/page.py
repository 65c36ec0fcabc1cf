"""One page of figures about campaigns."""

from __future__ import annotations

from collections.abc import Mapping

from campaigns import every
from campaigns.campaign import Progress
from campaigns.open_faults import OPEN


def page(found: Mapping[str, Progress], date: str) -> str:
    """Markdown: a table of all campaigns, then how their cases ended, then every kind of fault."""
    lines = [
        "# Figures of the campaigns",
        "",
        f"{date}. What each campaign does: [security.md](security.md). To repeat one:",
        '`./run campaigns --only "NAME" --seed SEED`; `--scale` takes a share of the cases of a night.',
        "",
    ]
    lines += [
        "| campaign | bar | seed | cases | of a night | faults, known to be open | other faults |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, progress in found.items():
        new = sum(progress.unexplained().values())
        known = sum(progress.faults.values()) - new
        campaign = every.CAMPAIGNS[name]
        cases = f"{progress.done:,} | {campaign.nightly:,}"
        lines.append(f"| {name} | {campaign.bar} | {progress.seed} | {cases} | {known:,} | {new:,} |")
    for name, progress in found.items():
        lines += ["", f"## {name}", ""]
        lines += [f"* {end}: {count:,}" for end, count in sorted(progress.ends.items())]
        for kind, count in sorted(progress.faults.items()):
            number, what = progress.examples[kind][0]
            reason = f"open: {OPEN[kind]}" if kind in OPEN else "**not explained**"
            lines.append(
                f"* fault, {count:,} times: {kind} ({reason}); first in case {number}: `{_one_line(what)}`"
            )
    return "\n".join(lines) + "\n"


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("`", "'").replace("|", "/")[:160]
