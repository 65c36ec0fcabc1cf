"""News become a part of the changelog: none is lost, and whoever must publish again reads it first."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.changelog import KINDS, MARK, entries_of, fold, folded, fragments, who_publishes_again
from support.places import ROOT

PAGE = "# Changes\n\nWords.\n\n## 0.1.0 (unreleased)\n\nThe first version.\n\n### Guarantee\n* One.\n"
WORDS = st.lists(st.sampled_from(["a change", "`k` is\ncounted", "Publish it again", "x: y."]), max_size=3)
NEWS = st.fixed_dictionaries(dict.fromkeys(KINDS, WORDS))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "src" / "incrowd").mkdir(parents=True)
    (tmp_path / "src" / "incrowd" / "__init__.py").write_text('"""It."""\n__version__ = "0.1.0"\n')
    (tmp_path / "CHANGELOG.md").write_text(PAGE)
    shutil.copytree(ROOT / "changelog.d", tmp_path / "changelog.d")
    return tmp_path


@given(first=NEWS, second=NEWS)
def test_no_news_is_lost_and_what_came_later_is_added(
    first: dict[str, list[str]], second: dict[str, list[str]]
) -> None:
    page = folded(folded(PAGE, "0.2.0", "2026-01-02", first), "0.2.0", "2026-02-03", second)
    assert page.endswith(PAGE[PAGE.index("## 0.1.0") :])
    assert page.count("## 0.2.0 (2026-02-03)") == 1
    part = page[page.index("## 0.2.0") : page.index("## 0.1.0")]
    for kind, entries in entries_of(part).items():
        said = sorted(" ".join(text[2:].removeprefix(MARK).split()) for text in entries)
        assert said == sorted(" ".join(text.split()) for text in first[kind] + second[kind])
        marks = [text.startswith(f"* {MARK}") for text in entries]
        assert marks == sorted(marks, reverse=True)


def test_the_news_of_this_tree_can_be_folded(tree: Path) -> None:
    files = [path for path in (tree / "changelog.d").iterdir() if path.name != "README.md"]
    texts = [" ".join(path.read_text(encoding="utf-8").split()) for path in files]
    texts = [text.replace("](../", "](") for text in texts]
    assert fold(tree, "0.2.0", "2026-01-02") == len(files)
    assert [path.name for path in (tree / "changelog.d").iterdir()] == ["README.md"]
    page = " ".join((tree / "CHANGELOG.md").read_text(encoding="utf-8").replace(MARK, "").split())
    assert not [link for link in re.findall(r"\]\(([^)#:]+)[^)]*\)", page) if not (ROOT / link).exists()]
    assert not [text for text in texts if text not in page]
    assert '__version__ = "0.2.0"' in (tree / "src" / "incrowd" / "__init__.py").read_text()


def test_links_lead_from_where_the_changelog_lies() -> None:
    news = {
        kind: ["[Spark](../docs/spark.md) and [others](https://e)"] if kind == "fix" else [] for kind in KINDS
    }
    assert "* [Spark](docs/spark.md) and [others](https://e)\n" in folded(PAGE, "0.2.0", "2026-01-02", news)


def test_a_file_without_a_kind_changes_nothing(tree: Path) -> None:
    (tree / "changelog.d" / "strange.md").write_text("Something.")
    with pytest.raises(ValueError, match=r"strange\.md has no kind"):
        fold(tree, "0.2.0", "2026-01-02")
    assert (tree / "CHANGELOG.md").read_text() == PAGE


@pytest.mark.parametrize("version", ["next", "0.2 .0", "v0.2.0", "0.2.0/.."])
def test_what_is_no_version_is_refused(version: str) -> None:
    with pytest.raises(ValueError, match="is no version"):
        folded(PAGE, version, "2026-01-02", {kind: [] for kind in KINDS})


def test_an_older_version_is_refused() -> None:
    later = folded(PAGE, "0.2.0", "2026-01-02", {kind: ["It."] for kind in KINDS})
    with pytest.raises(ValueError, match="not the newest"):
        folded(later, "0.1.0", "2026-01-02", {kind: [] for kind in KINDS})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "It is new. Who published with `entity` should publish again. So it is.",
            ["Who published with `entity` should publish again."],
        ),
        (
            "Releases written before may have to be\npublished again.",
            ["Releases written before may have to be published again."],
        ),
        ("Nobody must publish again.", []),
        ("Compiled code. Nothing must be published again.", []),
        ("The verifier counts them again. Something is published.", []),
    ],
)
def test_who_must_publish_again_is_told(text: str, told: list[str]) -> None:
    assert who_publishes_again(text) == told
    page = folded(PAGE, "0.2.0", "2026-01-02", {kind: [text] if kind == "fix" else [] for kind in KINDS})
    first = page[page.index("## 0.2.0") : page.index("### Fix")]
    assert [line[2:] for line in first.splitlines() if line.startswith("* ")] == told
    assert ("Nobody must publish again." in first) is (not told)


def test_every_kind_is_read() -> None:
    assert set(fragments(ROOT / "changelog.d")) == set(KINDS)
