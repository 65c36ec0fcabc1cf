"""Equal cells of a column of a CSV file, without compiled code.

A cell of up to 64 bytes becomes a few 64-bit words; equal cells are found by hashing the words and comparing
them in full, so a collision costs time and never a wrong code. Cells hold no NUL, so padding with zeros
distinguishes cells of different length.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]
Codes = NDArray[np.int32]
Offsets = NDArray[np.int32] | NDArray[np.int64]
Words = NDArray[np.uint64]

PADDING = 64  # zero bytes that must follow the last cell in its buffer
_WIDEST = 64
_ROUNDS = 6
_KEEP = np.array([(1 << 8 * length) - 1 for length in range(9)], dtype=np.uint64)
_ODD = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xBF58476D1CE4E5B9)
_SHIFT = np.uint64(29)


def first_rows(buffer: Bytes, starts: Offsets, ends: Offsets) -> Places:
    """For each cell the first row that holds the same bytes: (n,) -> (n,)."""
    widest = int((ends - starts).max(initial=0))
    if widest > _WIDEST:
        return _by_dictionary(
            [buffer[a:b].tobytes() for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]
        )
    return _by_hashing(_packed(buffer, starts, ends, max(1, -(-widest // 8))))


def _packed(buffer: Bytes, starts: Offsets, ends: Offsets, width: int) -> list[Words]:
    """The cells as `width` words of eight bytes each, zeros after the end."""
    windows = np.lib.stride_tricks.sliding_window_view(buffer, 8)
    words = []
    for offset in range(0, 8 * width, 8):
        # a start may lie up to 64 bytes behind the last cell: that is what the padding is for
        word = windows[starts + offset].view(np.uint64)[:, 0]
        words.append(word & _KEEP[np.clip(ends - starts - offset, 0, 8)])
    return words


def _by_hashing(words: list[Words]) -> Places:
    """First equal rows, in rounds: the first row in a slot stands for all equal to it.

    Places that only share the slot go on to the next round, with another hash. Input made to collide
    ends in a dictionary, whose hash nobody can foresee.
    """
    first = np.empty(words[0].size, dtype=np.int64)
    rows = np.arange(first.size)
    hashes = np.zeros(first.size, dtype=np.uint64)
    for round_ in range(_ROUNDS):
        hashes = _mixed(hashes, words)
        found = _same_slot(hashes, 14 if round_ == 0 else rows.size.bit_length() + 1)
        same = np.logical_and.reduce([word[found] == word for word in words])
        first[rows[same]] = rows[found[same]]
        if same.all():
            return first
        rest = ~same
        rows, hashes, words = rows[rest], hashes[rest], [word[rest] for word in words]
    first[rows] = rows[_by_dictionary([key.tobytes() for key in np.stack(words, axis=1)])]
    return first


def _mixed(hashes: Words, words: list[Words]) -> Words:
    for word in words:
        hashes = ((hashes ^ (hashes >> _SHIFT)) * _MIX + word) * _ODD
        hashes ^= hashes >> np.uint64(32)
    return hashes * _ODD


def _same_slot(hashes: Words, bits: int) -> Places:
    """The first row that shares each row's slot, the slot being the top bits of the hash."""
    slots = (hashes >> np.uint64(64 - bits)).astype(np.int64)
    first = np.empty(1 << bits, dtype=np.int64)
    # of several rows written to one slot the last stays: backwards, that is the first
    first[slots[::-1]] = np.arange(slots.size - 1, -1, -1)
    return first[slots]


def _by_dictionary(keys: list[bytes]) -> Places:
    first: dict[bytes, int] = {}
    return np.fromiter((first.setdefault(key, row) for row, key in enumerate(keys)), np.int64, len(keys))


def numbered(first: Places) -> tuple[Codes, Places]:
    """Number the distinct cells as they are met: (codes (n,), row where each is met first)."""
    leads = first == np.arange(first.size)
    rank = np.cumsum(leads, dtype=np.int32) - np.int32(1)
    return rank[first], np.flatnonzero(leads)
