"""l-diversity in cuts that an engine makes: a cut whose parts would break it is refused, as in memory.

The engine counts the sensitive values of each part; the models that guard cuts in memory decide on counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from incrowd.engines.base import CutTree, Engine, Histogram
from incrowd.engines.weighted import InWeights
from incrowd.models.counting import dense
from incrowd.models.l_diversity import ClassModel


def keeps(model: ClassModel, values: Histogram) -> bool:
    """Do rows with these values, as one class, keep the promise?

    Examples
    --------
    >>> from incrowd.models.l_diversity import DistinctDiversity
    >>> keeps(DistinctDiversity(2, "ill"), Histogram(np.array([3, 7]), np.array([1, 9])))
    True
    """
    if not values.codes.size:
        return False
    codes, size = dense(values.codes.astype(np.int32))
    counted = InWeights(codes, values.counts.astype(np.int32), size)
    return model.counted(counted).allows(np.arange(codes.size, dtype=np.int32))


class CutGuards:
    """The promises of l; `names` are the sensitive columns whose codes the engine has, in its order."""

    def __init__(self, engine: Engine, models: Sequence[ClassModel], names: Sequence[str]) -> None:
        self._engine, self._models, self._names = engine, models, names

    def __bool__(self) -> bool:
        return bool(self._models)

    def kept(self, tree: CutTree, parts: Mapping[int, Sequence[int]]) -> set[int]:
        """Of cuts on trial in a tree, by node: those of which every part keeps all promises."""
        found = set(parts)
        for value, name in enumerate(self._names):
            models = [model for model in self._models if model.column == name]
            leaves = [leaf for node in sorted(found) for leaf in parts[node]]
            if not leaves:
                break
            counted = self._engine.node_histograms(tree, leaves, value)
            found = {
                node
                for node in found
                if all(keeps(model, counted[leaf]) for model in models for leaf in parts[node])
            }
        return found
