"""The screen Guarantee: what cannot be is refused beside its control; the rest is one step, and in words."""

from __future__ import annotations

import html
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from support.studio_visitor import Visitor
from typer.testing import CliRunner

import incrowd as ic
from incrowd.cli.app import app
from incrowd.errors import Infeasible
from incrowd.policy import Policy
from incrowd.policy.exposures import EXPOSURES
from incrowd.studio import guarantee_forms as forms
from incrowd.studio.outlier_chart import BOTTOM, HEIGHT, TOP, chart_of


def change(visitor: Visitor, **fields: str) -> str:
    """The form as it stands, with some fields changed."""
    facts = visitor.run(visitor.studio.ask_policy, "policy")
    form: dict[str, Any] = forms.fields_of(facts) | fields
    return str(visitor.post("/guarantee", **form).text)


def policy(visitor: Visitor) -> Policy:
    return Policy.load(visitor.policy)


def privacy(visitor: Visitor) -> dict[str, Any]:
    return policy(visitor).privacy.model_dump(exclude_none=True, exclude_defaults=True)


def beside(page: str, control: str) -> str:
    """The reason that stands beside a control, which points to it."""
    found = re.findall(rf'id="{control}-problem" role="alert">(.*?)</p>', page)
    if not found:
        return ""
    assert f'aria-describedby="{control}-problem"' in page
    return html.unescape(found[0])


def sentence(page: str) -> str:
    return html.unescape(re.findall(r'<p class="sentence">(.*?)</p>', page)[0])


def test_every_number_is_one_step_and_undo_gives_the_first_bytes(at_table: Visitor) -> None:
    first = at_table.policy.read_bytes()
    change(at_table, k="20")
    assert privacy(at_table) == {"k": 20}
    change(at_table, k="own", k_own="7", l="3")
    assert privacy(at_table) == {"k": 7, "l": 3}
    change(at_table, l="2.5", l_kind="entropy", t="0.25", t_distance="ordered")
    assert privacy(at_table) == {
        "k": 7,
        "l": "2.5",
        "l_kind": "entropy",
        "t": "0.25",
        "t_distance": "ordered",
    }
    change(at_table, l="2", l_kind="recursive", c="4", t="")
    assert privacy(at_table) == {"k": 7, "l": 2, "l_kind": "recursive", "c": 4}
    change(at_table, l="", max_suppression="2.5", totals="")
    assert (privacy(at_table), policy(at_table).totals) == ({"k": 7, "max_suppression": "0.025"}, False)
    assert len(at_table.studio.session._line()) == 6
    while at_table.studio.session.undoes:
        at_table.post("/undo")
    assert at_table.policy.read_bytes() == first


@pytest.mark.parametrize(
    ("fields", "control", "reason"),
    [
        ({"k": "own", "k_own": "401"}, "k", "n=400 < k=401"),
        ({"k": "own", "k_own": "1"}, "k", "at least 2"),
        ({"k": "own", "k_own": "many"}, "k", "whole number"),
        ({"l": "21"}, "l", "diagnosis: only 20 distinct values, l=21"),
        ({"l": "1"}, "l", "above 1"),
        ({"l": "19.9", "l_kind": "entropy"}, "l", "diagnosis"),
        ({"l": "3", "l_kind": "recursive"}, "c", "needs c"),
        ({"t": "1.5"}, "t", "at most 1"),
        ({"p": "0.8"}, "plain", "give both, or neither"),
        ({"max_suppression": "120"}, "max_suppression", "from 0 to 100"),
    ],
)
def test_the_impossible_is_refused_at_once_beside_its_control(
    fields: dict[str, str], control: str, reason: str, at_table: Visitor
) -> None:
    first = at_table.policy.read_bytes()
    page = change(at_table, **fields)
    assert reason in beside(page, control)
    assert at_table.policy.read_bytes() == first
    name, typed = list(fields.items())[-1]
    assert f'value="{typed}"' in page, name  # what was typed is still there, to be mended
    assert beside(at_table.get("/guarantee").text, control) == ""


def test_what_is_refused_here_is_what_publishing_refuses(at_table: Visitor, tmp_path: Path) -> None:
    """The same sentence, from the same model, for k and for l of every kind."""
    for asked, control, fields in (
        ({"k": 401}, "k", {"k": "own", "k_own": "401"}),
        ({"k": 10, "l": 21}, "l", {"l": "21"}),
        ({"k": 10, "l": 19, "l_kind": "frequency"}, "l", {"l": "19", "l_kind": "frequency"}),
    ):
        given = policy(at_table).with_(method="mondrian", **asked)
        with pytest.raises(Infeasible) as refused:
            ic.publish(tmp_path / "patients.csv", given, tmp_path / "never")
        assert beside(change(at_table, **fields), control).removeprefix("Refused: ") in str(refused.value)
        assert not (tmp_path / "never").exists()


