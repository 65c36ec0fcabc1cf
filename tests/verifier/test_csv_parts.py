"""Cutting CSV into cells all at once, against the csv module, on every short text there is."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incrowd.errors import TableError
from incrowd.verifier import cell_coder, csv_file
from incrowd.verifier import columns as columns_module
from incrowd.verifier.cell_coder import CellCoder
from incrowd.verifier.columns import Numbering, numbers_of
from incrowd.verifier.csv_file import CsvGrid, CsvRows, _last_line_end, csv_text
from incrowd.verifier.failure import CheckFailed


def every_text(signs: bytes, longest: int) -> list[bytes]:
    return [bytes(some) for n in range(1, longest + 1) for some in itertools.product(signs, repeat=n)]


def naive_last_line_end(text: bytes) -> int:
    open_, end = False, 0
    for at, sign in enumerate(text):
        open_ ^= sign == ord('"')
        if sign == ord("\n") and not open_:
            end = at + 1
    return end


def test_the_last_line_ends_outside_quotes() -> None:
    for text in every_text(b'a"\n', 7):
        assert _last_line_end(text) == naive_last_line_end(text), text


def texts_of(grid: CsvGrid, width: int) -> list[list[str]]:
    numbers = [Numbering() for _ in range(width)]
    codes = [grid.codes(j, CellCoder(own)) for j, own in enumerate(numbers)]
    known = [list(own) for own in numbers]
    return [[known[j][codes[j][i]] for j in range(width)] for i in range(len(codes[0]))]


@pytest.mark.parametrize("width", [1, 2])
def test_a_grid_has_the_cells_of_the_csv_module(width: int) -> None:
    """Or is none. Without quotes it is one if and only if all lines have so many cells."""
    cut = 0
    for text in every_text(b'a,"\n', 6):
        if not text.endswith(b"\n"):
            continue
        grid = CsvGrid.of(text, ",", width)
        lines = text.decode()[:-1].split("\n")
        if b'"' not in text:
            assert (grid is not None) == all(line.count(",") == width - 1 for line in lines), text
        if grid is None:
            continue
        cut += 1
        rows = list(csv.reader(io.StringIO(text.decode(), newline=""), strict=True))
        assert texts_of(grid, width) == [row or [""] for row in rows], text
        quoted = np.stack([grid.quoted(j) for j in range(width)], axis=1)
        cells = text.count(b'"') // 2
        assert quoted.sum() == cells, text
    assert cut > 50


@pytest.mark.parametrize(
    "text", [b"x", b'"a"', b'"a"\n"b"', b'"a"\n"b"c\n', b'a"b"\n', b'"a\n', b'"a"b\n"c"\n', b'a\n"b" \n']
)
def test_text_that_does_not_end_a_cell_where_it_should_is_no_grid(text: bytes) -> None:
    assert CsvGrid.of(text, ",", 1) is None


def with_slots(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """No more slots than these, whatever is met."""
    monkeypatch.setattr(cell_coder, "FIRST_BITS", bits)
    monkeypatch.setattr(cell_coder, "MOST_BITS", bits)


@pytest.mark.parametrize("bits", [1, 16])
def test_short_and_long_cells_get_the_numbers_of_their_texts(
    bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where two cells want one slot; some are eight bytes long, and some are longer."""
    with_slots(bits, monkeypatch)
    cells = [
        "",
        "a",
        "b",
        "1234567",
        "12345678",
        "123456789",
        "12345678x",
        *("x" * length for length in (16, 17, 32, 33, 64, 65, 128, 129)),
        *("x" * length + "y" for length in (15, 16, 31, 32, 63, 64, 127, 128)),
        "é" * 4,
        "é" * 5,
        "a",
        "",
        "b",
    ] * 3
    numbers, coder = Numbering(), None
    grid = CsvGrid.of("".join(f"{cell}\n" for cell in cells).encode(), ",", 1)
    assert grid is not None
    coder = CellCoder(numbers)
    found = [list(numbers)[code] for code in grid.codes(0, coder)]
    assert found == cells
    assert grid.codes(0, coder).tolist() == [numbers[cell] for cell in cells]
    assert not coder.quoted.any()


