"""m-invariance by its definition, without counterfeits: who is shown with which values, from lists."""

from __future__ import annotations

from typing import Any

Shown = dict[int, frozenset[int]]  # everybody with a row, and the values of their class


def played(nights: list[tuple[set[int], set[int]]], values: list[int], m: int) -> list[Shown]:
    """Every release, from who is there and who is erased each night."""
    signatures: list[frozenset[int]] = []  # in the order in which they were made
    of: Shown = {}
    releases: list[Shown] = []
    for present, erased in nights:
        here = sorted(present - erased)
        new = {v: [p for p in here if p not in of and values[p] == v] for v in sorted(set(values))}
        last = releases[-1] if releases else {}
        shown: Shown = {}
        for signature in signatures:
            old = {v: [p for p in here if of.get(p) == signature and values[p] == v] for v in signature}
            for people in old.values():
                people.sort(key=lambda p: (p not in last, p))
            best = max(len(people) for people in old.values())
            level = min(len(people) for people in old.values())
            while level < best:
                lacking = [v for v in signature if len(old[v]) < level + 1]
                if any(not new[v] for v in lacking):
                    break
                for v in lacking:
                    old[v].append(new[v].pop(0))
                level += 1
            shown |= {p: signature for people in old.values() for p in people[:level]}
        for chosen, often in buckets({v: len(people) for v, people in new.items()}, m):
            signature = frozenset(chosen)
            if signature not in signatures:
                signatures.append(signature)
            for v in chosen:
                shown |= {new[v].pop(0): signature for _ in range(often)}
        of |= shown
        releases.append(shown)
    return releases


def buckets(counts: dict[int, int], m: int) -> list[tuple[list[int], int]]:
    """The most frequent values first: as few of them, then as often, as leave the rest m-eligible."""
    classes = max(
        g for g in range(sum(counts.values()) + 1) if sum(min(n, g) for n in counts.values()) >= m * g
    )
    left = {v: min(n, classes) for v, n in counts.items()}
    found = []
    while sum(left.values()):
        order = sorted(left, key=lambda v: (-left[v], v))
        tries = [
            (width, often)
            for width in range(m, len(order) + 1)
            for often in range(left[order[width - 1]], 0, -1)
        ]
        width, often = next(step for step in tries if eligible(after(left, order[: step[0]], step[1]), m))
        left = after(left, order[:width], often)
        found.append((order[:width], often))
    return found


def after(left: dict[int, int], chosen: list[int], often: int) -> dict[int, int]:
    return {v: n - often if v in chosen else n for v, n in left.items()}


def eligible(counts: dict[int, int], m: int) -> bool:
    """No value has more than 1/m."""
    return all(n * m <= sum(counts.values()) for n in counts.values())


def faults(releases: list[list[list[int]]], values: list[int], m: int) -> list[tuple[Any, ...]]:
    """Of classes of people, release by release: those not m-unique, and people whose signature changed."""
    found: list[tuple[Any, ...]] = []
    known: dict[int, frozenset[int]] = {}
    for number, release in enumerate(releases):
        for people in release:
            shown = [values[p] for p in people]
            if len(shown) < m or len(set(shown)) < len(shown):
                found.append(("not unique", number, people))
            for p in people:
                if known.setdefault(p, frozenset(shown)) != frozenset(shown):
                    found.append(("another signature", number, p))
    return found
