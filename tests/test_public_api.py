"""The package as Python sees it: verbs that take paths, frames, any policy; results that show themselves."""

from __future__ import annotations

import inspect
import json
import pydoc
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import incrowd as ic
import incrowd.errors
from incrowd.examples import write_example
from incrowd.publishing.pipeline import WrittenRelease
from incrowd.results import Result
from incrowd.schema import Verdict

VERBS = (
    *("attack", "audit", "compare", "inspect", "learn", "measure", "methods", "outliers", "publish"),
    *("query", "report", "series", "verify"),
)
ROLES: dict[str, Any] = {
    "identifiers": ["name", "ssn"],
    "quasi_identifiers": ["age", "sex", "zip"],
    "sensitive": ["diagnosis", "cost"],
    "drop": ["education", "occupation", "marital_status", "admitted", "visit_type"],
}
TOML = """
identifiers = ["name", "ssn"]
sensitive = ["diagnosis", "cost"]
drop = ["education", "occupation", "marital_status", "admitted", "visit_type"]
[quasi_identifiers]
age = {}
sex = {}
zip = {}
[privacy]
k = 10
"""


@pytest.fixture(scope="module")
def tour(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = write_example(tmp_path_factory.mktemp("tour"), rows=400)
    (home / "own.toml").write_text(TOML, encoding="utf-8")
    ic.publish(home / "patients.csv", home / "own.toml", home / "release")
    asked = {**ROLES, "identifiers": ["name"], "entity": "ssn", "privacy": {"k": 10}, "series": {}}
    ic.publish(home / "patients.csv", asked, home / "series")
    return home


def frame_of(kind: str, path: Path) -> Any:
    frame: Any = pd.read_csv(path, dtype=str, keep_default_na=False)
    lists = frame.to_dict("list")
    return {"path": path, "pandas": frame, "polars": pl.DataFrame(lists), "arrow": pa.table(lists)}[kind]


FRAMES = pytest.mark.parametrize("kind", ["path", "pandas", "polars", "arrow"])


def _is_error(thing: object) -> bool:
    return isinstance(thing, type) and issubclass(thing, Exception)


def test_the_package_shows_its_verbs_policy_and_errors_and_nothing_else() -> None:
    errors = [name for name, thing in vars(incrowd.errors).items() if _is_error(thing)]
    assert set(dir(ic)) == {*VERBS, "Policy", "Source", *errors}
    assert all(inspect.isfunction(getattr(ic, verb)) for verb in VERBS)


def test_importing_submodules_hides_no_verb() -> None:
    """A package of the same name would take the place of the function."""
    script = (
        "import pkgutil, importlib, incrowd\n"
        "for found in pkgutil.walk_packages(incrowd.__path__, 'incrowd.'):\n"
        "    importlib.import_module(found.name)\n"
        f"assert all(callable(getattr(incrowd, verb)) for verb in {VERBS!r})\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize("verb", [*VERBS, "Policy"])
def test_help_reads_well(verb: str) -> None:
    text = pydoc.plain(pydoc.render_doc(getattr(ic, verb)))
    about = inspect.getdoc(getattr(ic, verb)) or ""
    assert len(about.splitlines()[0]) > 20
    assert "model_" not in about
    assert text.splitlines()[0]
    if verb == "Policy":
        assert len(text.splitlines()) < (110 if sys.version_info < (3, 13) else 150)  # an argument a line
        assert "pydantic" not in text.replace("pydantic.main.BaseModel", "")
        assert not [key for key in ic.Policy.model_fields if key not in about]
    else:
        documented = about.partition("Parameters\n")[2]
        names = [name for name in inspect.signature(getattr(ic, verb)).parameters if name != "watch"]
        assert not [name for name in names if name not in documented]


@FRAMES
def test_a_path_or_any_frame_goes_in_and_the_same_kind_comes_out(kind: str, tour: Path) -> None:
    table = frame_of(kind, tour / "patients.csv")
    release = ic.publish(table, tour / "own.toml")
    if kind != "path":
        assert type(release.table) is type(table)
    assert release.verdict.passed
    assert ic.inspect(table).rows == 400
    assert ic.verify(tour / "release", table, tour / "own.toml").passed
    assert ic.measure(tour / "release", table)["rows"] == 400
    assert ic.audit(table, tour / "release", k=10).holds
    assert ic.compare(table, tour / "own.toml", ["mondrian"], [10]).by()


@pytest.mark.parametrize(
    "form",
    [
        pytest.param(lambda home: home / "own.toml", id="path"),
        pytest.param(lambda home: str(home / "own.toml"), id="text"),
        pytest.param(lambda home: ic.Policy.load(home / "own.toml"), id="Policy"),
        pytest.param(lambda _home: {**ROLES, "privacy": {"k": 10}}, id="dict"),
    ],
)
def test_a_policy_is_a_policy_a_dict_or_a_path(form: Callable[[Path], Any], tour: Path) -> None:
    release = ic.publish(tour / "patients.csv", form(tour))
    assert release.manifest["claims"][0]["parameters"] == {"k": 10}
    assert ic.verify(tour / "release", tour / "patients.csv", form(tour)).passed


def test_roles_and_the_promise_can_be_said_without_a_policy(tour: Path) -> None:
    release = ic.publish(tour / "patients.csv", **ROLES, k=5, l=2, t=0.9)
    said = [(claim["model"], claim.get("column")) for claim in release.manifest["claims"]]
    assert ("k-anonymity", None) in said
    assert ("distinct-l-diversity", "diagnosis") in said
    assert ("t-closeness", "cost") in said


def test_roles_are_said_once(tour: Path) -> None:
    with pytest.raises(ic.InputError, match="not in both"):
        ic.publish(tour / "patients.csv", tour / "own.toml", sensitive=["cost"])
    with pytest.raises(ic.PolicyError, match="or quasi_identifiers=…"):
        ic.publish(tour / "patients.csv", k=5)
    with pytest.raises(ic.PolicyError, match="a Policy, a dict, or the path"):
        ic.publish(tour / "patients.csv", 7)


def test_errors_speak_python(tour: Path) -> None:
    with pytest.raises(ic.InputError, match="replace=True"):
        ic.publish(tour / "patients.csv", tour / "own.toml", tour / "release")
    alone = ROLES | {"sensitive": ["diagnosis"], "drop": [*ROLES["drop"], "cost"]}
    with pytest.raises(ic.Exposure, match=r"accept=\['exact-rows'\]"):
        ic.publish(tour / "patients.csv", **alone, method="anatomy", k=5, l=2)
    with pytest.raises(ic.InputError, match="original=…"):
        ic.verify(tour / "release")


def results(home: Path) -> dict[str, Result]:
    table, policy, release = home / "patients.csv", home / "own.toml", home / "release"
    return {
        "inspect": ic.inspect(table),
        "publish": ic.publish(table, policy),
        "verify": ic.verify(release, table),
        "measure": ic.measure(release, table),
        "attack": ic.attack(release, table),
        "audit": ic.audit(table, release),
        "compare": ic.compare(table, policy, ["mondrian"], [10]),
        "query": ic.query(release, "SELECT COUNT(*) WHERE age <= 40"),
        "report": ic.report(release),
        "learn": ic.learn(release, table, "sex"),
        "outliers": ic.outliers(table, policy, p=["0.8"], d=["0.5"]),
        "methods": ic.methods(),
        "series": ic.series(home / "series"),
    }


def test_every_result_shows_itself(tour: Path) -> None:
    found = results(tour)
    assert set(found) == set(VERBS)
    for verb, result in found.items():
        assert isinstance(result, Result), verb
        line = repr(result)
        assert 20 < len(line) < 400, verb
        assert "\n" not in line, verb
        html = result._repr_html_()
        assert "<table>" in html, verb
        assert str(tour) not in html
        json.dumps(result.to_dict(), default=str)


def test_texts_are_escaped_in_notebooks() -> None:
    from incrowd.schema import Check

    verdict = Verdict(("<b>",), (Check("<b>", False, "<script>"),))
    assert "<script>" not in verdict._repr_html_()


def test_a_release_is_written_later_or_at_once(tour: Path, tmp_path: Path) -> None:
    later = ic.publish(tour / "patients.csv", tour / "own.toml")
    assert later.write(tmp_path / "later").name == "later"
    at_once = ic.publish(tour / "patients.csv", tour / "own.toml", tmp_path / "at_once", format="parquet")
    assert isinstance(at_once, WrittenRelease)
    assert at_once.folder == tmp_path / "at_once"
    assert (tmp_path / "at_once" / "data.parquet").exists()
    assert at_once.audit.is_dir()
    with pytest.raises(ic.InputError, match="output=…"):
        ic.publish(tour / "patients.csv", tour / "own.toml", format="parquet")
