"""Which record can be behind which published row, and what an adversary concludes from it."""

from incrowd.graph.classes import classes, largest
from incrowd.graph.components import Components, components
from incrowd.graph.consistency import Counts, Graph, consistency
from incrowd.graph.factor import has_factor, lambda_star
from incrowd.graph.posterior import Posterior, posterior

__all__ = [
    "Components",
    "Counts",
    "Graph",
    "Posterior",
    "classes",
    "components",
    "consistency",
    "has_factor",
    "lambda_star",
    "largest",
    "posterior",
]
