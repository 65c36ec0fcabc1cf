"""Several CSV files with the same columns and mostly the same lines: each distinct line is read once.

Nothing is taken for granted: a line is known by all its bytes, and equal bytes say the same in every file. A
file that cannot be cut into lines without looking into cells is read like any other.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence

import numpy as np

from incrowd.verifier.cell_coder import Codes, TextNumbers
from incrowd.verifier.csv_file import NOT_CANONICAL, CsvRows, csv_text
from incrowd.verifier.failure import require


class SeenLines:
    """Distinct lines of so many cells, or parts of lines, and for each column the texts in them."""

    def __init__(self, width: int) -> None:
        self._line: dict[bytes, int] = {}
        self._codes = [array("i") for _ in range(width)]
        self._numbers: list[dict[str, int]] = [{} for _ in range(width)]
        self._texts: list[list[str]] = [[] for _ in range(width)]

    def of(self, lines: Sequence[bytes], rows: CsvRows, what: str) -> Codes | None:
        """The number of each line; None if one is blank, or leaves a quote open: not all are lines then."""
        found = list(map(self._line.get, lines))
        if None in found:
            new = [line for line in dict.fromkeys(lines) if line not in self._line]
            if b"" in new or any(line.count(b'"') % 2 for line in new):
                return None
            self._learn(rows, new, what)
            found = list(map(self._line.get, lines))
        return np.array(found, np.int32)

    def _learn(self, rows: CsvRows, lines: Sequence[bytes], what: str) -> None:
        block = b"\n".join(lines) + b"\n"
        parsed = rows.parsed(block)
        wrong = f"{what} has rows with more or fewer cells than its header"
        require(len(parsed) == len(lines) and set(map(len, parsed)) == {len(self._codes)}, wrong)
        require(not rows.canonical or csv_text(parsed) == block, f"{what} {NOT_CANONICAL}")
        columns = zip(self._codes, self._numbers, self._texts, zip(*parsed, strict=True), strict=True)
        for codes, numbers, texts, cells in columns:
            for cell in cells:
                if cell not in numbers:
                    numbers[cell] = len(texts)
                    texts.append(cell)
                codes.append(numbers[cell])
        self._line.update(zip(lines, range(len(self._line), len(self._line) + len(lines)), strict=True))

    def column(self, place: int, lines: Codes, numbers: TextNumbers) -> Codes:
        """The number of a column's text in each of these lines."""
        codes, texts = np.array(self._codes[place], np.int32)[lines], self._texts[place]
        met = np.flatnonzero(np.bincount(codes, minlength=len(texts)))
        number = np.full(len(texts), -1, np.int32)
        number[met] = numbers.of_all([texts[code] for code in met.tolist()])
        return number[codes]


class LinesOfFiles:
    """What is known of the lines of some files with the same columns.

    With `apart`, the first cell of each line is known apart from the others, which then may be the same in
    many lines of one file.
    """

    def __init__(self, names: Sequence[str], apart: bool = False) -> None:
        widths = [1, len(names) - 1] if apart and len(names) > 1 else [len(names)]
        self.parts = [SeenLines(width) for width in widths]

    def numbered(self, rows: CsvRows, what: str) -> list[Codes] | None:
        """The number of each line in each of the parts; None if the file must be read cell by cell."""
        found: list[list[Codes]] = [[np.empty(0, np.int32)] for _ in self.parts]
        for piece in rows.pieces():
            lines = piece.split(b"\n")
            if b"\r" in piece or b"\0" in piece or lines.pop():
                return None
            for part, seen, known in zip(self._cut(lines), self.parts, found, strict=True):
                numbers = seen.of(part, rows, what)
                if numbers is None:
                    return None
                known.append(numbers)
        return [np.concatenate(part) for part in found]

    def _cut(self, lines: list[bytes]) -> list[Sequence[bytes]]:
        if len(self.parts) == 1:
            return [lines]
        first, _, rest = zip(*[line.partition(b",") for line in lines], strict=True)
        return [first, rest]

    def column(self, place: int, lines: list[Codes], numbers: TextNumbers) -> Codes:
        part = 1 if len(self.parts) > 1 and place else 0
        return self.parts[part].column(place - part, lines[part], numbers)


class SeenRows:
    """A CSV file whose lines other files have, too."""

    def __init__(self, rows: CsvRows, seen: LinesOfFiles) -> None:
        self.rows, self._seen = rows, seen
        self._lines: list[Codes] | None = None

    @property
    def names(self) -> Sequence[str]:
        return self.rows.names

    def __iter__(self) -> Iterator[list[str]]:
        return iter(self.rows)

    def numbered(self, picks: Sequence[tuple[int, TextNumbers]], what: str) -> list[Codes] | None:
        """For each picked column, the number of each row's text; None if it must be read cell by cell."""
        if self._lines is None:
            self._lines = self._seen.numbered(self.rows, what)
        if self._lines is None:
            return None
        return [self._seen.column(place, self._lines, numbers) for place, numbers in picks]