def test_a_method_that_does_not_keep_it_is_said_and_the_choice_stays(at_table: Visitor) -> None:
    text = at_table.policy.read_text().replace('method = "cells"', 'method = "one-k"')
    at_table.policy.write_text(text)
    at_table.post("/outside", which="theirs")
    page = change(at_table, l="3")
    assert privacy(at_table) == {"k": 10, "l": 3}
    assert "Nothing can be promised yet" in page
    assert "attention" in re.findall(r'<li class="([^"]*)"><a href="/guarantee"', page)[0]


def test_the_promise_says_what_the_release_claims(at_table: Visitor, tmp_path: Path) -> None:
    for fields in ({"k": "5"}, {"l": "2"}, {"t": "0.5"}, {"max_suppression": "5"}):
        page = change(at_table, **fields)
    said = sentence(page)
    release = ic.publish(
        tmp_path / "patients.csv", policy(at_table).with_(method="mondrian"), tmp_path / "out"
    )
    assert release is not None
    claims = json.loads((tmp_path / "out" / "release.json").read_text())["claims"]
    assert {claim["model"] for claim in claims} == {"k-anonymity", "distinct-l-diversity", "t-closeness"}
    assert "at most 1 in 5" in said
    assert "at least 2 different values of diagnosis and cost" in said
    assert "up to a distance of 0.5" in said
    assert "at most 5 % of the records are left out" in said
    assert claims[0]["adversary"] in said
    assert any("re-runs" in one for one in claims[0]["assumptions"])
    assert "does not re-run the program" in said
    assert "It is not promised" in page


@pytest.mark.parametrize("method", ["mondrian", "ring", "kk", "one-k", "anatomy", "expc", "incognito"])
def test_a_promise_is_in_words_for_every_family_of_methods(method: str, at_table: Visitor) -> None:
    """Where a method refuses the policy there is a reason; where it does not, a promise; never neither."""
    given = at_table.policy.read_text().replace('method = "cells"', f'method = "{method}"')
    given = given.replace("k = 10", "k = 10\nl = 2") if method == "anatomy" else given
    accepted = {"one-k": ["unsafe-one-sided"], "anatomy": ["exact-rows"]}.get(method, [])
    given = f"accept = {json.dumps(accepted)}\n" + given
    at_table.policy.write_text(given)
    at_table.post("/outside", which="theirs")
    page = at_table.get("/guarantee").text
    if "Nothing can be promised yet" in page:
        assert method in ("expc", "anatomy", "kk")
        assert re.findall(r'role="alert">Refused: [^<]{20,}', page)
    else:
        assert sentence(page)
        assert ("probability of at most 1 in 10" in sentence(page)) == (method in ("mondrian", "incognito"))
        assert ("Only this is promised" in sentence(page)) == (method == "one-k")


def test_transparent_is_named_where_l_does_not_hold_against_a_rerun(at_table: Visitor) -> None:
    page = change(at_table, l="3")
    assert "The method <b>transparent</b> keeps l against them" in page
    page = change(at_table, l_kind="entropy")
    assert "Use transparent" in page
    page = at_table.post("/guarantee/transparent").text
    found = policy(at_table)
    assert (found.method, found.privacy.l_kind) == ("transparent", "frequency")
    assert "keeps l also against somebody who re-runs the program" in page
    assert "does not re-run" not in sentence(page)
    at_table.post("/undo")
    assert policy(at_table).method == "cells"


def test_persons_are_counted_where_a_column_says_whose_row_it_is(visitor: Visitor, tmp_path: Path) -> None:
    rows = "".join(f"P{n // 2},{20 + n % 30},{n % 5}\n" for n in range(200))
    (tmp_path / "visits.csv").write_text("patient,age,disease\n" + rows)
    visitor.open("visits.csv")
    visitor.post("/columns/0", role="identifier")
    visitor.post("/columns/1", role="quasi_identifier")
    visitor.post("/columns/2", role="sensitive")
    page = visitor.post("/guarantee/entity", entity="0").text
    assert policy(visitor).entity == "patient"
    assert "100 persons in 200 rows" in page
    assert "other persons" in sentence(page)
    assert "n=100 < k=101" in beside(change(visitor, k="own", k_own="101"), "k")
    page = visitor.post("/guarantee/entity", entity="").text
    assert policy(visitor).entity is None
    assert "patient" in policy(visitor).identifiers
    assert "choose a column from the list" in visitor.post("/guarantee/entity", entity="17").text


def test_exposures_are_accepted_by_name_and_never_all(at_table: Visitor) -> None:
    first = at_table.policy.read_bytes()
    refused = at_table.post("/guarantee/accept", exposure="all").text
    assert "accepted one by one" in refused
    assert at_table.policy.read_bytes() == first
    at_table.post(f"/columns/{at_table.column('admitted')}", role="keep")
    page = at_table.get("/guarantee").text
    assert "blocks publishing" in page
    at_table.post("/guarantee/accept", exposure="near-unique-keep")
    assert policy(at_table).accept == ("near-unique-keep",)
    page = at_table.get("/guarantee").text
    offered = set(re.findall(r'name="exposure" value="([^"]*)"', page))
    assert offered == {"near-unique-keep"} <= {known.name for known in EXPOSURES}
    at_table.post("/guarantee/accept", exposure="near-unique-keep")
    assert policy(at_table).accept == ()
    at_table.policy.write_text(
        'accept = ["all"]\n' + at_table.policy.read_text().replace("accept = []\n", "")
    )
    at_table.post("/outside", which="theirs")
    assert "That is for research" in at_table.get("/guarantee").text
    at_table.post("/guarantee/accept", exposure="all")
    assert policy(at_table).accept == ()


