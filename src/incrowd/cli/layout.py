"""Tables that fit a terminal: sentences are folded, names abbreviated, and what is least needed is dropped.

Numbers are never cut. A word is cut only with … in its place, in the middle, so that names that begin or end
alike stay apart.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len

MARK = "…"
GAPS = (3, 2, 1)  # between columns, the widest that fits
CLOSE = 2  # between columns of a table that is too wide
SHORTEST_NAME = 10  # signs that a name is abbreviated to at most, so that it can be recognized
NARROWEST_PROSE = 12
LONGEST_WORD = 20  # of a sentence; longer ones are names
_NAME = re.compile(r"[^\W\d]", re.UNICODE)  # what has a letter may be abbreviated, a number may not
_PIECE = re.compile(r".*?[_\-./]+|.+")


@dataclass(frozen=True, slots=True)
class _Width:
    """How wide a column is as it stands, and how narrow it may become: by folding, then by abbreviating."""

    natural: int
    folded: int
    shortest: int


def laid_out(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    width: int,
    *,
    right: Sequence[str] = (),
    least: Sequence[str] = (),
    gaps: Sequence[int] = GAPS,
) -> tuple[list[str], list[str], list[str]]:
    """The lines of a header, the lines of the rows below, and the columns that did not fit.

    Parameters
    ----------
    width : int
        Signs in a line.
    right : sequence of str
        Columns whose cells are set to the right.
    least : sequence of str
        Columns that are dropped first; then the last ones are. The first column always stays.
    gaps : sequence of int
        Signs between columns, from wide to narrow.

    Examples
    --------
    >>> head, body, dropped = laid_out(["column", "meaning"], [["age", "how old they are"]], 20)
    >>> print("\\n".join([*head, *body]), dropped)
    column   meaning
    age      how old
             they are []
    """
    body = [tuple(row) for row in rows]
    shown = list(range(len(header)))
    while True:
        columns = [[header[j], *(row[j] for row in body)] for j in shown]
        found = _fitted([_measured(column) for column in columns], width, gaps)
        if found is not None or len(shown) == 1:
            break
        shown.remove(_least_needed(header, shown, least))
    widths, gap = found if found is not None else ([width], 1)
    folds = [_folding(column, size) for column, size in zip(columns, widths, strict=True)]
    to_right = [header[j] in right for j in shown]
    lines = [
        _lines([fold(cell) for fold, cell in zip(folds, cells, strict=True)], widths, gap, to_right)
        for cells in zip(*columns, strict=True)
    ]
    gone = [header[j] for j in range(len(header)) if j not in shown]
    return lines[0], [line for each in lines[1:] for line in each], gone


def _least_needed(header: Sequence[str], shown: Sequence[int], least: Sequence[str]) -> int:
    for name in least:
        for j in shown[1:]:
            if header[j] == name:
                return j
    return shown[-1]


def _measured(column: Sequence[str]) -> _Width:
    """The header counts by its longest word once it is folded."""
    words = [word for cell in column for word in cell.split()]
    longest = max(map(cell_len, words), default=0)
    prose = any(" " in cell for cell in column[1:])
    named = max((cell_len(word) for word in words if _NAME.search(word)), default=0)
    rigid = max((cell_len(word) for word in words if not _NAME.search(word)), default=0)
    least_word = min(named, LONGEST_WORD if prose else SHORTEST_NAME)
    return _Width(
        natural=max(map(cell_len, column), default=0),
        folded=max(longest, min(NARROWEST_PROSE, max(map(cell_len, column))) if prose else 0),
        shortest=max(rigid, least_word),
    )


def _fitted(columns: Sequence[_Width], width: int, gaps: Sequence[int]) -> tuple[list[int], int] | None:
    """The width of each column and the gap between them; None if they do not fit.

    Where words must be cut, columns stand close to each other, so that few are.
    """
    natural, folded, shortest = zip(*((c.natural, c.folded, c.shortest) for c in columns), strict=True)
    close = [gap for gap in gaps if gap <= CLOSE] or gaps
    for floors, allowed in ((natural, gaps), (folded, gaps), (shortest, close)):
        for gap in allowed:
            room = width - gap * (len(columns) - 1)
            if sum(floors) <= room:
                return _shrunk([c.natural for c in columns], floors, room), gap
    return None


def _shrunk(natural: Sequence[int], floors: Sequence[int], room: int) -> list[int]:
    """What is widest gives way first."""
    widths = [max(size, floor) for size, floor in zip(natural, floors, strict=True)]
    while sum(widths) > room:
        able = [j for j, floor in enumerate(floors) if widths[j] > floor]
        widths[max(able, key=lambda j: widths[j])] -= 1
    return widths


def _folding(column: Sequence[str], width: int) -> Callable[[str], list[str]]:
    """How cells of a column are folded.

    A word that is too long goes on two lines, if its own parts allow that. Else it is abbreviated, if that
    keeps it apart from others; else it goes on as many lines as it needs.
    """
    long = {word for cell in column for word in cell.split() if cell_len(word) > width}
    short: dict[str, list[str]] = {}
    for word in long:
        short.setdefault(abbreviated(word, width), []).append(word)
    pieces = {}
    for word in long:
        parts, brief = _in_pieces(word, width), abbreviated(word, width)
        whole = len(parts) == 2 and "".join(parts) == word
        pieces[word] = parts if whole or len(short[brief]) > 1 else [brief]

    def fold(cell: str) -> list[str]:
        lines = [""]
        for word in cell.split() if cell_len(cell) > width else [cell]:
            for first, piece in enumerate(pieces.get(word, [word])):
                joined = piece if not lines[-1] else f"{lines[-1]} {piece}"
                if first == 0 and cell_len(joined) <= width:
                    lines[-1] = joined
                else:
                    lines.append(piece)
        return lines

    return fold


def abbreviated(word: str, width: int) -> str:
    """A word with … in its middle, if it is longer than so many signs.

    Examples
    --------
    >>> abbreviated("diabetes_medication_prescribed", 12), abbreviated("age", 12)
    ('diabet…ribed', 'age')
    """
    if cell_len(word) <= width:
        return word
    head, tail = width // 2, (width - 1) // 2
    first, last = len(word), 0
    while cell_len(word[:first]) > head:
        first -= 1
    while cell_len(word[last:]) > tail or (last < len(word) and not cell_len(word[last])):
        last += 1  # on over accents, which belong to the letter before them
    return word[:first] + MARK + word[last:]


def folded(text: str, indent: str, width: int) -> str:
    """A sentence in lines of at most so many places, but for names that are longer.

    Examples
    --------
    >>> print(folded("Not published: name, address.", "  ", 20))
      Not published:
        name, address.
    """
    first, *words = text.split() or [""]
    lines = [indent + first]
    for word in words:
        if cell_len(lines[-1]) + 1 + cell_len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(f"{indent}  {word}")
    return "\n".join(lines)


def _in_pieces(word: str, width: int) -> list[str]:
    """A name in lines that end where its parts do; a part that is too long is abbreviated."""
    lines = [""]
    for piece in _PIECE.findall(word):
        if cell_len(lines[-1] + piece) <= width:
            lines[-1] += piece
        else:
            lines.append(abbreviated(piece, width))
    return [line for line in lines if line]


def _lines(
    cells: Sequence[Sequence[str]], widths: Sequence[int], gap: int, right: Sequence[bool]
) -> list[str]:
    """One row as lines: cells beside each other, the shorter ones filled with nothing."""
    height = max(map(len, cells))
    found = []
    for number in range(height):
        texts = [cell[number] if number < len(cell) else "" for cell in cells]
        padded = [
            " " * (width - cell_len(text)) + text if to_right else text + " " * (width - cell_len(text))
            for text, width, to_right in zip(texts, widths, right, strict=True)
        ]
        found.append((" " * gap).join(padded).rstrip())
    return found
