"""Which record can be behind which published row, and what an adversary concludes from it."""

from incrowd.graph.components import Components, GraphComponents, components, levels
from incrowd.graph.consistency import Counts, Graph, consistency
from incrowd.graph.factor import factor, lambda_star
from incrowd.graph.posterior import Posterior, posterior
from incrowd.graph.sampling import Chances, Estimate, Sampled, chances, sample

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
    "components",
    "consistency",
    "factor",
    "lambda_star",
    "levels",
    "posterior",
    "sample",
]
