"""The k of a published table as pycanon counts it: the smallest number of rows with equal quasi-identifiers.

    python pycanon_k.py output.csv column ...

Runs in an environment of its own, which has pycanon and pandas and nothing of incrowd.
"""

from __future__ import annotations

import sys

import pandas as pd
from pycanon.anonymity import k_anonymity


def main() -> None:
    output, *columns = sys.argv[1:]
    print(k_anonymity(pd.read_csv(output, dtype=str, keep_default_na=False), columns))


if __name__ == "__main__":
    main()
