"""How many files somebody has to open who follows a publication from the table to the verifier.

A file is visited if a function in it is called, compiled kernels included; importing a module does not count.
The way begins where `incrowd publish` reads the table and ends where it enters the verifier, whose own files
are not counted. The bounds are what was reached: a change that needs one more file should say why.
`kja-refine` has most, since it joins two tables and cuts by another method, which it makes before it reads.
`system.py` is one for all: whatever another system than Linux lacks is asked there. The cells of large files
are numbered in `csv_scan.py`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support import visited

from incrowd.examples import write_example

pytestmark = pytest.mark.quick
MOST = {"mondrian": 27, "kja-refine": 29, "ring": 28}
POLICY = """
identifiers = ["name", "ssn"]
sensitive = ["diagnosis"]
drop = ["education", "occupation", "marital_status", "admitted", "visit_type", "cost"]
method = "{method}"

[quasi_identifiers]
age = {{type = "numeric"}}
sex = {{type = "categorical"}}
zip = {{type = "categorical"}}

[privacy]
k = 5
"""
PUBLIC = """
[public]
table = "voters.csv"
id = "ssn"
membership_secret = true
"""


def files_visited(folder: Path, method: str) -> set[str]:
    write_example(folder, 300)
    policy = folder / "simple.toml"
    policy.write_text(POLICY.format(method=method) + (PUBLIC if method.startswith("kja") else ""))
    asked = ["publish", str(folder / "patients.csv"), "-p", str(policy), "-o", str(folder / "release")]
    ran = subprocess.run([sys.executable, visited.__file__, *asked], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stderr)
    assert found["ended"]
    return set(found["files"])


@pytest.mark.parametrize("method", MOST)
def test_few_files_lie_between_the_table_and_the_verifier(tmp_path: Path, method: str) -> None:
    found = files_visited(tmp_path / "demo", method)
    assert {"tables/csv_reader.py", "publishing/draft.py", "release/stage.py"} <= found  # the trace sees
    assert len(found) <= MOST[method], sorted(found)
