"""The verifier. It imports `errors` and `schema` and nothing else of incrowd.

`verify` takes a release folder, `verify_rows` tables at hand. Read `checks` first: it has the checks in their
order; `claims` has one module for each family of claims.
"""

from incrowd.verifier.ahead import read_ahead
from incrowd.verifier.checks import verify_rows
from incrowd.verifier.claims.join import PublicTable
from incrowd.verifier.claims.registry import claim_name
from incrowd.verifier.columns import RowSource
from incrowd.verifier.csv_file import CsvRows
from incrowd.verifier.folder import ReleaseFiles, verify
from incrowd.verifier.original import rows_of
from incrowd.verifier.request import (
    EarlierRelease,
    Expected,
    PublishedTables,
    SeriesHistory,
    Stated,
    Witness,
)
from incrowd.verifier.threads import Threads

__all__ = [
    "CsvRows",
    "EarlierRelease",
    "Expected",
    "PublicTable",
    "PublishedTables",
    "ReleaseFiles",
    "RowSource",
    "SeriesHistory",
    "Stated",
    "Threads",
    "Witness",
    "claim_name",
    "read_ahead",
    "rows_of",
    "verify",
    "verify_rows",
]
