"""anonypy's Mondrian on a CSV file: its classes as one row for each record, cells as docs/release-format.md.

    python anonypy_mondrian.py table.csv k output.csv numbers column ...

Runs in an environment of its own, which has anonypy and pandas and nothing of incrowd.
"""

from __future__ import annotations

import csv
import re
import sys

import anonypy
import pandas as pd


def escaped(text: str) -> str:
    return re.sub(r"([\\|{}\[\]*])", r"\\\1", text)


def main() -> None:
    table, k, output, numbers, *columns = sys.argv[1:]
    frame = pd.read_csv(table, dtype=str, keep_default_na=False)
    sensitive = next(name for name in frame.columns if name not in columns)
    for column in frame.columns:
        frame[column] = frame[column].astype("int64" if column in numbers.split(",") else "category")
    found = anonypy.Preserver(frame, columns, sensitive).anonymize_k_anonymity(k=int(k))
    with open(output, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        for row in found:  # an aggregate: how many people of a class have one sensitive value
            cells = []
            for column in columns:
                (text,) = row[column]
                if column in numbers.split(","):
                    low, dash, high = text.partition("-")
                    cells.append(f"[{low},{high}]" if dash else low)
                else:
                    members = sorted(escaped(member) for member in text.split(","))
                    cells.append("{" + "|".join(members) + "}" if members[1:] else members[0])
            writer.writerows([cells] * row["count"])


if __name__ == "__main__":
    main()
