"""anjana's k-anonymity on a CSV file, with a tenth of the records suppressed at most; cells are labels.

    python anjana_levels.py table.csv k output.csv hierarchies column ...

Runs in an environment of its own, which has anjana and pandas and nothing of incrowd.
"""

from __future__ import annotations

import re
import sys

import pandas as pd
from anjana.anonymity import k_anonymity

SUPPRESSED = 10  # per cent


def main() -> None:
    table, k, output, hierarchies, *columns = sys.argv[1:]
    frame = pd.read_csv(table, dtype=str, keep_default_na=False)
    trees = {
        column: dict(
            pd.read_csv(f"{hierarchies}/{column}.csv", sep=";", header=None, dtype=str, keep_default_na=False)
        )
        for column in columns
    }
    found = k_anonymity(frame, [], columns, int(k), SUPPRESSED, trees)
    for column in columns:
        found[column] = [
            text if text == "*" else re.sub(r"([\\|{}\[\]*])", r"\\\1", text) for text in found[column]
        ]
    found[columns].to_csv(output, index=False)


if __name__ == "__main__":
    main()
