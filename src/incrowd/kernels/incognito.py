"""Frequency sets of full-domain recodings: one from another, each column lifted to its level."""

from __future__ import annotations

from incrowd.kernels.arrays import Codes, Ints
from incrowd.kernels.jit import kernel

_STEP = 1000003  # odd, so that no bit of a code is lost; a product with 31 bits stays far below 63
_SPREAD = 1327217885  # odd, near 2^31 over the golden ratio: neighbours land far apart
_BITS = 31


@kernel
def roll(
    rows: Codes,
    weights: Ints,
    up: Codes,
    start: Ints,
    radix: Ints,
    slots: Codes,
    packed: Ints,
    out: Codes,
    counts: Ints,
    label: Codes,
) -> int:
    """Rows (f, s), column c lifted by up[start[c] + code] -> distinct ones, numbered as first met; how many.

    out (f, s) and counts (f,), filled from the front, are the distinct rows and their weights; label (f,)
    says which of them each row became. slots (a power of two, at least 2f) and packed (f,) are scratch. If
    packed is empty, rows do not fit into 62 bits as numbers of a mixed radix (s,), and are compared column by
    column.
    """
    f, s = rows.shape
    mask = (1 << _BITS) - 1
    shift, size = _BITS, slots.size
    while size > 1:
        size >>= 1
        shift -= 1
    slots[:] = -1
    found = 0
    for i in range(f):
        key, mixed = 0, 0
        for c in range(s):
            code = int(up[start[c] + rows[i, c]])
            out[found, c] = code  # where it will stand, if it is new
            if packed.size:
                key = key * radix[c] + code
            else:
                mixed = (mixed * _STEP + code) & mask
        if packed.size:
            mixed = ((key & mask) * _STEP + (key >> _BITS) * _SPREAD) & mask
        slot = ((mixed * _SPREAD) & mask) >> shift
        while slots[slot] >= 0:
            at = slots[slot]
            same = True
            if packed.size:
                same = packed[at] == key
            else:
                for c in range(s):
                    if out[at, c] != out[found, c]:
                        same = False
                        break
            if same:
                break
            slot = (slot + 1) & (slots.size - 1)
        if slots[slot] < 0:
            slots[slot] = found
            counts[found] = 0
            if packed.size:
                packed[found] = key
            found += 1
        label[i] = slots[slot]
        counts[label[i]] += weights[i]
    return found
