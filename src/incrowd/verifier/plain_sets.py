"""Reading plain sets of values, many cells at once: nearly all cells of some releases are sets."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import repeat

import numpy as np

from incrowd.schema import MISSING
from incrowd.verifier.cell_regions import ListedSets
from incrowd.verifier.columns import Bools, Ints, text_ranks

CELLS_AT_ONCE = 16_384
_PLAIN_SET = re.compile(r"\{[^\\{}\[\]*]+\}")
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
    sets = [i for i, text in enumerate(cells) if MISSING not in text and _PLAIN_SET.fullmatch(text)]
    none = np.empty(0, np.int64)
    places, sizes, ranks, atoms = [none], [none], [none], set[str]()
    for at in range(0, len(sets), CELLS_AT_ONCE):
        some = sets[at : at + CELLS_AT_ONCE]
        inside = [cells[i][1:-1] for i in some]
        named = "|".join(inside).split("|")
        _read_new(set(named).difference(met), inside, met, read)
        known = {text: rank for text, rank in met.items() if rank is not None}
        rank = np.fromiter(map(known.get, named, repeat(_UNKNOWN)), np.int64, len(named))
        size = np.fromiter(map(str.count, inside, repeat("|")), np.int64, len(inside)) + 1
        good = _of_different(rank, size)
        atoms.update(named)
        places.append(np.array(some, np.int64)[good])
        sizes.append(size[good])
        ranks.append(rank[np.repeat(good, size)])
    starts = np.concatenate([[0], np.cumsum(np.concatenate(sizes))])
    return ListedSets(np.concatenate(places), starts, np.concatenate(ranks), frozenset(atoms))


def _read_new(
    new: set[str], inside: Sequence[str], met: Mapping[str, int | None], read: Callable[[str], object]
) -> None:
    for text in inside:
        if not new:
            break
        if not new.isdisjoint(text.split("|")):
            read("{" + text + "}")
            new.difference_update(met)


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
