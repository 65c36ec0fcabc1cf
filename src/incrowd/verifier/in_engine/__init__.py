"""The verifier for tables that do not fit into memory: its own SQL in a database session that it is given.

It shares nothing with what publishes. CSV files it reads by itself, piece by piece; texts, cells and
hierarchies have the meaning that the verifier in memory gives them, found out on distinct texts.
"""

from incrowd.verifier.in_engine.checks import EngineFiles, verify_in_engine
from incrowd.verifier.in_engine.people import JoinedOriginals
from incrowd.verifier.in_engine.ranked_columns import ClassWitness
from incrowd.verifier.in_engine.relations import Relation, SqlSession, parquet_relation
from incrowd.verifier.in_engine.series import EarlierInEngine, SeriesInEngine, effective_rows

__all__ = [
    "ClassWitness",
    "EarlierInEngine",
    "EngineFiles",
    "JoinedOriginals",
    "Relation",
    "SeriesInEngine",
    "SqlSession",
    "effective_rows",
    "parquet_relation",
    "verify_in_engine",
]
