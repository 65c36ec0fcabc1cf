"""The tables that figures are measured on, as codes: real ones with hierarchies, and any numbers."""

from __future__ import annotations

import csv
import gzip
import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TextIO

import numpy as np
from bench import Codes

from incrowd.flow import Attribute, Microdata
from incrowd.schema import Kind, Shape

ADULT = ("age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country")
CENSUS = ("PUMA", "AGEP", "SEX", "RAC1P", "HISP", "SCHL", "MAR", "COW")


def real_data() -> Path | None:
    here = Path(__file__).resolve().parents[1]
    folder = Path(os.environ.get("INCROWD_DATA", here.parent / "shared" / "data"))
    return folder if folder.is_dir() else None


def adult_with_trees() -> Microdata | None:
    """Eight attributes of Adult, all with hierarchies."""
    return _with_trees("adult", "adult.csv", ADULT, None)


def census_with_trees(n: int) -> Microdata | None:
    """Eight attributes of the first n people of the census, all with hierarchies."""
    return _with_trees("acs2024_census", "census.csv.gz", CENSUS, n)


def first(data: Microdata, n: int) -> Microdata:
    return Microdata(data.codes[:n], data.attributes)


def _with_trees(name: str, file: str, columns: tuple[str, ...], n: int | None) -> Microdata | None:
    from incrowd import Policy
    from incrowd.encode import encode
    from incrowd.flow import Table

    data = real_data()
    if data is None:
        return None
    with opened(data / name / file) as lines:
        rows = list(islice(csv.DictReader(lines), n))
    table = Table.of({column: [row[column] for row in rows] for column in columns})
    folder = data / name / "hierarchies"
    trees = {column: {"hierarchy": str(folder / f"{column}.csv")} for column in columns}
    policy = Policy(quasi_identifiers=trees, privacy={"k": 10})
    return encode(table, policy.schema(table))


@contextmanager
def opened(path: Path) -> Iterator[TextIO]:
    if path.suffix == ".gz":
        with gzip.open(path, "rt", newline="") as lines:
            yield lines
    else:
        with path.open(newline="") as lines:
            yield lines


def microdata(codes: Codes) -> Microdata:
    """Codes as numbers that are their own values."""
    dense = np.empty_like(codes)
    attributes = []
    for j in range(codes.shape[1]):
        values, dense[:, j] = np.unique(codes[:, j], return_inverse=True)
        texts = tuple(map(str, values.tolist()))
        attributes.append(Attribute(f"a{j}", Kind.NUMERIC, Shape.RANGE, texts, values.astype(np.float64)))
    return Microdata(dense, tuple(attributes))
