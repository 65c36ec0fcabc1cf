"""The page docs/peers.md and its pictures, from what was measured; who is ahead is counted, too."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from peer_tools import TOOLS, Tool

from incrowd.reports.chart import Chart, ChartLine, RateChart

Result = dict[str, Any]
NOT_MEASURED = "–"
LIKE = {  # ours that recodes as a peer does
    ("anonypy", "mondrian"): "incrowd `mondrian`",
    ("anjana", "levels"): "incrowd `incognito`",
    ("arx", "full"): "incrowd `incognito`",
    ("arx", "local"): "incrowd `cells`, hierarchies",
}
PURE_PYTHON = ("anonypy", "anjana")
GOAL = 10  # times the CPU of a peer in pure Python

HEAD = Path(__file__).with_name("peers_head.md").read_text(encoding="utf-8")


def write_page(results: Sequence[Result], docs: Path) -> None:
    """The page, and a picture of loss and of time."""
    pictures = [*_loss_pictures(results), *_time_pictures(results)]
    for name, chart in pictures:
        (docs / "pictures" / name).write_text(chart.svg(), encoding="utf-8")
    (docs / "peers.md").write_text(page(results, [name for name, _ in pictures]), encoding="utf-8")


def page(results: Sequence[Result], pictures: Sequence[str] = ()) -> str:
    """All of the text."""
    ran = [result for result in results if result["how"] in ("done", "limit")]
    loads = [result["load"] for result in ran]
    parts = [
        HEAD.format(
            date=_dates(ran),
            machine=machine(),
            versions=", ".join(sorted({result["version"] for result in ran})),
            load=f"{min(loads):g} to {max(loads):g}" if loads else NOT_MEASURED,
            empty="`blank`",
        ),
        "## Who is ahead\n\n" + "\n".join(f"* {sentence}" for sentence in verdicts(results)) + "\n",
        *(f"![{_about(name)}](pictures/{name})\n" for name in pictures),
    ]
    for table in dict.fromkeys(result["table"] for result in results):
        parts.append(f"## {table}\n")
        for k in sorted({result["k"] for result in results if result["table"] == table}):
            parts.append(_table([one for one in results if (one["table"], one["k"]) == (table, k)], k))
    skipped = sorted({f"{one['tool']}: {one['why']}" for one in results if one["how"] == "skipped"})
    skipped += not_measured(results)
    if skipped:
        parts.append("## Not run\n\n" + "\n".join(f"* {reason}." for reason in skipped) + "\n")
    return "\n".join(parts)


def not_measured(results: Sequence[Result]) -> list[str]:
    """What nobody has tried yet, by tool and table."""
    known = {(one["tool"], one["table"], one["k"]) for one in results}
    tables, ks = (list(dict.fromkeys(one[key] for one in results)) for key in ("table", "k"))
    found = []
    for tool in TOOLS:
        for table in tables:
            missing = [k for k in sorted(ks) if (tool.name, table, k) not in known]
            if missing:
                found.append(f"{tool.name}: not measured on {table}, k = {', '.join(map(str, missing))}")
    return found


def _about(picture: str) -> str:
    return "Information loss over k" if "loss" in picture else "CPU seconds over rows"


def _dates(results: Iterable[Result]) -> str:
    found = sorted({result["date"] for result in results})
    return " to ".join(dict.fromkeys((found[0], found[-1]))) if found else NOT_MEASURED


def machine() -> str:
    """Processors, memory and Python; no name of a host."""
    model = platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
        model = next(
            (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), model
        )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    python = platform.python_version()
    return f"{os.cpu_count()} processors ({model}), {memory:.0f} GB of memory, Python {python}"


def _table(results: Sequence[Result], k: int) -> str:
    lines = [
        f"### k = {k}\n",
        "| tool | CPU s | peak MB | GCP | discernibility | rows lost | counts, 1 column | 2 columns | k |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    known = {result["tool"]: result for result in results}
    for trees in (False, True):
        lines += [
            _line(tool, known[tool.name]) for tool in TOOLS if tool.trees == trees and tool.name in known
        ]
    return "\n".join(line for line in lines if line) + "\n"


def _line(tool: Tool, result: Result) -> str:
    if result["how"] == "skipped":
        return ""
    if result["how"] == "failed":
        return f"| {tool.shown} |{f' {NOT_MEASURED} |' * 7} {result['why']} |"
    if result["how"] == "limit":
        more = f"more than {result['limit']}"
        return f"| {tool.shown} | {more} | {_memory(result)} |{f' {NOT_MEASURED} |' * 6}"
    cells = (
        f"{result['seconds']:.1f}",
        _memory(result),
        f"{result['gcp']:.4f}",
        f"{result['discernibility']:,.1f}" if tool.classes else NOT_MEASURED,
        f"{result['lost']:,}",
        f"{result['one_way']:.1%}",
        f"{result['two_way']:.1%}",
        _counted(tool, result),
    )
    return f"| {tool.shown} | {' | '.join(cells)} |"


def _memory(result: Result) -> str:
    """The peak, if the run had one of its own: earlier ones began with that of the program above them."""
    return NOT_MEASURED if result["megabytes"] is None else f"{result['megabytes']:,}"


def _counted(tool: Tool, result: Result) -> str:
    """What was counted, and whether it is what was asked for."""
    if not tool.classes:
        return "verified"
    if result["smallest"] != result["pycanon"]:
        return f"**{result['smallest']}, by pycanon {result['pycanon']}**"
    kept = result["smallest"] >= result["k"]
    return str(result["smallest"]) if kept else f"**{result['smallest']}: not k-anonymous**"


# Who is ahead


def verdicts(results: Sequence[Result]) -> list[str]:
    """Against every peer: information loss at equal k, then CPU."""
    kinds = {tool.name: tool for tool in TOOLS}
    found = []
    for name in dict.fromkeys(result["tool"] for result in results if not kinds[result["tool"]].ours):
        theirs = [
            result for result in results if result["tool"] == name and result["how"] in ("done", "limit")
        ]
        if theirs:
            found.append(_loss_verdict(kinds, name, theirs, results))
            found.append(_like_verdict(kinds[name], theirs, results))
            found.append(_time_verdict(kinds[name], theirs, results))
            found.append(_behind_verdict(kinds[name], theirs, results))
    return found or ["No peer was measured."]


def _places(several: Sequence[Result]) -> str:
    """Tables, each with its k."""
    known: dict[str, list[str]] = {}
    for one in several:
        known.setdefault(one["table"], []).append(str(one["k"]))
    return "; ".join(f"{table} (k = {', '.join(ks)})" for table, ks in known.items())


def _loss_verdict(
    kinds: dict[str, Tool], name: str, theirs: Sequence[Result], results: Sequence[Result]
) -> str:
    compared, behind = 0, list[Result]()
    for peer in theirs:
        ours = [
            one
            for one in results
            if kinds[one["tool"]].ours
            and kinds[one["tool"]].trees == kinds[name].trees
            and one["how"] == "done"
            and (one["table"], one["k"]) == (peer["table"], peer["k"])
        ]
        if peer["how"] == "done" and ours:
            compared += 1
            best = min(ours, key=lambda one: one["gcp"])
            behind += [] if best["gcp"] < peer["gcp"] else [peer]
    if not compared:
        return f"Information loss beside {name}: not compared, it did not finish."
    what = f"our best is ahead on {compared - len(behind)} of {compared} tables and k that were compared"
    more = f"; **not on {_places(behind)}**." if behind else "."
    return f"Information loss (GCP) beside {name}: {what}{more}"


def _pairs(tool: Tool, theirs: Sequence[Result], results: Sequence[Result]) -> list[tuple[Result, Result]]:
    """Runs of a peer, each with ours of the same kind of recoding."""
    ours = LIKE[tool.tool, tool.method]
    known = {(one["table"], one["k"]): one for one in results if one["tool"] == ours and one["how"] == "done"}
    return [(peer, known[peer["table"], peer["k"]]) for peer in theirs if (peer["table"], peer["k"]) in known]


def _like_verdict(tool: Tool, theirs: Sequence[Result], results: Sequence[Result]) -> str:
    """Beside the method of ours that recodes as the peer does."""
    said: dict[str, list[Result]] = {"less": [], "as much": [], "**more**": []}
    for peer, one in _pairs(tool, theirs, results):
        if peer["how"] == "done":
            ours, other = round(one["gcp"], 4), round(peer["gcp"], 4)
            word = "less" if ours < other else "as much" if ours == other else "**more**"
            said[word].append(peer)
    parts = [f"{word} on {_places(where)}" for word, where in said.items() if where]
    lost = "; ".join(parts) or "nothing that could be compared"
    return f"{LIKE[tool.tool, tool.method]}, which recodes as it does, loses {lost}."


def _time_verdict(tool: Tool, theirs: Sequence[Result], results: Sequence[Result]) -> str:
    ours, pairs = LIKE[tool.tool, tool.method], _pairs(tool, theirs, results)
    if not pairs:
        return f"CPU beside {tool.name}: not compared."
    ratios = [(peer["seconds"] / one["seconds"], peer) for peer, one in pairs]
    low, high = min(ratios, key=lambda pair: pair[0]), max(ratios, key=lambda pair: pair[0])
    more = ", where it was stopped" if high[1]["how"] == "limit" else ""
    said = (
        f"CPU of {tool.name}: {low[0]:.1f} times that of {ours} ({low[1]['table']}, k = {low[1]['k']}) to "
        f"{high[0]:.0f} times ({high[1]['table']}, k = {high[1]['k']}{more})"
    )
    if tool.tool not in PURE_PYTHON:
        return said + "."
    for how, word in (("done", "less than"), ("limit", "stopped before")):
        missed = [peer for ratio, peer in ratios if ratio < GOAL and peer["how"] == how]
        said += f"; **{word} {GOAL} times on {_places(missed)}**" if missed else ""
    return said + "."


# As many digits as the tables show: nobody is ahead by what is not shown.
BEHIND = {
    "suppresses more rows": ("lost", 0),
    "has a larger discernibility": ("discernibility", 1),
    "has a larger error of 1-column counts": ("one_way", 3),
    "has a larger error of 2-column counts": ("two_way", 3),
    "takes more memory": ("megabytes", 0),
}


def _behind_verdict(tool: Tool, theirs: Sequence[Result], results: Sequence[Result]) -> str:
    """In what else ours of the same recoding is worse."""
    pairs = [(peer, one) for peer, one in _pairs(tool, theirs, results) if peer["how"] == "done"]
    ours, parts = LIKE[tool.tool, tool.method], []
    for words, (key, digits) in BEHIND.items():
        known = [(peer, one) for peer, one in pairs if None not in (peer[key], one[key])]
        worse = [peer for peer, one in known if round(one[key], digits) > round(peer[key], digits)]
        if worse:
            parts.append(f"{words} {'everywhere' if len(worse) == len(known) else f'on {_places(worse)}'}")
    if not pairs:
        return f"What else is worse than with {tool.name}: not compared."
    return (
        f"Where {ours} is behind: it {'; '.join(parts)}." if parts else f"{ours} is behind in nothing else."
    )


# Pictures


def _loss_pictures(results: Sequence[Result]) -> list[tuple[str, Chart]]:
    """Of the first table: loss over k."""
    table = results[0]["table"] if results else ""
    lines = []
    for look, tool in enumerate(TOOLS):
        points = [
            (float(one["k"]), one["gcp"])
            for one in results
            if (one["tool"], one["table"], one["how"]) == (tool.name, table, "done")
        ]
        if points:
            lines.append(ChartLine(tool.name.replace("`", ""), tuple(sorted(points)), look, tool.ours))
    title = f"Information loss on {table}"
    return [("peers-loss.svg", Chart(title, "k", "GCP", tuple(lines)))] if lines else []


def _time_pictures(results: Sequence[Result]) -> list[tuple[str, Chart]]:
    """CPU over rows, for the k that most was measured with."""
    done = [one for one in results if one["how"] == "done"]
    ks = [one["k"] for one in done]
    k = max(set(ks), key=ks.count, default=0)
    lines = []
    for look, tool in enumerate(TOOLS):
        same = [one for one in done if (one["tool"], one["k"]) == (tool.name, k)]
        points = [(one["n"] / 1000, one["seconds"]) for one in same]
        if points:
            lines.append(ChartLine(tool.name.replace("`", ""), tuple(sorted(points)), look, tool.ours))
    if not lines:
        return []
    return [
        ("peers-time.svg", RateChart(f"CPU seconds, k = {k}", "thousand rows", "CPU s", tuple(lines), 1.0))
    ]
