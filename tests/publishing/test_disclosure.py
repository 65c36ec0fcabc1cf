"""What publish says beyond the promise, and what it refuses for that."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.commands import incrowd

from incrowd.commands.publish import publish
from incrowd.errors import Exposure
from incrowd.flow import Microdata, Sensitive, Table
from incrowd.policy import Policy
from incrowd.publishing.pipeline import publish_to
from incrowd.publishing.warnings import single_valued_neighbourhoods
from incrowd.schema import Kind


def people(n: int, ill: Any) -> Table:
    """People of two columns, some jobs more common than others; `ill` says what each job has."""
    jobs = [job for job in range(8) for _ in range(3 + job)] * n
    return Table.of(
        {
            "age": [str(20 + i % 40) for i in range(n)],
            "job": ["abcdefgh"[job] for job in jobs[:n]],
            "ill": [ill(i, jobs[i]) for i in range(n)],
        }
    )


def anatomy(**more: Any) -> Policy:
    quasi = {"age": {"type": "numeric"}, "job": {"type": "categorical"}}
    return Policy(
        quasi_identifiers=quasi, sensitive=["ill"], method="anatomy", privacy={"k": 2, "l": 2}, **more
    )


def test_values_that_go_with_rows_are_refused_by_name() -> None:
    told = people(1040, lambda _, job: "stuvwxyz"[job])  # the job tells it
    with pytest.raises(Exposure) as refused:
        publish(told, anatomy(accept=["exact-rows"]))
    assert refused.value.name == "correlated-values"
    assert "1/2 was asked for" in str(refused.value)
    release = publish(told, anatomy(accept=["exact-rows", "correlated-values"]))
    assert release.told is not None
    assert release.told["values_guessed"]["share"] > 0.75
    assert release.manifest["accepted"] == ["correlated-values", "exact-rows"]


def test_values_that_go_with_nothing_are_not() -> None:
    shuffled = np.random.default_rng(5).permutation(960)
    release = publish(people(960, lambda i, _: "xy"[shuffled[i] % 2]), anatomy(accept=["exact-rows"]))
    assert release.told is not None
    assert release.told["values_guessed"]["share"] < 0.65
    assert release.told["by_group_alone"]["share"] == 0.5


def test_few_people_prove_nothing() -> None:
    """A guess that is right for six of six is no proof that values go with rows."""
    release = publish(people(6, lambda i, _: "xy"[i % 2]), anatomy(accept=["exact-rows"]))
    assert release.told is not None


@pytest.mark.parametrize("method", ["mondrian", "lexicographic", "hilbert"])
def test_classes_have_nothing_to_tell(method: str) -> None:
    policy = Policy(quasi_identifiers=["age", "job"], sensitive=["ill"], privacy={"k": 4})
    assert publish(people(40, lambda *_: "x"), policy, method=method).disclosure is None


def test_a_ring_is_told_about(tmp_path: Path) -> None:
    quasi = {"age": {"type": "numeric", "publish": "set"}, "job": {"type": "categorical"}}
    policy = Policy(quasi_identifiers=quasi, sensitive=["ill"], privacy={"k": 3}, method="ring")
    written = publish_to(people(70, lambda i, _: str(i % 5)), policy, tmp_path / "out")
    told = written.to_dict()["told"]
    assert told["rows_given_away"] > 10
    assert 0.5 <= told["after_one_known"]["share"] <= 0.6
    audit = json.loads((tmp_path / "out.audit" / "audit.json").read_text(encoding="utf-8"))
    assert audit["told"]["rows_given_away"] == told["rows_given_away"]
    assert "told" not in json.loads((tmp_path / "out" / "release.json").read_text(encoding="utf-8"))


def test_the_story_says_it(tmp_path: Path) -> None:
    table = people(70, lambda i, _: str(i % 5))
    rows = zip(*(column.rows() for column in table.columns), strict=True)
    lines = [",".join(table.names), *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "p.toml").write_text(
        'sensitive = ["ill"]\nmethod = "ring"\n[quasi_identifiers]\n'
        'age = {type = "numeric", publish = "set"}\n'
        'job = {type = "categorical"}\n[privacy]\nk = 3\n',
        encoding="utf-8",
    )
    done = incrowd("publish", tmp_path / "t.csv", "-p", tmp_path / "p.toml", "-o", tmp_path / "out")
    said = " ".join(done.out.split())
    assert "each of 3 rows with a probability of exactly 1/3" in said
    assert "reveals the exact quasi-identifiers of" in said
    assert "--set hide_rows=true" in said
    assert "an adversary who knows one person's row" in said


@given(st.lists(st.lists(st.integers(0, 2), min_size=3, max_size=3), min_size=1, max_size=8), st.data())
def test_candidates_with_a_single_value_are_counted(values: list[list[int]], data: st.DataObject) -> None:
    """For each record, its three candidates have one value of the column, or several."""
    codes = np.array([code for each in values for code in each], np.int32)
    order = np.array(data.draw(st.permutations(range(codes.size))))
    shuffled = np.empty_like(codes)
    shuffled[order] = codes
    sensitive = Sensitive("ill", Kind.CATEGORICAL, shuffled, 3)
    people = Microdata(np.zeros((codes.size, 0), np.int32), (), (sensitive,))
    found = single_valued_neighbourhoods(people, order.reshape(-1, 3))
    assert found == {"ill": sum(len(set(each)) == 1 for each in values)}
