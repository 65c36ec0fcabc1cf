"""The judge. It imports the words of `errors` and `schema` and nothing else of incrowd."""

from incrowd.verifier.exhibits import Case
from incrowd.verifier.folder import verify
from incrowd.verifier.people import Public
from incrowd.verifier.rows import CsvRows, Rows
from incrowd.verifier.verdict import claim_name, judge_rows

__all__ = ["Case", "CsvRows", "Public", "Rows", "claim_name", "judge_rows", "verify"]
