"""Reports in a real browser: they fit wide and narrow screens, load nothing, and complain about nothing."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from commands.test_report import made

from incrowd.commands.report import report

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
for (const page of pages) for (const width of widths) {
  const frame = document.createElement("iframe");
  frame.style = `width:${width}px;height:900px;border:0`;
  frame.onload = () => {
    const inside = frame.contentDocument, root = inside.documentElement;
    inside.querySelectorAll("details").forEach(each => each.open = true);
    found.push({page, width, wide: root.scrollWidth, seen: root.clientWidth, high: root.scrollHeight,
      loaded: frame.contentWindow.performance.getEntriesByType("resource").map(each => each.name),
      pictures: inside.querySelectorAll("svg").length});
    document.getElementById("found").textContent = JSON.stringify(found);
  };
  frame.src = page;
  document.getElementById("frames").append(frame);
}
</script>"""


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium here, so pages are not looked at in a browser")
def test_pages_fit_the_screen_and_load_nothing(tmp_path: Path) -> None:
    folder, private = made("mondrian", tmp_path)
    with_attacks = {**private, "attacks": True}
    for name, asked in (("readers.html", {}), ("publisher.html", with_attacks)):
        (tmp_path / name).write_text(report(folder, **asked).html(), encoding="utf-8")
    host = tmp_path / "host.html"
    host.write_text(HOST.replace("PAGES", '["readers.html", "publisher.html"]'), encoding="utf-8")
    ran = subprocess.run(
        [str(CHROMIUM), *QUIET, f"--user-data-dir={tmp_path / 'profile'}", host.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
    )
    found = json.loads(ran.stdout.partition('<pre id="found">')[2].partition("</pre>")[0])
    assert sorted((each["page"], each["width"]) for each in found) == [
        (page, width) for page in ("publisher.html", "readers.html") for width in (400, 1280)
    ]
    for each in found:
        assert each["wide"] <= each["seen"], each
        assert each["high"] > 2000
        assert each["pictures"] >= 5
        assert each["loaded"] == []
    assert "CONSOLE" not in ran.stderr