@pytest.mark.parametrize("bits", [0, 1, 16])
@pytest.mark.parametrize("same", ["", "12345678", "x" * 16, "x" * 32])
def test_any_number_of_cells_that_begin_alike_are_told_apart(
    same: str, bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table of what is known begins with room for 63 and is doubled; with few slots it knows few."""
    with_slots(bits, monkeypatch)
    for count in (62, 63, 64, 65, 126, 127, 128, 129):
        cells = [f"{same}{place:03}" for place in range(count)]
        grid = CsvGrid.of("".join(f"{cell}\n" for cell in cells).encode(), ",", 1)
        assert grid is not None
        numbers = Numbering()
        coder = CellCoder(numbers)
        for _ in range(2):
            codes = grid.codes(0, coder)
            assert [list(numbers)[code] for code in codes] == cells
        assert len(numbers) == count


def grid_of(cells: Sequence[str]) -> CsvGrid:
    grid = CsvGrid.of("".join(f"{cell}\n" for cell in cells).encode(), ",", 1)
    assert grid is not None
    return grid


def _asked(
    asked: list[bytes], look_up: Callable[[Sequence[bytes]], list[int]], some: Sequence[bytes]
) -> list[int]:
    asked.extend(some)
    return look_up(some)


@pytest.mark.parametrize("bits", [4, 12])
@pytest.mark.parametrize("length", [4, 12, 20])
def test_cells_that_were_met_are_not_looked_up_again(
    length: int, bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slots become more with what is known, and hardly any of these finds both of its own taken."""
    monkeypatch.setattr(cell_coder, "FIRST_BITS", bits)
    for pieces in (1, 40):
        cells = [str(number).zfill(length) for number in range(2000)]
        coder, numbers = CellCoder(met := Numbering()), []
        for first in range(0, 2000, 2000 // pieces):
            lines = "\n".join(cells[first : first + 2000 // pieces]) + "\n"
            grid = CsvGrid.of(lines.encode(), ",", 1)
            assert grid is not None
            numbers += grid.codes(0, coder).tolist()
        assert numbers == [met[cell] for cell in cells]
        asked: list[bytes] = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(coder.cells, "of_all", partial(_asked, asked, coder.cells.of_all))
            found = grid_of(cells).codes(0, coder).tolist()
        assert found == numbers
        assert len(asked) < 100


@pytest.mark.parametrize("longest", [1, 2, 3])
def test_cells_of_a_few_bytes_are_numbered_piece_by_piece(longest: int) -> None:
    """Each piece has some that were met, the very first among them, and a new one; é has two bytes."""
    coder, met, asked = CellCoder(numbers := Numbering()), list[str](), list[bytes]()
    for new in ("", "a", "b9", "7", "é", "0", "ab", "ba", "xyz", "é1"):
        if len(new.encode()) <= longest:
            met.append(new)
        codes = grid_of([*met, "1"] if met[1:] else ["1", *met]).codes(0, coder)
        texts = list(numbers)
        assert [texts[code] for code in codes] == ([*met, "1"] if met[1:] else ["1", *met])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coder.cells, "of_all", partial(_asked, asked, coder.cells.of_all))
        grid_of([*met, "1"]).codes(0, coder)
    assert not asked


def test_cells_that_need_quotes_are_known() -> None:
    grid = CsvGrid.of(b'a,"b,c"\n"d",e\n"f\ng",h\n', ",", 2)
    assert grid is not None
    numbers = Numbering()
    coder = CellCoder(numbers)
    grid.codes(0, coder)
    grid.codes(1, coder)
    assert {text: bool(coder.quoted[number]) for text, number in numbers.items()} == {
        **{"a": False, "d": False, "f\ng": True, "b,c": True},
        **{"e": False, "h": False},
    }


def written(path: Path, content: bytes, canonical: bool = False) -> CsvRows:
    path.write_bytes(content)
    return CsvRows(path, ",", canonical)


@pytest.mark.parametrize("lines", [0, 1, 3])
@pytest.mark.parametrize("at_once", [1, 2, 3, 5, 2**19])
def test_files_are_read_in_pieces_of_any_size(
    at_once: int, lines: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And pieces are cut some lines at a time."""
    monkeypatch.setattr(csv_file, "BYTES_AT_ONCE", at_once)
    monkeypatch.setattr(csv_file, "LINES_AT_ONCE", lines)
    monkeypatch.setattr(csv_file, "BYTES_TO_CUT", at_once)
    content = b'a,"b\nb"\n1,2\n"3\n\n3",4\n,\n"x""y",z\n5,6'
    for mark in (b"", "\ufeff".encode()):
        rows = written(tmp_path / "t.csv", mark + content)
        assert list(rows.names) == ["a", "b\nb"]
        assert list(rows) == [["1", "2"], ["3\n\n3", "4"], ["", ""], ['x"y', "z"], ["5", "6"]]
        columns = [Numbering(), Numbering()]
        codes = numbers_of(rows, list(enumerate(columns)), "t")
        assert [[list(own)[c] for c in code] for own, code in zip(columns, codes, strict=True)] == [
            ["1", "3\n\n3", "", 'x"y', "5"],
            ["2", "4", "", "z", "6"],
        ]


@pytest.mark.parametrize(
    "content",
    [
        b'a,b\n"1",2\n',
        b"a,b\n1,2",
        b"a\n1",
        b"a,b\r\n1,2\r\n",
        b"a,b\n1,2\n\n",
        b'a,b\n1,"2"\n',
        b'a,b\n"x""y","z"\n',
        b"a\n\nx\n",
        b"a\nx\n\n",
        b'a\n\n"x,"\n',
    ],
)
def test_what_is_not_written_in_its_one_form_is_refused(content: bytes, tmp_path: Path) -> None:
    rows = written(tmp_path / "t.csv", content, canonical=True)
    with pytest.raises((CheckFailed, TableError)):
        list(rows)
    with pytest.raises((CheckFailed, TableError)):
        numbers_of(rows, [(at, Numbering()) for at in range(len(rows.names))], "t")
    assert list(written(tmp_path / "t.csv", content))


@pytest.mark.parametrize("content", [b'a,b\n"1,",2\n', b'a,b\n1,2\n"x""y",z\n', b'a\n""\n', b'a\n""\n"b,"\n'])
def test_what_is_written_in_its_one_form_is_read(content: bytes, tmp_path: Path) -> None:
    rows = written(tmp_path / "t.csv", content, canonical=True)
    names, found = list(rows.names), list(rows)
    assert csv_text([names], header=True) + csv_text(found) == content
    assert len(numbers_of(rows, [(0, Numbering())], "t")[0]) == len(found)


def test_a_mark_is_refused_where_the_form_is_fixed(tmp_path: Path) -> None:
    rows = written(tmp_path / "t.csv", "\ufeffa,b\n1,2\n".encode(), canonical=True)
    assert rows.names[0] == "\ufeffa"


@settings(deadline=None)
@given(
    pieces=st.lists(
        st.lists(st.text("ab\u00e9", max_size=30), min_size=1, max_size=30), min_size=1, max_size=4
    ),
    bits=st.integers(0, 6),
    most=st.integers(0, 8),
)
def test_cells_have_the_numbers_that_a_dictionary_gives_them(
    pieces: list[list[str]], bits: int, most: int
) -> None:
    """Of any length, with slots that are too few, enough, or become more."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cell_coder, "FIRST_BITS", bits)
        patch.setattr(cell_coder, "MOST_BITS", max(bits, most))
        coder = CellCoder(met := Numbering())
        for cells in pieces:
            codes = grid_of(cells).codes(0, coder).tolist()
            assert codes == [met[cell] for cell in cells]
    assert len(met) == len({cell for cells in pieces for cell in cells})


@settings(deadline=None)
@given(
    rows=st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=1, max_size=40),
    large=st.booleans(),
    collide=st.booleans(),
)
def test_combinations_have_one_number_each(rows: list[list[int]], large: bool, collide: bool) -> None:
    """Also of columns whose sizes have a product beyond 64 bits, and where all are mixed alike."""
    columns = [np.array(column, np.int32) for column in zip(*rows, strict=True)]
    with pytest.MonkeyPatch.context() as patch:
        if collide:
            patch.setattr(columns_module, "SPREAD", np.uint64(0))
        found = columns_module.combined(columns, [2**20 if large else 4] * 4).tolist()
    distinct = {tuple(row) for row in rows}
    assert sorted(set(found)) == list(range(len(distinct)))
    assert len({(number, tuple(row)) for number, row in zip(found, rows, strict=True)}) == len(distinct)


@settings(deadline=None)
@given(
    pieces=st.lists(
        st.lists(st.text("ab", min_size=3, max_size=30), min_size=1, max_size=9), min_size=1, max_size=6
    ),
    ways=st.integers(1, 3),
)
def test_cells_that_are_mixed_alike_are_told_apart(pieces: list[list[str]], ways: int) -> None:
    """In one piece and in different ones, of one word and of several."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cell_coder, "mixed", lambda words: words[:, -1] % np.uint64(ways))
        coder = CellCoder(met := Numbering())
        for cells in [pieces[0][:1], *pieces]:
            assert grid_of(cells).codes(0, coder).tolist() == [met[cell] for cell in cells]


def test_long_cells_of_one_word_in_common_are_told_apart_in_their_slot(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first is in the slot that all want; some of the others are equal to it, some are not."""
    monkeypatch.setattr(cell_coder, "mixed", lambda words: np.zeros(len(words), np.uint64))
    coder = CellCoder(met := Numbering())
    for cells in (["x" * 16], ["x" * 16, "x" * 15, "y" * 16, "x" * 8 + "y" * 8]):
        assert grid_of(cells).codes(0, coder).tolist() == [met[cell] for cell in cells]


@pytest.mark.parametrize("at_once", [9, 40, 60, 2**19])
def test_lines_that_are_cut_apart_have_the_cells_that_they_had(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short and long ones, in quotes and not, a few lines at a time."""
    monkeypatch.setattr(csv_file, "BYTES_TO_CUT", at_once)
    cells = ["x" * 40, "a", "", "b,c", "y" * 9, "d", "z" * 17 + ",", "1", "22", "2" * 8, "3" * 30]
    rows = [[cell, "x", cells[-place]] for place, cell in enumerate(cells)]
    grid = CsvGrid.of(csv_text(rows), ",", 3)
    assert grid is not None
    assert texts_of(grid, 3) == rows
    some = CsvGrid.of(csv_text(rows), ",", 3, [2, 0])
    assert some is not None
    for place in (0, 2):
        coder = CellCoder(met := Numbering())
        codes = some.codes(place, coder)
        assert [list(met)[code] for code in codes] == [row[place] for row in rows]
        assert some.quoted_as_needed(place, coder, codes)
        assert some.longest(place) == 40


@pytest.mark.parametrize("at_once", [8, 2**19])
@pytest.mark.parametrize(
    "content", [b'a,b\n"1,",2\n"3",4\n', b'a,b\n1,2\n"1,",2\n3,"4"\n', b'a\nx\n"y,"\n"z"\n']
)
def test_quotes_that_some_cells_need_do_not_excuse_others(
    content: bytes, at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_file, "BYTES_TO_CUT", at_once)
    rows = written(tmp_path / "t.csv", content, canonical=True)
    with pytest.raises(CheckFailed):
        numbers_of(rows, [(at, Numbering()) for at in range(len(rows.names))], "t")


def test_lines_as_long_as_the_first_are_read_so_many_at_a_time(tmp_path: Path) -> None:
    """Short ones a megabyte at a time, and long ones no more than eight."""
    for length, expected in ((9, 2**20), (99, 5_000_000), (999, 2**23)):
        rows = written(tmp_path / "t.csv", b"a\n" + (b"x" * length + b"\n") * (2**25 // (length + 1)))
        sizes = [len(piece) for piece in rows.pieces()]
        assert all(abs(size - expected) <= 2000 for size in sizes[1:-1])
        assert len(sizes) > 3


def test_texts_are_restored_all_at_once_as_one_by_one() -> None:
    texts = ["'=1", "'+a", "'-b", "'@", "'\tc", "'\rd", "'s-Hertogenbosch", "5"]
    for some in (texts, texts[:1], texts[-1:], []):
        assert [*columns_module._all_restored(some)] == [columns_module.restored(text) for text in some]
    numbers = columns_module.Restoring(met := Numbering(), str.upper)
    assert (numbers.of_all(["a", "A", "b"]), list(met)) == ([0, 0, 1], ["A", "B"])
