"""Rows over k records each exchange members while that makes them cheaper; everyone stays in k rows.

Two kinds of exchange, both among the rows of a block. Either each row gives one member away, and the best
way to hand them out again is an assignment problem. Or two rows swap a member each. What a row
costs without a member is known at once from its second lowest and second highest codes and from the values
that only one member has, so all k members of a row are priced in O(kd).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from incrowd.kernels.arrays import Codes, Floats, Ints, Words
from incrowd.kernels.assignment import assigned
from incrowd.kernels.closure import SET, TABLE, Costs, count_of, rare_cost, set_cost
from incrowd.kernels.jit import inlined, inner, kernel

BLOCK = 64  # rows that exchange members at once
SWAPPED = 32  # rows among which no swap is left that saves anything
FORBIDDEN = 1e4  # dearer than all rows of a block together
GAIN = 1e-9  # less is rounding
NOBODY: Any = np.int64(-1)


class Rows(NamedTuple):
    """Row v is made over the records ``members[v]`` (n, k), its own first, and costs ``cost[v]``.

    ``codes`` (n, d) are those of the records.
    """

    codes: Codes
    members: Codes
    cost: Floats


class Desk(NamedTuple):
    """Room for the rows of one block, place s for each: their two lowest and highest codes, their values.

    `rest` is a row without one of its members, `without` (BLOCK, k) what it costs without each of them.
    `mark` (2, n) stamps the members of two rows with numbers of `clock`.
    """

    low: Codes  # (BLOCK, 2, d)
    high: Codes
    once: Words  # (BLOCK, d) values that occur
    twice: Words  # more than once
    rest_low: Codes  # (BLOCK, d)
    rest_high: Codes
    rest_bits: Words
    without: Floats
    least: Floats  # (2, k)
    comes: Ints  # (2, k) a number, and as many slots
    who: Ints  # (k,)
    prices: Floats  # (k,)
    mark: Ints
    clock: Ints


def desk_for(n: int, k: int, d: int) -> Desk:
    """An empty desk for a table of n records."""
    shape = BLOCK, d
    return Desk(
        low=np.empty((BLOCK, 2, d), np.int32),
        high=np.empty((BLOCK, 2, d), np.int32),
        once=np.empty(shape, np.uint64),
        twice=np.empty(shape, np.uint64),
        rest_low=np.empty(shape, np.int32),
        rest_high=np.empty(shape, np.int32),
        rest_bits=np.empty(shape, np.uint64),
        without=np.empty((BLOCK, k)),
        least=np.empty((2, k)),
        comes=np.empty((2, k), np.int64),
        who=np.empty(k, np.int64),
        prices=np.empty(k),
        mark=np.full((2, n), -1),
        clock=np.zeros(1, np.int64),
    )


@kernel
def lay(s: int, v: int, rows: Rows, desk: Desk, costs: Costs) -> Any:
    """Lay row v on place s, with what it costs without each member -> what it costs."""
    k, d = rows.members.shape[1], rows.codes.shape[1]
    total = 0.0
    desk.without[s] = 0.0
    for j in range(d):
        if costs.kind[j] == SET:
            once, twice = np.uint64(0), np.uint64(0)
            for i in range(k):
                bit = np.uint64(1) << np.uint64(rows.codes[rows.members[v, i], j])
                twice |= once & bit
                once |= bit
            desk.once[s, j], desk.twice[s, j] = once, twice
            whole = set_cost(j, once, costs)
            for i in range(k):
                alone = (np.uint64(1) << np.uint64(rows.codes[rows.members[v, i], j])) & ~twice
                desk.without[s, i] += set_cost(j, once & ~alone, costs) if alone else whole
        else:
            low: Any = np.int32(2**31 - 1)
            high: Any = np.int32(-1)
            low2, high2 = low, high
            for i in range(k):
                code = rows.codes[rows.members[v, i], j]
                if code < low:
                    low, low2 = code, low
                elif code < low2:
                    low2 = code
                if code > high:
                    high, high2 = code, high
                elif code > high2:
                    high2 = code
            desk.low[s, 0, j], desk.low[s, 1, j] = low, low2
            desk.high[s, 0, j], desk.high[s, 1, j] = high, high2
            whole = here = 0.0
            for i in range(-1, k):  # all of them first
                first, last = low, high
                if i >= 0:
                    code = rows.codes[rows.members[v, i], j]
                    first, last = low2 if code == low else low, high2 if code == high else high
                if i >= 0 and first == low and last == high:
                    here = whole
                elif costs.kind[j] == TABLE:
                    here = costs.cost[costs.table[j] + first * costs.size[j] + last]
                else:
                    here = rare_cost(j, first, last, costs)
                if i >= 0:
                    desk.without[s, i] += here
                else:
                    whole = here
        total += whole
    desk.without[s] /= d
    desk.without[s, 0] = np.inf  # its own record stays
    return total / d


@kernel
def part_with(s: int, x: int, rows: Rows, desk: Desk, costs: Costs) -> None:
    """Let the rest on place s be its row without member x."""
    for j in range(rows.codes.shape[1]):
        code = rows.codes[x, j]
        if costs.kind[j] == SET:
            alone = (np.uint64(1) << np.uint64(code)) & ~desk.twice[s, j]
            desk.rest_bits[s, j] = desk.once[s, j] & ~alone
        else:
            desk.rest_low[s, j] = desk.low[s, 1 if code == desk.low[s, 0, j] else 0, j]
            desk.rest_high[s, j] = desk.high[s, 1 if code == desk.high[s, 0, j] else 0, j]


@kernel
def cost_with_each(
    s: int,
    who: Ints,
    limit: float,
    low: Codes,
    high: Codes,
    bits: Words,
    codes: Codes,
    costs: Costs,
    into: Floats,
) -> None:
    """into (m,) becomes what bounds s cost with each of the records who (m,), or something above `limit`.

    The loop is in here, and takes arrays out of tuples once: passing those costs more than a price.
    """
    d = codes.shape[1]
    most = limit * d
    kind, scale, size, table, price = costs.kind, costs.scale, costs.size, costs.table, costs.cost
    entropy = costs.entropy
    for i in range(who.size):
        total = 0.0
        for j in range(d):
            code = codes[who[i], j]
            if kind[j] == SET:
                held = bits[s, j] | (np.uint64(1) << np.uint64(code))
                total += set_cost(j, held, costs) if entropy else (count_of(held) - 1) * scale[j]
            elif kind[j] == TABLE:
                total += price[table[j] + min(low[s, j], code) * size[j] + max(high[s, j], code)]
            else:
                total += rare_cost(j, min(low[s, j], code), max(high[s, j], code), costs)
            if total > most:
                break
        into[i] = total / d


@inlined
def stamp(which: int, v: int, rows: Rows, desk: Desk) -> Any:
    """Mark the members of row v with a number that nobody else has -> the number."""
    desk.clock[0] += 1
    for i in range(rows.members.shape[1]):
        desk.mark[which, rows.members[v, i]] = desk.clock[0]
    return desk.clock[0]


@inlined
def mixed(value: int) -> Any:
    """A number that looks drawn, but is the same every time."""
    for _ in range(2):
        value = ((value >> 16) ^ value) * 73244475 & 0xFFFFFFFF
    return (value >> 16) ^ value


@inlined
def given_by(s: int, v: int, turn: int, desk: Desk) -> Any:
    """Which member row v, on place s, gives away: the one that it gains most by, or any.

    If all gave their dearest, none could take two such and free another row.
    """
    k = desk.without.shape[1]
    chance = mixed(v + 7919 * turn)
    slot = 1 + (chance >> 1) % (k - 1)
    if chance % 2:
        for i in range(1, k):
            if desk.without[s, i] < desk.without[s, slot] - GAIN:
                slot = i
    return slot


@inner
def hand_out(block: Ints, turn: int, rows: Rows, desk: Desk, costs: Costs) -> Any:
    """Let each row of a block (m,) give one member away, and hand these out at best -> what that saved."""
    m = block.size
    slot, given = np.empty(m, np.int64), np.empty(m, np.int64)
    hope = costs.entropy  # a wider row may be cheaper
    before = 0.0
    for s in range(m):
        v = block[s]
        lay(s, v, rows, desk, costs)
        slot[s] = given_by(s, v, turn, desk)
        given[s] = rows.members[v, slot[s]]
        part_with(s, given[s], rows, desk, costs)
        hope |= desk.without[s, slot[s]] < rows.cost[v] - GAIN
        before += rows.cost[v]
    if not hope:
        return 0.0
    cost = np.empty((m, m))
    for s in range(m):
        mine = stamp(0, block[s], rows, desk)
        low, high, bits = desk.rest_low, desk.rest_high, desk.rest_bits
        cost_with_each(s, given, np.inf, low, high, bits, rows.codes, costs, cost[s])
        for t in range(m):
            if desk.mark[0, given[t]] == mine and given[t] != given[s]:
                cost[s, t] = FORBIDDEN
    taker = assigned(cost, m)
    after = 0.0
    for t in range(m):
        after += cost[taker[t], t]
    if after >= before - GAIN:
        return 0.0
    for t in range(m):
        v = block[taker[t]]
        rows.members[v, slot[taker[t]]] = given[t]
        rows.cost[v] = cost[taker[t], t]
    return before - after


@kernel
def cost_changed(s: int, x: int, y: int, codes: Codes, desk: Desk, costs: Costs) -> Any:
    """What the row on place s costs if record y takes the place of member x."""
    d = codes.shape[1]
    kind, scale, size, table, price = costs.kind, costs.scale, costs.size, costs.table, costs.cost
    total = 0.0
    for j in range(d):
        out, code = codes[x, j], codes[y, j]
        if kind[j] == SET:
            alone = (np.uint64(1) << np.uint64(out)) & ~desk.twice[s, j]
            held = (desk.once[s, j] & ~alone) | (np.uint64(1) << np.uint64(code))
            total += set_cost(j, held, costs) if costs.entropy else (count_of(held) - 1) * scale[j]
            continue
        low = min(code, desk.low[s, 1 if out == desk.low[s, 0, j] else 0, j])
        high = max(code, desk.high[s, 1 if out == desk.high[s, 0, j] else 0, j])
        if kind[j] == TABLE:
            total += price[table[j] + low * size[j] + high]
        else:
            total += rare_cost(j, low, high, costs)
    return total / d


@inner
def _may_come(s: int, w: int, side: int, held: int, most: float, rows: Rows, desk: Desk, costs: Costs) -> Any:
    """List the members of row w that may come to the row on place s for less than `most` -> the least price.

    Those stamped with `held` are there already. A price is that of who stays whoever leaves: the second
    lowest and second highest codes and the values that several members have.
    """
    members, mark, least, comes, who = rows.members, desk.mark, desk.least, desk.comes, desk.who
    m = 0
    for i in range(1, members.shape[1]):
        if mark[side, members[w, i]] != held:
            who[m], comes[side, 1 + m] = members[w, i], i
            m += 1
    low, high = desk.low[:, 1], desk.high[:, 1]
    cost_with_each(s, who[:m], most, low, high, desk.twice, rows.codes, costs, desk.prices)
    found, count = np.inf, 0
    for a in range(m):
        if desk.prices[a] < most:
            i = comes[side, 1 + a]
            count += 1
            comes[side, count], least[side, i] = i, desk.prices[a]
            found = min(found, desk.prices[a])
    comes[side, 0] = count
    return found


@inner
def best_swap(s: int, t: int, block: Ints, rows: Rows, desk: Desk, costs: Costs) -> Any:
    """The two members that rows s and t of a block should give each other -> (slots, saving), or (-1, -1, 0).

    Whoever leaves a row, the second lowest and highest codes and the values of several members stay. With
    those alone a record that comes costs least: most pairs of members are ruled out by that. (In bits a
    wider row may cost less, so some swaps are overlooked there.)
    """
    v, w = block[s], block[t]
    total = rows.cost[v] + rows.cost[w]
    best, at, to = GAIN, NOBODY, NOBODY
    mine, theirs = stamp(0, v, rows, desk), stamp(1, w, rows, desk)
    left, gone = desk.without[s].min(), desk.without[t].min()
    first = _may_come(s, w, 0, mine, total - gone - best, rows, desk, costs)
    if first == np.inf:
        return at, to, 0.0
    second = _may_come(t, v, 1, theirs, total - max(left, first) - best, rows, desk, costs)
    if second == np.inf:
        return at, to, 0.0
    for a in range(desk.comes[1, 0]):
        i = desk.comes[1, 1 + a]
        x, mine_left, there_least = rows.members[v, i], desk.without[s, i], desk.least[1, i]
        if total - max(mine_left, first) - max(there_least, gone) <= best:
            continue
        for b in range(desk.comes[0, 0]):
            e = desk.comes[0, 1 + b]
            there = max(there_least, desk.without[t, e])
            if total - max(desk.least[0, e], mine_left) - there <= best:
                continue
            y = rows.members[w, e]
            here = cost_changed(s, x, y, rows.codes, desk, costs)
            if total - here - there <= best:
                continue
            there = cost_changed(t, y, x, rows.codes, desk, costs)
            if total - here - there > best:
                best, at, to = total - here - there, i, e
    return at, to, best


@inner
def swap_members(block: Ints, rows: Rows, desk: Desk, costs: Costs) -> Any:
    """Let pairs of rows of a block (m,) swap members until no swap saves anything -> what that saved."""
    m = block.size
    changed, most = np.zeros(m, np.int64), np.zeros(m)
    for s in range(m):
        lay(s, block[s], rows, desk, costs)
        most[s] = rows.cost[block[s]] - desk.without[s].min()
    saved, turn = 0.0, 0
    while turn == 0 or changed.max() == turn:
        turn += 1
        for s in range(m):
            for t in range(s + 1, m):
                if max(changed[s], changed[t]) < turn - 1 or most[s] + most[t] <= GAIN:
                    continue
                i, e, saves = best_swap(s, t, block, rows, desk, costs)
                if i < 0:
                    continue
                v, w = block[s], block[t]
                rows.members[v, i], rows.members[w, e] = rows.members[w, e], rows.members[v, i]
                saved += saves
                for place in (s, t):
                    rows.cost[block[place]] = lay(place, block[place], rows, desk, costs)
                    most[place] = rows.cost[block[place]] - desk.without[place].min()
                    changed[place] = turn
    return saved


@kernel
def hand_out_all(begin: int, order: Ints, turn: int, rows: Rows, desk: Desk, costs: Costs) -> Any:
    """`hand_out` for the blocks of an order (m,), the first of which ends at `begin` + BLOCK."""
    saved = 0.0
    for first in range(begin, order.size, BLOCK):
        saved += hand_out(order[max(first, 0) : first + BLOCK], turn, rows, desk, costs)
    return saved


@kernel
def swap_all(order: Ints, rows: Rows, desk: Desk, costs: Costs) -> Any:
    """`swap_members` for every SWAPPED rows of an order (m,)."""
    saved = 0.0
    for first in range(0, order.size, SWAPPED):
        saved += swap_members(order[first : first + SWAPPED], rows, desk, costs)
    return saved


@kernel
def price_all(rows: Rows, desk: Desk, costs: Costs) -> None:
    """Set what each row costs."""
    for v in range(rows.cost.size):
        rows.cost[v] = lay(0, v, rows, desk, costs)


@kernel
def middles(rows: Rows, into: Codes) -> None:
    """into (n, d) become the sums of the lowest and highest codes of each row."""
    for v in range(into.shape[0]):
        for j in range(into.shape[1]):
            low = high = rows.codes[v, j]
            for i in range(rows.members.shape[1]):
                code = rows.codes[rows.members[v, i], j]
                low, high = min(low, code), max(high, code)
            into[v, j] = low + high
