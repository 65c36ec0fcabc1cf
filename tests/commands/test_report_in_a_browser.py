"""Reports in a real browser: they fit wide and narrow screens, load nothing, and complain about nothing."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from commands.test_report import made, write

from incrowd.commands.report import report
from incrowd.policy import Policy
from incrowd.publishing.pipeline import publish_to
from incrowd.reports.frontier import FrontierChart, FrontierPoint

CHROMIUM = shutil.which("chromium")
QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--enable-logging=stderr"),
    *("--allow-file-access-from-files", "--virtual-time-budget=5000", "--dump-dom"),
)
HOST = """<!doctype html><title>host</title>
<div id="frames"></div><pre id="found"></pre>
<script>
const found = [], pages = PAGES, widths = [1280, 400];
const boxes = inside => [...inside.querySelectorAll("text")].map(each => each.getBoundingClientRect());
const apart = (a, b) => a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
for (const page of pages) for (const width of widths) {
  const frame = document.createElement("iframe");
  frame.style = `width:${width}px;height:900px;border:0`;
  frame.onload = () => {
    const inside = frame.contentDocument, root = inside.documentElement;
    inside.querySelectorAll("details").forEach(each => each.open = true);
    const words = page.endsWith(".svg") ? boxes(inside) : [], whole = root.getBoundingClientRect();
    const scrolls = each => each.closest(".box, svg, pre");
    found.push({page, width, wide: root.scrollWidth, seen: root.clientWidth, high: root.scrollHeight,
      loaded: frame.contentWindow.performance.getEntriesByType("resource").map(each => each.name),
      pictures: inside.querySelectorAll("svg").length,
      cut: [...inside.querySelectorAll("*")].filter(each => each.clientWidth && !scrolls(each)
        && each.scrollWidth > each.clientWidth + 1).map(each => each.outerHTML.slice(0, 80)),
      words: words.length,
      together: words.filter((a, i) => words.some((b, j) => i < j && !apart(a, b))).length,
      outside: words.filter(a => a.left < 0 || a.top < 0 || a.right > whole.right
        || a.bottom > whole.bottom).length});
    document.getElementById("found").textContent = JSON.stringify(found);
  };
  frame.src = page;
  document.getElementById("frames").append(frame);
}
</script>"""


def messy(folder: Path) -> tuple[Path, dict[str, Any]]:
    """A release with many columns, whose names and values are long and cannot be parted at blanks."""
    n, long = 60, "laboratory_measurement_in_mmol_per_litre_of_" * 2
    columns = {f"{long}{j}": [f"{'Familienstand' * 5}{i * (j + 3) % 7}" for i in range(n)] for j in range(9)}
    columns["居住地の郵便番号と町名" * 4] = ["東京都千代田区" * 9 if i % 2 else "x" for i in range(n)]
    columns |= {f"{long}sensitive_{j}": ["y" * (9 + i % 3 * 90) for i in range(n)] for j in range(10)}
    table, names = write(folder / "t.csv", columns), list(columns)
    asked = {"quasi_identifiers": names[:10], "sensitive": names[10:], "privacy": {"k": 3}}
    policy = Policy.from_dict(asked)
    written = publish_to(table, policy, folder / ("release_" * 12))
    return written.folder, {"original": table, "policy": policy}


def pictures(folder: Path) -> list[str]:
    """A picture of compare in both forms, with words that are close to each other."""
    points = tuple(
        FrontierPoint(f"method-{i % 7}", 0.1 + i / 300, 1 / (5 + i), f"method-{i % 7}, k = {5 + i}", True)
        for i in range(9)
    )
    own = FrontierPoint("mondrian-relaxed", 0.3, 0.19, "mondrian-relaxed, k = 5, l = none", own=True)
    chart = FrontierChart("Risk against information loss", "information loss (GCP)", (*points, own))
    for narrow in (False, True):
        (folder / f"narrow-{narrow}.svg").write_text(chart.svg(narrow=narrow), encoding="utf-8")
    return ["narrow-False.svg", "narrow-True.svg"]


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium here, so pages are not looked at in a browser")
def test_pages_fit_the_screen_and_load_nothing(tmp_path: Path) -> None:
    names = []
    for what, make in (("plain", lambda folder: made("mondrian", folder)), ("messy", messy)):
        (tmp_path / what).mkdir()
        folder, private = make(tmp_path / what)
        asked: tuple[dict[str, Any], ...] = ({}, {**private, "attacks": what == "plain"})
        for each in asked:
            names.append(f"{what}-{'publisher' if each else 'readers'}.html")
            (tmp_path / names[-1]).write_text(report(folder, **each).html(), encoding="utf-8")
    drawn = pictures(tmp_path)
    host = tmp_path / "host.html"
    host.write_text(HOST.replace("PAGES", json.dumps([*names, *drawn])), encoding="utf-8")
    ran = subprocess.run(
        [str(CHROMIUM), *QUIET, f"--user-data-dir={tmp_path / 'profile'}", host.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
    )
    found = json.loads(ran.stdout.partition('<pre id="found">')[2].partition("</pre>")[0])
    assert sorted((each["page"], each["width"]) for each in found) == [
        (page, width) for page in sorted([*names, *drawn]) for width in (400, 1280)
    ]
    for each in found:
        assert each["loaded"] == []
        if each["page"].endswith(".svg"):
            assert each["words"] > 20
            assert (each["together"], each["outside"]) == (0, 0), each
            continue
        assert each["wide"] <= each["seen"], each
        assert each["cut"] == [], each
        assert each["high"] > 2000
        assert each["pictures"] >= 5
    assert "CONSOLE" not in ran.stderr
