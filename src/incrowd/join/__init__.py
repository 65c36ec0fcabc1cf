"""The private table and the people of a public one, side by side, for k-join-anonymity.

Whoever is in the public table and not in the private one can stand in an equivalence class of those who are.
"""

from incrowd.join.people import JoinCounts, Joined, encode_joined, join
from incrowd.join.sources import Sources, check_public, provenance, read_sources

__all__ = [
    "JoinCounts",
    "Joined",
    "Sources",
    "check_public",
    "encode_joined",
    "join",
    "provenance",
    "read_sources",
]
