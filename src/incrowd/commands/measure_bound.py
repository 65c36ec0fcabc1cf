"""The lower bound that goes with a measured release: of which kind it is, and does a bound speak of it?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from incrowd.flow import Attribute, Microdata
from incrowd.long_work import Watch
from incrowd.measures import CellCoverage, Published
from incrowd.measures.bounds import CLASSES, NONE, ROWS, LossBound, check_effort, loss_bound
from incrowd.release.folder import ReleaseFolder
from incrowd.schema import Shape

STEP = "bound"
BY_CLAIM = {  # what a release claims -> of which kind it is
    **dict.fromkeys(("k-anonymity", "k-persons", "k-factor"), CLASSES),
    **dict.fromkeys(("k1-anonymity", "kk-anonymity", "global-k1-anonymity"), ROWS),
}


def measured_bound(
    folder: ReleaseFolder | None,
    own: Published,
    people: Microdata,
    k: int,
    loss: float,
    effort: str,
    watch: Watch,
) -> LossBound:
    """What no release of this kind can be below; `folder` is None for a table of another tool."""
    check_effort(effort)
    kind, why_not = _kind(folder, own, k)
    if effort == NONE or why_not:
        return LossBound(k, kind, effort, why_not=why_not or "it was not asked for")
    strange = [a.name for a, cells in zip(own.attributes, own.cells, strict=True) if not permitted(a, cells)]
    if strange:
        said = f"{', '.join(strange)} has cells that are not in its hierarchy or family"
        return LossBound(k, kind, effort, why_not=said)
    found = loss_bound(people, k, effort, kind, watch(STEP))
    if found.least is not None and loss < found.least:
        why_not = "these rows lose less than any that fit k records of this table; they are no release of it"
        return replace(found, least=None, why_not=why_not)
    return found


def _kind(folder: ReleaseFolder | None, own: Published, k: int) -> tuple[str, str]:
    """The kind of a release, and why no bound speaks of it; one of the two."""
    if folder is None:
        sizes = own.class_sizes
        small = not sizes.size or int(sizes.min()) < k
        return CLASSES, f"not every equivalence class has {k} rows" if small else ""
    if folder.joined:
        return CLASSES, "people of a public table are among those that rows fit"
    kinds = [BY_CLAIM[claim.model] for claim in folder.claims if claim.model in BY_CLAIM]
    if not kinds:
        return CLASSES, "the release does not claim that each row fits k records"
    return CLASSES if CLASSES in kinds else ROWS, ""


def permitted(attribute: Attribute, cells: CellCoverage) -> bool:
    """Is every cell a node of the tree or a set of the family, as bounds assume? Other columns permit all."""
    if attribute.shape is Shape.TREE and attribute.tree is not None:
        return all(_is_node(attribute, cells.codes(cell)) for cell in np.unique(cells.same).tolist())
    if attribute.family:
        members = {*attribute.family, frozenset(range(len(attribute)))}
        found = [frozenset(cells.codes(cell)) for cell in np.unique(cells.same).tolist()]
        return all(len(codes) == 1 or codes in members for codes in found)
    return True


def _is_node(attribute: Attribute, codes: list[int]) -> bool:
    tree = attribute.tree
    real = [] if tree is None else [code for code in codes if code < len(tree.leaves)]
    if tree is None or not real:
        return True
    return bool(tree.sizes()[tree.covering(real[0], real[-1])] == len(real))
