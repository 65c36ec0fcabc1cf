"""The site: its links, and texts of the screen on its pages. `./run docs` builds it whole."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support.places import ROOT

sys.path.append(str(ROOT / "docs" / "site"))

from dead_links import dead_links
from reference_pages import in_code


def test_dead_links_of_a_built_site_are_seen(tmp_path: Path) -> None:
    (tmp_path / "part").mkdir()
    (tmp_path / "a picture.svg").write_text("<svg/>")
    (tmp_path / "there.html").write_text("<h1 id='top'>There</h1><a name='old'></a>")
    (tmp_path / "part" / "page.html").write_text(
        "<p id='here'><a href='#here'>a</a><a href='#gone'>b</a><a href='../there.html#top'>c</a>"
        "<a href='../there.html#old'>d</a><a href='../there.html#new'>e</a><a href='nobody.html'>f</a>"
        "<a href='https://elsewhere/x#y'>g</a><img src='../a%20picture.svg'><img src='../none.svg'>"
        "<a href='?q=1'>h</a>"
    )
    assert dead_links(tmp_path) == [
        "part/page.html: #gone",
        "part/page.html: ../none.svg",
        "part/page.html: ../there.html#new",
        "part/page.html: nobody.html",
    ]


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("With --k, exit code 1.", "With `--k`, exit code 1."),
        ("-k and --max-suppression", "`-k` and `--max-suppression`"),
        ("non-homogeneous, k-1 others", "non-homogeneous, k-1 others"),
        ("as `--json` prints", "as `--json` prints"),
    ],
)
def test_options_in_a_text_are_code(words: str, shown: str) -> None:
    assert in_code(words) == shown


def test_in_how_many_pieces_a_notebook_prints_is_no_change() -> None:
    pytest.importorskip("nbclient", reason="the site is not installed")
    import notebooks

    def printed(*pieces: tuple[str, str]) -> dict[str, object]:
        outputs = [{"output_type": "stream", "name": name, "text": text} for name, text in pieces]
        return {"outputs": [*outputs, {"output_type": "display_data", "data": {"text/plain": "a frame"}}]}

    whole = notebooks.texts(printed(("stdout", "a\nb\n")))
    assert notebooks.texts(printed(("stdout", "a\n"), ("stdout", "b\n"))) == whole == ["a\nb\n", "a frame"]
    assert notebooks.texts(printed(("stdout", "a\n"), ("stderr", "b\n"))) != whole
