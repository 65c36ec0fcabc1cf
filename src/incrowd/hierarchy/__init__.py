"""Generalised values of a column: trees, permissible families, and how trees are read and built."""

from incrowd.hierarchy.family import Family
from incrowd.hierarchy.tree import Hierarchy

__all__ = ["Family", "Hierarchy"]