def test_keys_without_a_control_are_shown_and_kept(at_table: Visitor) -> None:
    text = at_table.policy.read_text().replace(
        "k = 10", "k = 10  # agreed with the board\nplain = {p = 0.8, d = 2, weights = {age = 0.5}}"
    )
    text = text.replace("totals = true", "totals = false").replace('method = "cells"', 'method = "expc"')
    text += '\n[population]\nfraction = 0.01\n\n[descriptions]\nzip = "where they live"\n'
    at_table.policy.write_text(text)
    at_table.post("/outside", which="theirs")
    page = html.unescape(at_table.get("/guarantee").text)
    for key, value in (
        ("population", '{fraction = "0.01"}'),
        ("privacy.plain.weights", '{age = "0.5"}'),
        ("descriptions", '{zip = "where they live"}'),
    ):
        assert f"<dt><code>{key}</code></dt><dd><code>{value}</code></dd>" in page
    change(at_table, k="20", d="2.5")
    assert at_table.policy.read_text() == text.replace("k = 10", "k = 20").replace("d = 2,", "d = 2.5,")


def test_outliers_are_those_of_the_command_and_fill_p_and_d(
    at_table: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_table.post("/guarantee/outliers")
    job = at_table.wait_for_job("outliers")
    assert job.state == "done", job.sentence
    monkeypatch.chdir(at_table.studio.folder)
    page = at_table.get("/guarantee").text
    (line,) = re.findall(r"# Who stands out at which p and d\n(incrowd .*)", at_table.get("/command").text)
    result = CliRunner().invoke(app, [*shlex.split(line)[1:], "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.output)
    mine = at_table.get("/guarantee/outliers").json()
    assert {key: mine[key] for key in ("grid", "proposal", "notes", "columns")} == {
        key: found[key] for key in ("grid", "proposal", "notes", "columns")
    }
    assert page.count('class="ours"') > 2
    proposal = found["proposal"]
    page = at_table.post("/guarantee/outliers/use").text
    plain = policy(at_table).privacy.plain
    assert plain is not None
    assert (str(plain.p), str(plain.d)) == (proposal["p"], proposal["d"])
    assert not policy(at_table).totals
    assert "Totals were switched off" in page
    assert "This proposal is used" in page
    change(at_table, k="20")
    at_table.post("/undo")
    page = change(at_table, p="", d="")
    assert policy(at_table).privacy.plain is None
    assert "Counted with another policy" in page
    refused = at_table.post("/guarantee/outliers/use").text
    assert "counted with another policy" in refused


def test_without_a_sensitive_column_it_says_what_is_lacking(at_table: Visitor) -> None:
    for name in ("diagnosis", "cost"):
        at_table.post(f"/columns/{at_table.column(name)}", role="drop")
    page = at_table.get("/guarantee").text
    assert "l and t are about sensitive columns" in page
    assert "Count outliers</button>" in page
    assert re.search(r"<button class=\"btn\" disabled>Count outliers", page)
    at_table.post("/guarantee/outliers")
    assert at_table.wait_for_job("outliers").state == "refused"
    assert "no column is sensitive; name one" in at_table.get("/guarantee").text


def test_without_k_it_asks_for_one(at_table: Visitor) -> None:
    at_table.policy.write_text(re.sub(r"(?m)^k = 10\n", "", at_table.policy.read_text()))
    at_table.post("/outside", which="theirs")
    page = at_table.get("/guarantee").text
    assert "Choose k" in page
    change(at_table, k="5")
    assert policy(at_table).privacy.k == 5


def test_a_policy_changed_outside_is_not_overwritten(at_table: Visitor) -> None:
    theirs = at_table.policy.read_text() + "\n# by somebody else\n"
    at_table.policy.write_text(theirs)
    assert "changed outside" in change(at_table, k="20")
    assert at_table.policy.read_text() == theirs


def test_the_chart_keeps_the_order_of_shares() -> None:
    grid = [
        {"p": p, "d": d, "share": share}
        for p, d, share in (("0.8", "1", 1.0), ("0.8", "2", 0.01), ("0.8", "3", 0.0), ("0.9", "1", 0.5))
    ]
    chart = chart_of({"grid": grid, "asked": 1000, "p": "0.8", "proposal": {"d": "2", "share": 0.01}})
    heights = [y for _, y, _ in chart.lines[0].marks]
    assert heights == sorted(heights)
    assert (heights[0], heights[-1]) == (TOP, HEIGHT - BOTTOM)
    assert chart.proposal == chart.lines[0].marks[1][:2]
    assert [words for _, words in chart.upward] == ["0", "0.1 %", "1 %", "10 %", "100 %"]
