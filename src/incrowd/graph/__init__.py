"""Which record can be behind which published row, and what an adversary concludes from it."""

from incrowd.graph.classes import classes, largest
from incrowd.graph.components import Components, components
from incrowd.graph.consistency import Counts, Graph, consistency
from incrowd.graph.factor import factor, has_factor, lambda_star
from incrowd.graph.level import levels
from incrowd.graph.posterior import Posterior, posterior
from incrowd.graph.sampling import Chances, Estimate, GraphComponents, Sampled, chances, sample

__all__ = [
    "Chances",
    "Components",
    "Counts",
    "Estimate",
    "Graph",
    "GraphComponents",
    "Posterior",
    "Sampled",
    "chances",
    "classes",
    "components",
    "consistency",
    "factor",
    "has_factor",
    "lambda_star",
    "largest",
    "levels",
    "posterior",
    "sample",
]
