"""Every command that prints a table, in narrow terminals, on a table with long and strange names."""

from __future__ import annotations

import random
import re
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from support.commands import incrowd
from support.night import combined

from incrowd.cli.layout import MARK, abbreviated, laid_out

WIDTHS = (80, 60)
LONG = {
    "age_at_first_admission_in_years": "age",
    "place_of_residence_municipality_code": "place",
    "Familienstand laut Melderegister": "status",
    "居住地の郵便番号と町名": "post",
}
SENSITIVE = "main_diagnosis_at_discharge_icd10_chapter"
VALUES = {
    "Familienstand laut Melderegister": [
        "ledig",
        "verheiratet oder in eingetragener Partnerschaft",
        "geschieden",
    ],
    "居住地の郵便番号と町名": ["東京都千代田区", "大阪府大阪市", "x"],
    SENSITIVE: ["Diseases of the circulatory system (I00-I99)", "Neoplasms", "Injury, poisoning"],
}
EXEMPT = re.compile("(^| )incrowd [a-z]+ |/")  # what can be pasted, and paths, stay whole


@pytest.fixture(scope="module")
def messy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table, its policy and releases. Nobody may change them."""
    folder = tmp_path_factory.mktemp("messy")
    draw = random.Random(5)
    others = [f"laboratory_measurement_number_{i:02}_mmol_per_litre" for i in range(8)]
    lines = [",".join(["id_of_the_person", *LONG, *others, SENSITIVE])]
    for i in range(240):
        age, kind = draw.randrange(20, 80), draw.randrange(3)
        cells = [VALUES[name][kind if name == SENSITIVE else draw.randrange(3)] for name in [*LONG][2:]]
        ill = VALUES[SENSITIVE][(age > 50) + draw.randrange(2)]
        lab = [str(draw.randrange(100)) for _ in others]
        lines.append(
            ",".join(
                f'"{cell}"' for cell in (f"p{i}", str(age), f"0{draw.randrange(9):04}", *cells, *lab, ill)
            )
        )
    (folder / "t.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    quoted = ", ".join(f'"{name}"' for name in LONG)
    (folder / "p.toml").write_text(
        f'identifiers = ["id_of_the_person"]\nquasi_identifiers = [{quoted}]\n'
        f'sensitive = ["{SENSITIVE}"]\ndrop = [{", ".join(map(repr, others))}]\ntotals = true\n'
        "[privacy]\nk = 5\n",
        encoding="utf-8",
    )
    (folder / "w.toml").write_text(
        "[[query]]\nsql = '''SELECT COUNT(*) WHERE \"age_at_first_admission_in_years\" < 40'''\n",
        encoding="utf-8",
    )
    assert incrowd("publish", folder / "t.csv", "-p", folder / "p.toml", "-o", folder / "r").code == 0
    return folder


COMMANDS = {
    "inspect": "inspect t.csv",
    "costs": "inspect t.csv -p p.toml --costs",
    "publish": "publish t.csv -p p.toml -o out",
    "ring": "publish t.csv -p p.toml --method ring -o out",
    "verify": "verify r --original t.csv -p p.toml",
    "measure": "measure r --original t.csv --workload w.toml",
    "compare": "compare t.csv -p p.toml --methods mondrian,ring,mondrian-relaxed --k 5,10 --no-cache",
    "attack": "attack r --original t.csv",
    "audit": "audit t.csv r -p p.toml --k 5",
    "query": f"query r 'SELECT COUNT(*) WHERE age_at_first_admission_in_years < 43 GROUP BY {SENSITIVE}'",
    "groups": "query r 'SELECT AVG(age_at_first_admission_in_years) GROUP BY \"居住地の郵便番号と町名\"'",
    "outliers": "outliers t.csv -p p.toml",
    "methods": "methods",
    "learn": f"learn r --original t.csv --target age_at_first_admission_in_years,{SENSITIVE}",
    "report": "report r -o page.html",
}
NEEDED = {"attack": "outcome", "inspect": "role", "compare": "gcp", "learn": "release", "verify": "passed"}
NAMED = {  # the columns that must be recognized in what is shown
    "inspect": [*LONG, SENSITIVE],
    "costs": [*LONG],
    "measure": [*LONG],
    "outliers": [*LONG],
    "learn": ["age_at_first_admission_in_years", SENSITIVE],
    "query": [SENSITIVE],
    "groups": ["居住地の郵便番号と町名"],
}


WHOLE: dict[str, list[str]] = {}  # what a command says where there is room for everything


@pytest.mark.parametrize(("name", "width"), combined(COMMANDS, WIDTHS))
def test_no_table_is_broken(
    messy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, width: int
) -> None:
    monkeypatch.chdir(shutil.copytree(messy, tmp_path / "messy"))
    if name not in WHOLE:
        WHOLE[name] = _shown(name, 4000, monkeypatch)
    whole = WHOLE[name]
    shown = _shown(name, width, monkeypatch)
    long = [line for line in shown if cell_len(line) > width and not EXEMPT.search(line)]
    assert not long
    words = {word for line in whole for word in line.split()}
    cells = "\n".join(shown)
    lacking = re.sub(r"no room here for:[^;]*;\s+--json\s+has\s+all", "", cells)
    strange = [word for word in lacking.split() if not _part_of(word, words)]
    assert not strange
    assert NEEDED.get(name, "") in "\n".join(line for line in shown if "no room" not in line)
    for column in NAMED.get(name, []):
        assert any(_recognized(column, line) for line in shown), column


def _shown(name: str, width: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(width))
    for made in (Path("out"), Path("out.audit"), Path("page.html")):
        shutil.rmtree(made) if made.is_dir() else made.unlink(missing_ok=True)
    ran = incrowd(*shlex.split(COMMANDS[name]))
    assert ran.code in (0, 1, 3), ran.err
    assert ran.out
    return ran.out.splitlines()


def _part_of(word: str, words: set[str]) -> bool:
    """A word as it was, a rule, a number that another run may have, or one with … in its place."""
    if word in words or set(word) <= {"─"} or not re.search(r"[^\W\d]", word):
        return True
    head, mark, tail = word.partition(MARK)
    if mark:
        return any(one.startswith(head) and one.endswith(tail) for one in words)
    ends = "_-./"  # a name may be folded after these
    return any(word in one and (word[-1] in ends or one.endswith(word)) for one in words)


def _recognized(column: str, line: str) -> bool:
    """The whole name, or its first and last letters around …."""
    found = [word.partition(MARK) for word in line.split() if MARK in word]
    return (
        column.split()[0] in line
        or any(column.startswith(head) and column.endswith(tail) and len(head) > 2 for head, _, tail in found)
        or any(word.endswith("_") and column.startswith(word) for word in line.split())
    )


# The layout itself

TEXTS = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "Zs", "So")), max_size=30)


@given(
    st.integers(1, 5).flatmap(
        lambda size: st.tuples(
            st.lists(TEXTS, min_size=size, max_size=size),
            st.lists(st.lists(TEXTS, min_size=size, max_size=size), max_size=4),
        )
    ),
    st.integers(30, 90),
)
def test_no_line_is_wider_than_the_room(table: tuple[list[str], list[list[str]]], width: int) -> None:
    header, rows = table
    head, body, gone = laid_out(header, rows, width)
    assert len(gone) < len(header)
    assert all(cell_len(line) <= width or not re.search(r"[^\W\d]", line) for line in (*head, *body))


@given(TEXTS.filter(bool), st.integers(3, 20))
def test_what_is_abbreviated_keeps_both_ends(word: str, width: int) -> None:
    short = abbreviated(word, width)
    assert cell_len(short) <= width
    if short != word:
        head, _, tail = short.partition(MARK)
        assert word.startswith(head)
        assert word.endswith(tail)


def test_names_that_would_look_alike_are_folded_instead() -> None:
    names = [f"laboratory_measurement_{i}_mmol_per_litre" for i in range(3)]
    _, body, _ = laid_out(["column", "kind"], [[name, "numeric"] for name in names], 20)
    assert [line for line in body if "mmol" in line] == [f"{i}_mmol_per_" for i in range(3)]


def test_long_names_give_way_before_other_words_break() -> None:
    names = ["glimepiride-pioglitazone", "discharge_disposition_id", "age"]
    rows = [[name, "categorical", "101,766", "49,949", "101,766", "quasi-identifier"] for name in names]
    header = ["column", "kind", "distinct", "missing", "once", "suggested role"]
    head, body, gone = laid_out(header, rows, 76)
    assert not gone
    assert sum("quasi-identifier" in line and "categorical" in line for line in body) == len(names)
    assert "suggested role" in head[0]


def test_the_least_needed_columns_go_first_and_are_named() -> None:
    header = ["method", "k", "seconds", "loss"]
    rows = [["mondrian", "10", "1,234,567.89", "0.12345678"]]
    _, body, gone = laid_out(header, rows, 24, least=["seconds"])
    assert gone == ["seconds"]
    assert body == ["mondrian   10   0.12345678"] or len(body[0]) <= 24


def test_numbers_are_never_cut() -> None:
    numbers: Sequence[str] = ["123456789012345", "98765432109876"]
    _, body, gone = laid_out(["name", "a", "b"], [["x", *numbers]], 22)
    assert gone == ["b"]
    assert numbers[0] in body[0]
