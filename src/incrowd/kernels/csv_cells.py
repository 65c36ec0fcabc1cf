"""Equal cells of the columns of a CSV file, all columns in one pass. See `tables.csv_scan`."""

from __future__ import annotations

import numpy as np

from incrowd.kernels.arrays import Codes, Int, Ints, Words
from incrowd.kernels.jit import inlined, kernel

_LF, _CR, _QUOTE, _BYTE = np.uint64(10), np.uint64(13), np.uint64(34), np.uint64(255)
_ONES, _TOPS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
_PLACES = np.uint64(0x0001020304050607)
_START, _ODD = np.uint64(0xCBF29CE484222325), np.uint64(0x9E3779B97F4A7C15)
_ONE, _SEVEN, _EIGHT = np.uint64(1), np.uint64(7), np.uint64(8)
_HALF, _FIRST = np.uint64(32), np.uint64(56)
_WORD = 8  # bytes
SHORT = 7  # bytes of a cell that is one word, with a sign behind it
LONG = np.uint64(2**64 - 1)  # in the place of the word of a longer one: the last byte of a short one's is 0
ODD, FULL, NO_ROOM = -1, -2, -3  # what stands in the place of a number of rows
MOST_STEPS = 8  # for each cell, on average: what takes more was made to collide


@inlined
def _is(word: np.uint64, sign: np.uint64) -> np.uint64:
    """The top bit of the first byte that is this sign; bits above it mean nothing, 0 is none."""
    differs = word ^ (sign * _ONES)
    return (differs - _ONES) & ~differs & _TOPS


@inlined
def _first(word: np.uint64, length: Int) -> np.uint64:
    """The first bytes of a word, at most so many; NULs stand in the place of the others."""
    return word if length >= _WORD else word & ((_ONE << (_EIGHT * np.uint64(length))) - _ONE)


@inlined
def _slot_of(mixed: np.uint64, slots: int) -> Int:
    mixed *= _ODD
    mixed = (mixed ^ (mixed >> _HALF)) * _ODD  # so that the last byte of a word has its say, too
    return np.int64((mixed >> _HALF) & np.uint64(slots - 1))


@kernel
def number_rows(
    text: Words, delimiter: int, most: int, place: Ints, slots: Codes, seen: Codes, codes: Codes, leads: Ints,
    room: Words, filled: Ints
) -> int:  # fmt: skip
    """Lines of CSV, the last one ended by LF -> how many rows, or ODD, FULL (more slots) or NO_ROOM.

    ``text[i]`` are the eight bytes from i on, the first one lowest, for all bytes and one more. Column j of
    the file is numbered in ``codes[place[j]]`` (r,), unless its place is -1: distinct cells as they are met,
    in this call or before. ``seen[place[j]]`` is how many were, and grows. `slots` (w, s) hold numbers, each
    one more than it is; 0 is none; s is a power of two. ``leads[:, place[j], code]`` is where a cell started
    and ended when it was met, without its quotes, its word if it is short, and else where its bytes are kept
    in the `room`, which is given as the text is, and of which so much is `filled`. Equal hashes are told
    apart by all bytes. Odd are rows of other than the header's cells or of more than `most` bytes, empty
    ones, quotes that enclose no whole cell, and too many cells that share their hashes. Only if all went
    well, what is known can be used again.
    """
    size, width, rows, steps = text.size - 1, place.size, 0, 0
    sign = np.uint64(delimiter)
    at = 0
    while at < size:
        begin = at
        for column in range(width):
            word = text[at]
            found = _is(word, sign) | _is(word, _LF) | _is(word, _CR) | _is(word, _QUOTE)
            stop = (found & (~found + _ONE)) >> _SEVEN  # the lowest bit of the sign that ends the cell
            start: Int = at
            end: Int = at + np.int64((stop * _PLACES) >> _FIRST)
            quoted = text[at] & _BYTE == _QUOTE
            if quoted:
                start = end = at + 1
                while True:
                    if text[end] & _BYTE == _QUOTE:
                        if text[end + 1] & _BYTE != _QUOTE:
                            break
                        end += 1
                    elif end >= size - 1:
                        return ODD
                    end += 1
            elif not stop:
                end = at + SHORT + 1
                while True:
                    byte = text[end] & _BYTE
                    if byte in (sign, _LF, _CR, _QUOTE):
                        break
                    end += 1
            at = end + quoted
            after = text[at] & _BYTE
            if after == _CR:
                at += 1
                after = text[at] & _BYTE
                if after != _LF:
                    return ODD
            if after != (_LF if column == width - 1 else sign):
                return ODD
            at += 1
            own, length = place[column], end - start
            if own < 0:
                continue
            short = length <= SHORT
            if short:
                word = text[start] & ((_ONE << (_EIGHT * np.uint64(length))) - _ONE)
                mixed = word
            else:
                word, mixed = LONG, _START
                for step in range(0, length, _WORD):
                    mixed = (mixed ^ _first(text[start + step], length - step)) * _ODD
                    mixed ^= mixed >> _HALF
            slot = _slot_of(mixed, slots.shape[1])
            while True:
                code = np.int64(slots[own, slot]) - 1
                if code < 0:
                    if 2 * seen[own] + 2 > slots.shape[1]:  # one is always free
                        return FULL
                    code = np.int64(seen[own])
                    if not short:
                        if filled[0] + length > room.size:
                            return NO_ROOM
                        leads[3, own, code] = filled[0]
                        for step in range(0, length, _WORD):
                            room[filled[0] + step] = text[start + step]
                        filled[0] += length
                    leads[0, own, code], leads[1, own, code], leads[2, own, code] = start, end, np.int64(word)
                    seen[own] += 1
                    slots[own, slot] = seen[own]
                    break
                same = leads[2, own, code] == np.int64(word)
                if same and not short:
                    same = leads[1, own, code] - leads[0, own, code] == length
                    if same:
                        kept = leads[3, own, code]
                        for step in range(0, length, _WORD):
                            if _first(text[start + step] ^ room[kept + step], length - step):
                                same = False
                                break
                if same:
                    break
                slot = (slot + 1) & (slots.shape[1] - 1)
                steps += 1
            codes[own, rows] = code
        if at - begin == 1 or (at - begin == 2 and text[begin] & _BYTE == _CR) or at - begin > most:
            return ODD
        rows += 1
        if steps > MOST_STEPS * (rows * width + 64):
            return ODD
    return rows
