"""The judge. It imports the words of `errors` and `schema` and nothing else of incrowd."""

from incrowd.verify.exhibits import Case
from incrowd.verify.folder import verify
from incrowd.verify.judge import claim_name, judge_rows
from incrowd.verify.people import Public
from incrowd.verify.rows import CsvRows, Rows

__all__ = ["Case", "CsvRows", "Public", "Rows", "claim_name", "judge_rows", "verify"]
