"""Reading plain sets of values, many cells at once: nearly all cells of some releases are sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from incrowd.schema import ESCAPED, MISSING
from incrowd.verifier.cell_coder import WORD, CellCoder, Codes
from incrowd.verifier.cell_regions import ListedSets
from incrowd.verifier.columns import Bools, Ints, Numbering, first_of_each, text_ranks

CELLS_AT_ONCE = 4_096
OPEN, CLOSE, BAR = map(ord, "{}|")
_SIGNS = [ord(sign) for sign in ESCAPED if sign != "|"]  # a plain set has its braces, and no other of them
_UNKNOWN = -1


def plain_sets(
    cells: Sequence[str], met: Mapping[str, int | None], read: Callable[[str], object]
) -> ListedSets:
    """The cells that are sets of two or more different values, none with a sign to escape, none missing.

    `met` are the ranks of texts that were read before. A text that is new is left to `read`, which reads one
    cell with care and enters in `met` what it names. What is still unknown then is not listed here.

    Examples
    --------
    >>> found = plain_sets(["{a|b}", "a", "{a|a}"], {"a": 1, "b": 2}, print)
    >>> found.places.tolist(), found.ranks.tolist()
    ([0], [1, 2])
    """
    numbers, rank_of = Numbering(), list[int]()
    coder, none = CellCoder(numbers), np.empty(0, np.int64)
    places, sizes, ranks = [none], [none], [none]
    for at in range(0, len(cells), CELLS_AT_ONCE):
        plain, size, atoms = _members(cells[at : at + CELLS_AT_ONCE], coder)
        some, named = at + np.flatnonzero(plain), list(numbers)
        first = np.sort(first_of_each(atoms))
        for atom, cell in zip(atoms[first].tolist(), np.repeat(some, size)[first].tolist(), strict=True):
            if named[atom] not in met:
                read(cells[cell])
        known = (met.get(text) for text in named[len(rank_of) :])
        rank_of += [_UNKNOWN if rank is None else rank for rank in known]
        rank = np.array(rank_of, np.int64)[atoms]
        good = _of_different(rank, size)
        places.append(some[good])
        sizes.append(size[good])
        ranks.append(rank[np.repeat(good, size)])
    starts = np.concatenate([[0], np.cumsum(np.concatenate(sizes))])
    return ListedSets(np.concatenate(places), starts, np.concatenate(ranks), frozenset(numbers))


def _members(cells: Sequence[str], coder: CellCoder) -> tuple[Bools, Ints, Codes]:
    """Which cells are plain sets, how many members each of these has, and the number of each member."""
    written = _end_to_end(cells)
    if b"{" not in written:
        return np.zeros(len(cells), np.bool_), np.empty(0, np.int64), np.empty(0, np.int32)
    text = np.frombuffer(written + bytes(WORD), np.uint8)
    here = text[:-WORD]
    ends = np.flatnonzero(here == 0)
    length = np.diff(ends, prepend=-1)  # with the NUL behind it
    sign = np.logical_or.reduce([here == one for one in _SIGNS])
    signs = np.diff(np.searchsorted(np.flatnonzero(sign), ends), prepend=0)
    plain = (signs == 2) & (here[ends + 1 - length] == OPEN) & (here[ends - 1] == CLOSE)
    sign |= here == BAR
    sign &= np.repeat(plain, length)
    cuts = np.flatnonzero(sign)
    kind = here[cuts]
    size = np.flatnonzero(kind == CLOSE) - np.flatnonzero(kind == OPEN)
    starts, stops = cuts[kind != CLOSE] + 1, cuts[kind != OPEN]
    return plain, size, coder.codes_at(text, starts, stops - starts)


def _end_to_end(cells: Sequence[str]) -> bytes:
    """Cells, with a NUL behind each.

    A cell that names missing or has a NUL in it is no plain set: nothing stands in its place. If one has half
    of a character, which no file can hold, nothing stands in the place of all.
    """
    joined = "\0".join([*cells, ""])
    if MISSING in joined or joined.count("\0") > len(cells):
        joined = "\0".join(["" if MISSING in text or "\0" in text else text for text in [*cells, ""]])
    try:
        return joined.encode()
    except UnicodeEncodeError:
        return bytes(len(cells))


def _of_different(rank: Ints, size: Ints) -> Bools:
    """Which sets have two or more members, all known and different?"""
    owner = np.repeat(np.arange(size.size), size)
    good = size > 1
    good[owner[rank == _UNKNOWN]] = False
    top = int(rank.max(initial=0)) + 2
    key = np.sort(owner * top + rank - _UNKNOWN)
    good[key[1:][key[1:] == key[:-1]] // top] = False
    return good


def in_one_form(sets: ListedSets, met: Mapping[str, int | None], words: Sequence[str], values: int) -> bool:
    """Are sets written in the one way that their meaning has?

    Values are spelt as `words` says by rank, sorted by these texts, and the set of all values is no set.
    """
    spelt = all(words[met.get(atom) or 0] == atom for atom in sets.atoms)
    place = text_ranks(words)[sets.ranks]
    begins = np.zeros(place.size + 1, np.bool_)
    begins[sets.starts] = True
    ascending = bool((begins[1:-1] | (np.diff(place) > 0)).all())
    return spelt and ascending and not (np.diff(sets.starts) == values).any()
