"""Slow twins: every definition said once more in plain Python, without NumPy and without incrowd."""

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations, permutations
from math import lcm, log, log2
from typing import Any

# ---- models: what a class of sensitive values keeps ----------------------------------------------------

Paths = Mapping[int, Sequence[str]]  # the labels from each leaf to the root


def keeps_k(persons: Sequence[int], k: int) -> bool:
    return len(set(persons)) >= k


def keeps_even_k(persons: Sequence[int], k: int) -> bool:
    """Nobody has more than one in k of the rows."""
    return bool(persons) and all(count * k <= len(persons) for count in Counter(persons).values())


def as_votes(values: Sequence[int], persons: Sequence[int], rows: Sequence[int]) -> list[int]:
    """The values of some rows of a table, each as often as it has parts of its person's one vote."""
    had = Counter(persons)
    unit = lcm(*had.values())
    return [values[i] for i in rows for _ in range(unit // had[persons[i]])]


def keeps_distinct(values: Sequence[int], l: int) -> bool:  # noqa: E741
    return len(set(values)) >= l


def keeps_entropy(values: Sequence[int], l: int | str) -> bool:  # noqa: E741
    """Product over values of (1/p)^p is at least l, both sides to the power n."""
    n = len(values)
    power = Fraction(1)
    for count in Counter(values).values():
        power *= Fraction(n, count) ** count
    return power >= Fraction(str(l)) ** n


def keeps_recursive(values: Sequence[int], c: int | str, l: int) -> bool:  # noqa: E741
    r = sorted(Counter(values).values(), reverse=True)
    return len(r) >= l and r[0] < Fraction(str(c)) * sum(r[l - 1 :])


def shares(values: Sequence[int], domain: Sequence[int]) -> list[Fraction]:
    return [Fraction(values.count(value), len(values)) for value in domain]


def equal_distance(values: Sequence[int], table: Sequence[int]) -> Fraction:
    domain = sorted(set(table))
    pairs = zip(shares(values, domain), shares(table, domain), strict=True)
    return sum((abs(p - q) for p, q in pairs), Fraction(0)) / 2


def ordered_distance(values: Sequence[int], table: Sequence[int]) -> Fraction:
    domain = sorted(set(table))
    if len(domain) == 1:
        return Fraction(0)
    work = carried = Fraction(0)
    for p, q in zip(shares(values, domain), shares(table, domain), strict=True):
        carried += p - q
        work += abs(carried)
    return work / (len(domain) - 1)


def hierarchical_distance(values: Sequence[int], table: Sequence[int], paths: Paths) -> Fraction:
    """As Li et al. have it: what a node's children can settle among themselves costs the node's height.

    ``paths[value]`` are the labels from the leaf to the root; labels of one level are different.
    """
    height = len(next(iter(paths.values()))) - 1
    extra = {path[0]: shares(values, [v])[0] - shares(table, [v])[0] for v, path in paths.items()}
    work = Fraction(0)
    for level in range(1, height + 1):
        edges = {(path[level - 1], path[level]) for path in paths.values()}
        surplus = {node: Fraction(0) for _, node in edges}
        lack = dict(surplus)
        for child, node in edges:
            surplus[node] += max(extra[child], Fraction(0))
            lack[node] += max(-extra[child], Fraction(0))
        for node in surplus:
            work += Fraction(level, height) * min(surplus[node], lack[node])
        extra = {node: surplus[node] - lack[node] for node in surplus}
    return work


def node_distance(a: int, b: int, paths: Paths) -> Fraction:
    """The height of the smallest node over two leaves, as a share of the tree's height."""
    height = len(paths[a]) - 1
    return Fraction(next(level for level in range(height + 1) if paths[a][level] == paths[b][level]), height)


# ---- measures: what a published cell costs -------------------------------------------------------------
#
# A column is a dict: `values` lists its domain (None is missing), `ranged` says whether its cells are
# ranges, `original` lists the value of each record, `paths` gives the labels from each leaf to the root.
# A cell is a dict: `covers` is a set of values, `ends` the two numbers of a range (None if it has none),
# `level` the level of a label (None if it is no label).

Column = dict[str, Any]
Cell = dict[str, Any]


def cell_side(column: Column, cell: Cell) -> Any:
    real = [value for value in column["values"] if value is not None]
    if not column["ranged"] or len(real) < 2:
        return len(cell["covers"]) - 1
    if cell["covers"] == {None}:
        return 0
    width = cell["ends"][1] - cell["ends"][0]
    span = max(real) - min(real)
    if None in cell["covers"] and width < span:
        return min(span, width + Fraction(span, len(column["values"]) - 1))
    return width


def cell_loss(column: Column, cell: Cell, xu: bool = False, plus: int = 0) -> Any:
    real = [value for value in column["values"] if value is not None]
    size = len(column["values"])
    if size == 1:
        return 0
    if column["ranged"] and len(real) > 1:
        return min(1, Fraction(cell_side(column, cell) + plus) / (max(real) - min(real) + plus))
    if xu:
        return Fraction(len(cell["covers"]), size) if len(cell["covers"]) > 1 else 0
    return Fraction(len(cell["covers"]) - 1, size - 1)


def cell_entropy(column: Column, cell: Cell) -> Any:
    inside = Counter(value for value in column["original"] if value in cell["covers"])
    return sum(count / inside.total() * log2(inside.total() / count) for count in inside.values())


def cell_level(column: Column, cell: Cell) -> Any:
    if len(column["values"]) == 1:
        return 0
    paths = column["paths"]
    if paths is None:
        return 0 if len(cell["covers"]) == 1 else 1
    height = len(next(iter(paths.values()))) - 1
    if cell["level"] is not None:
        return Fraction(cell["level"], height)
    if not cell["covers"] <= set(paths):  # missing beside the tree: alone, or only the root covers both
        return 0 if len(cell["covers"]) == 1 else 1
    under = [level for level in range(height + 1) if len({paths[v][level] for v in cell["covers"]}) == 1]
    return Fraction(min(under), height)


def measures(columns: list[Column], rows: list[list[Cell]], k: int) -> dict[str, Any]:
    """Every measure of published rows (a list of cells each); records left out are rows of everything."""
    n, r = len(columns[0]["original"]), len(columns)
    gone = [[everything(column) for column in columns]] * (n - len(rows))
    charged = list(zip(columns, zip(*(rows + gone), strict=True), strict=True))
    classes = Counter(repr(list(map(cell_meaning, columns, row))) for row in rows)

    def total(cost: Any, **options: Any) -> Any:
        return sum(cost(column, cell, **options) for column, cells in charged for cell in cells)

    return {
        "dm": sum(size**2 for size in classes.values()) + len(gone) * n,
        "c_avg": Fraction(len(rows), len(classes) * k) if rows else 0,
        "ncp_perimeter": 2
        * total(lambda column, cell: len(column["values"]) > 1 and cell_side(column, cell)),
        "ncp": total(cell_loss),
        "xu": total(cell_loss, xu=True),
        "gcp": total(cell_loss) / Fraction(n * r),
        "entropy": total(cell_entropy) / (n * r),
        "il": total(cell_loss, plus=1) / Fraction(n),
        "il_zero": total(cell_loss) / Fraction(n),
        "tree": total(cell_level) / Fraction(n * r),
    }


def everything(column: Column) -> Cell:
    real = [value for value in column["values"] if value is not None]
    ends = (min(real), max(real)) if column["ranged"] and real else None
    return {"covers": set(column["values"]), "ends": ends, "level": None}


def cell_meaning(column: Column, cell: Cell) -> Any:
    return sorted(cell["covers"], key=repr), cell["ends"], cell_level(column, cell)


def better_row(a: list[Cell], b: list[Cell]) -> bool:
    pairs = [(x["covers"], y["covers"]) for x, y in zip(a, b, strict=True)]
    return all(x <= y for x, y in pairs) and any(x < y for x, y in pairs)


def better_table(a: list[list[Cell]], b: list[list[Cell]]) -> bool:
    pairs = list(zip(a, b, strict=True))
    same = [[x["covers"] for x in row] == [y["covers"] for y in other] for row, other in pairs]
    better = [better_row(row, other) for row, other in pairs]
    return any(better) and all(x or y for x, y in zip(same, better, strict=True))


# ---- cuts: Mondrian and its single-dimensional rival ---------------------------------------------------
#
# An axis says what a set of its codes costs: ("range", positions), ("set", number of values) or
# ("tree", paths), a path being the nodes from a leaf to the root, each a frozenset of leaves.

Point = tuple[int, ...]
Axis = tuple[str, Any]


def lower_median(values: Sequence[int]) -> int:
    return sorted(values)[(len(values) + 1) // 2 - 1]


def covering_node(paths: Any, codes: Sequence[int]) -> frozenset[int]:
    return next(node for node in paths[codes[0]] if set(codes) <= node)


def axis_extent(axis: Axis, codes: Sequence[int]) -> float:
    """Width as a choice of dimension sees it: in values, sets by their codes."""
    kind, about = axis
    if kind == "tree":
        return axis_cost(axis, codes)
    positions = about if kind == "range" else list(range(about))
    span = positions[-1] - positions[0]
    scale = 1.0 / span if span else 0.0
    return float((positions[max(codes)] - positions[min(codes)]) * scale)


def axis_cost(axis: Axis, codes: Sequence[int]) -> float:
    kind, about = axis
    if kind == "set":
        return (len(set(codes)) - 1) * (1.0 / (about - 1) if about > 1 else 0.0)
    if kind == "tree":
        return (len(covering_node(about, codes)) - 1) / max(len(about) - 1, 1)
    return axis_extent(axis, codes)


def median_cuts(values: Sequence[int], k: int, printed: bool, both: bool) -> list[list[bool]]:
    """Allowable cuts at the lower median, as 'goes left' for each value: {<= m}, else (or too) {< m}."""
    middle = lower_median(values)
    upto = [v <= middle for v in values]
    below = [v < middle for v in values]
    fit = [c for c in (upto, below) if k <= sum(c) <= len(values) - k and not (printed and c is below)]
    return fit if both else fit[:1]


def tree_children(axis: Axis, codes: Sequence[int]) -> dict[frozenset[int], list[bool]]:
    """The inhabited children of the smallest node over the codes, with who lies in each."""
    paths = axis[1]
    top = covering_node(paths, codes)
    below = {code: next((n for n in reversed(paths[code]) if n < top), top) for code in codes}
    return {child: [below[code] == child for code in codes] for child in set(below.values())}


def parts_of(members: Sequence[int], lefts: Sequence[Sequence[bool]]) -> list[list[int]]:
    return [[m for m, inside in zip(members, left, strict=True) if inside] for left in lefts]


def axis_cuts(points: Sequence[Point], members: list[int], j: int, axis: Axis, k: int, rule: Any) -> Any:
    """All cuts of one axis that the rule considers, each as a list of parts."""
    codes = [points[m][j] for m in members]
    if not rule["strict"]:
        half = len(members) // 2 if rule["odd"] == "right" else (len(members) + 1) // 2
        order = sorted(members, key=lambda m: (points[m][j], m))
        return [[sorted(order[:half]), sorted(order[half:])]]
    if len(set(codes)) == 1:
        return []
    medians = [
        parts_of(members, [left, [not x for x in left]])
        for left in median_cuts(codes, k, rule["printed"], rule["choose"] == "gain")
    ]
    if axis[0] != "tree":
        return medians
    children = tree_children(axis, codes)
    if rule["choose"] != "gain":
        fit = all(sum(inside) >= k for inside in children.values())
        return [parts_of(members, list(children.values()))] if fit and len(children) > 1 else []
    top = axis_cost(axis, codes)
    fit_children = [
        (sum(inside) * (top - axis_cost(axis, [c for c, x in zip(codes, inside, strict=True) if x])), inside)
        for inside in children.values()
        if k <= sum(inside) <= len(codes) - k
    ]
    if not fit_children:
        return medians
    lowest = lambda inside: min(c for c, x in zip(codes, inside, strict=True) if x)  # noqa: E731
    _, left = max(fit_children, key=lambda cut: (cut[0], -lowest(cut[1])))
    return [*medians, parts_of(members, [left, [not x for x in left]])]


def loss_of_parts(points: Sequence[Point], parts: list[list[int]], axes: Sequence[Axis]) -> float:
    total = 0.0
    for j, axis in enumerate(axes):
        both = [[points[m][j] for m in part] for part in parts]
        if len(set(both[0] + both[1])) == 1:
            continue
        if axis[0] == "set":
            scale = 1.0 / (axis[1] - 1)
            total += sum((len(set(codes)) - 1) * len(codes) for codes in both) * scale
        else:
            total += axis_cost(axis, both[0]) * len(both[0]) + axis_cost(axis, both[1]) * len(both[1])
    return total


def mondrian(points: Sequence[Point], axes: Sequence[Axis], k: int, **given: Any) -> set[frozenset[int]]:
    """Cut while some axis has a cut; rules: choose, strict, printed, odd, allows."""
    rule = {
        "choose": "gain",
        "strict": True,
        "printed": False,
        "odd": "left",
        "allows": lambda part: True,
    } | given
    groups: set[frozenset[int]] = set()
    pending = [(list(range(len(points))), 0)]
    while pending:
        members, turn = pending.pop()
        found = chosen_cut(points, members, turn, axes, k, rule) if len(members) >= 2 * k else None
        if found is None:
            groups.add(frozenset(members))
        else:
            pending += [(part, (found[0] + 1) % len(axes)) for part in found[1]]
    return groups


def chosen_cut(points: Sequence[Point], members: list[int], turn: int, axes: Any, k: int, rule: Any) -> Any:
    columns = [[points[m][j] for m in members] for j in range(len(axes))]
    order = list(range(len(axes)))
    if rule["choose"] == "round-robin":
        order = order[turn:] + order[:turn]
    if rule["choose"] == "widest":
        order.sort(key=lambda j: -axis_extent(axes[j], columns[j]))
    candidates = [(j, parts) for j in order for parts in axis_cuts(points, members, j, axes[j], k, rule)]
    if rule["choose"] == "gain":
        candidates.sort(key=lambda c: loss_of_parts(points, c[1], axes))
    return next((c for c in candidates if all(rule["allows"](part) for part in c[1])), None)


def single_dimensional(points: Sequence[Point], k: int, choose: str = "round-robin") -> set[frozenset[int]]:
    """Cut axes by whole lines; every region that a line meets must keep k on both sides."""
    d = len(points[0])
    lines: list[list[int]] = [[] for _ in range(d)]

    def slab(j: int, code: int) -> int:
        return sum(code > line for line in lines[j])

    def regions() -> dict[tuple[int, ...], list[int]]:
        found: dict[tuple[int, ...], list[int]] = {}
        for m, point in enumerate(points):
            found.setdefault(tuple(slab(j, point[j]) for j in range(d)), []).append(m)
        return found

    def allowable(j: int, line: int) -> bool:
        met = [members for where, members in regions().items() if where[j] == slab(j, line)]
        return all(k <= sum(points[m][j] <= line for m in members) <= len(members) - k for members in met)

    def line_of(j: int) -> int | None:
        slabs: dict[int, list[int]] = {}
        for point in points:
            slabs.setdefault(slab(j, point[j]), []).append(point[j])
        for _, codes in sorted(slabs.items(), key=lambda item: (-len(item[1]), item[0])):
            fit = [x for x in sorted(set(codes))[:-1] if allowable(j, x)]
            if fit:
                return min(fit, key=lambda x: (abs(len(codes) - 2 * sum(c <= x for c in codes)), x))
        return None

    j, misses = 0, 0
    while misses < d:
        line = line_of(j)
        if line is None:
            misses, j = misses + 1, (j + 1) % d
        else:
            lines[j].append(line)
            misses, j = 0, j if choose == "axis" else (j + 1) % d
    return {frozenset(members) for members in regions().values()}


# ---- generalize: the smallest permissible cell over some values (None is missing) ----------------------


def smallest_range(values: Sequence[int | None]) -> tuple[int | None, int | None, bool]:
    """The smallest and the largest number, and whether missing is there too."""
    real = [value for value in values if value is not None]
    return min(real, default=None), max(real, default=None), None in values


def smallest_node(values: Sequence[int | None], paths: Any, beside: bool) -> tuple[Any, bool]:
    """The lowest node (a set of leaves) over the leaves, and whether missing is inside.

    If missing hangs beside the tree, the root stands for it too.
    """
    leaves = [value for value in values if value is not None]
    if not leaves:
        return None, True
    node = covering_node(paths, leaves)
    return node, None in values or (beside and len(node) == len(paths))


def smallest_set(values: Sequence[int], family: Sequence[frozenset[int]]) -> frozenset[int]:
    """The values themselves, or what all permissible sets that hold them have in common."""
    above = [member for member in family if set(values) <= member]
    return frozenset.intersection(*above) if family else frozenset(values)


def mean_text(values: Sequence[str | None], places: int, least: int) -> str:
    """The mean of decimals, with one decimal place more than they have, half to even."""
    known = [Fraction(value) for value in values if value is not None]
    if len(known) < least:
        return ""
    scaled = round(sum(known) / len(known) * 10 ** (places + 1))
    digits = str(abs(scaled)).rjust(places + 2, "0")
    return f"{'-' * (scaled < 0)}{digits[: -places - 1]}.{digits[-places - 1 :]}"


# ---- graph: which record can be behind which row -------------------------------------------------------

Adjacency = Sequence[Sequence[int]]


def adjacency(records: Sequence[Sequence[Any]], rows: Sequence[Sequence[Any]]) -> list[list[int]]:
    """The rows that hold each record; a row is a set of values for each attribute."""
    return [
        [j for j, row in enumerate(rows) if all(x in cell for x, cell in zip(record, row, strict=True))]
        for record in records
    ]


def assignments(adjacent: Adjacency, rows: int) -> list[tuple[int, ...]]:
    """Every way to give records rows of their own so that all rows are used; -1 is no row."""
    people = len(adjacent)
    orders = permutations([*range(rows), *[-1] * (people - rows)])
    return sorted({p for p in orders if all(j < 0 or j in adjacent[i] for i, j in enumerate(p))})


def effective(adjacent: Adjacency, rows: int) -> set[tuple[int, int]]:
    return {(i, j) for p in assignments(adjacent, rows) for i, j in enumerate(p) if j >= 0}


def match_chances(adjacent: Adjacency, rows: int) -> dict[tuple[int, int], Fraction]:
    """The share of the assignments in which record i has row j."""
    found = assignments(adjacent, rows)
    counts = Counter((i, j) for p in found for i, j in enumerate(p) if j >= 0)
    return {edge: Fraction(count, len(found)) for edge, count in counts.items()}


def has_factor(adjacent: Adjacency, k: int) -> bool:
    """Is there a subgraph in which every record and every row has k neighbours?"""

    def served(i: int, left: tuple[int, ...]) -> bool:
        if i == len(adjacent):
            return True
        choices = combinations([j for j in adjacent[i] if left[j]], k)
        return any(served(i + 1, tuple(x - (j in c) for j, x in enumerate(left))) for c in choices)

    return served(0, (k,) * len(adjacent))


def points_inside(points: Sequence[Sequence[int]], region: Sequence[Sequence[tuple[int, int]]]) -> list[int]:
    """The points of which every coordinate lies in one of the runs of its side."""
    return [
        i
        for i, point in enumerate(points)
        if all(any(a <= x <= b for a, b in runs) for x, runs in zip(point, region, strict=True))
    ]


# ---- clusters: agglomerative, forest, and what a closure costs ----------------------------------------
#
# Axes as for cuts. `count` is how often each code of an axis occurs in the whole table.


def closure_bits(axis: Axis, codes: Sequence[int], count: Mapping[int, int]) -> float:
    """Bits of the table's values inside the smallest cell over the codes."""
    kind, about = axis
    if kind == "range":
        cell = set(range(min(codes), max(codes) + 1))
    else:
        cell = set(codes) if kind == "set" else set(covering_node(about, codes))
    inside = [count[code] for code in cell if count.get(code)]
    return -sum(c / sum(inside) * log2(c / sum(inside)) for c in inside)


def row_cost(points: Sequence[Point], members: Sequence[int], axes: Sequence[Axis], measure: str) -> float:
    """What each row of a group costs: the mean of its cells."""
    total = 0.0
    for j, axis in enumerate(axes):
        codes = [points[i][j] for i in members]
        if measure == "lm":
            total += axis_cost(axis, codes)
        else:
            total += closure_bits(axis, codes, Counter(point[j] for point in points))
    return total / len(axes)


def cluster_distance(kind: str, union: float, a: float, b: float, size_a: int, size_b: int) -> float:
    """The distances of the paper, given what rows of the union and of its parts cost."""
    size = size_a + size_b
    value = {
        "8": size * union - size_a * a - size_b * b,
        "9": union - a - b,
        "10": (union - a - b) / log(size),
        "11": union / (a + b + 0.1),
        "nc": min(union - a, union - b),
    }[kind]
    return round(value, 10)


def agglomerative(
    points: Sequence[Point], axes: Sequence[Axis], k: int, distance: str, measure: str, modified: bool
) -> set[frozenset[int]]:
    """Merge the closest two clusters until they have k; ties by the smallest members."""
    known: dict[tuple[int, ...], float] = {}

    def cost(members: Sequence[int]) -> float:
        key = tuple(sorted(members))
        if key not in known:
            known[key] = row_cost(points, key, axes, measure)
        return known[key]

    def apart(a: Sequence[int], b: Sequence[int]) -> float:
        return cluster_distance(distance, cost([*a, *b]), cost(a), cost(b), len(a), len(b))

    pool, ripe = [[i] for i in range(len(points))], []
    while len(pool) > 1 and k > 1:
        pool.sort()
        pairs = [(a, b) for i, a in enumerate(pool) for b in pool[i + 1 :]]
        a, b = min(pairs, key=lambda pair: (apart(*pair), pair[0][0], pair[1][0]))
        union = sorted(a + b)
        pool = [each for each in pool if each not in (a, b)]
        if len(union) < k:
            pool.append(union)
            continue
        while modified and len(union) > k:
            out = min(union, key=lambda i: (round(cost([m for m in union if m != i]), 10), -i))
            union.remove(out)
            pool.append([out])
        ripe.append(union)
    for i in sorted(i for each in pool for i in each):
        if k == 1:
            ripe.append([i])
        else:
            min(ripe, key=lambda each: (apart([i], each), min(each))).append(i)
    return {frozenset(each) for each in ripe}


def forest_edges(
    points: Sequence[Point], axes: Sequence[Axis], k: int, measure: str
) -> list[tuple[int, int]]:
    """Each tree with fewer than k vertices, by its smallest one, gets an edge to the nearest vertex outside.

    The edge begins at the one vertex of the tree that has none going out.
    """
    trees = [{i} for i in range(len(points))]
    edges: list[tuple[int, int]] = []
    while any(len(tree) < k for tree in trees):
        tree = min((each for each in trees if len(each) < k), key=min)
        (u,) = tree - {a for a, _ in edges}
        outside = [v for v in range(len(points)) if v not in tree]
        v = min(outside, key=lambda v: (round(row_cost(points, (u, v), axes, measure), 10), v))
        edges.append((u, v))
        other = next(each for each in trees if v in each)
        trees = [each for each in trees if each not in (tree, other)] + [tree | other]
    return edges


def least_loss(points: Sequence[Point], axes: Sequence[Axis], k: int, measure: str) -> float:
    """The smallest loss, summed over rows, of any partition into groups of at least k."""

    def best(rest: tuple[int, ...]) -> float:
        if not rest:
            return 0.0
        found = float("inf")
        for size in range(k - 1, len(rest)):
            for others in combinations(rest[1:], size):
                group = (rest[0], *others)
                after = best(tuple(i for i in rest if i not in group))
                found = min(found, len(group) * row_cost(points, group, axes, measure) + after)
        return found

    return best(tuple(range(len(points))))
