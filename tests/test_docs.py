"""The docs say what the program does: names, links, and every command and snippet that they show."""

from __future__ import annotations

import ast
import inspect
import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.main
from support import module_table
from support.night import NIGHT
from support.places import ROOT
from typer.testing import CliRunner

import incrowd
from incrowd import contracts, errors
from incrowd.algorithms.base import all_methods
from incrowd.cli.app import app
from incrowd.cli.measure import MEANINGS
from incrowd.contracts import catalogue
from incrowd.examples import write_example
from incrowd.hierarchy.builders import _BUILDERS
from incrowd.policy import Policy
from incrowd.policy.exposures import EVERY, EXPOSURES
from incrowd.policy.parts import Privacy, Public, Quasi
from incrowd.publishing.pipeline import Release
from incrowd.schema import CHECKS
from incrowd.verifier.checks import AFTER_CLAIMS, BEFORE_CLAIMS
from incrowd.verifier.folder import KEYS, METHOD_KEYS

DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *(ROOT / "changelog.d").glob("*.md")])
KINDS_OF_NEWS = {"guarantee", "output", "speed", "interface", "fix"}
INVENTED = {"docs/claims/runs.md"}  # by the worked example
EVERY_COMMAND_HAS = {"--json", "--help", "-h"}
PARTS_OF_A_CLAIM = ("Before:", "Does:", "After:", "Why:", "Not claimed:", "Checked by:")


@cache
def said(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def section(path: str, title: str) -> str:
    """A page from one heading of the second level to the next."""
    found = re.search(rf"^## {re.escape(title)}$(.*?)(?=^## |\Z)", said(path), re.MULTILINE | re.DOTALL)
    assert found, f"{path} has no section '{title}'"
    return found[1]


def code_blocks(path: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", said(path), re.MULTILINE | re.DOTALL)


def names(text: str) -> set[str]:
    """Everything that stands in backquotes."""
    return set(re.findall(r"`([^`\n]+)`", text))


# What is registered is described


@pytest.mark.parametrize("method", all_methods())
def test_a_method_is_in_the_docs_with_its_options(method: str) -> None:
    assert method in names(section("docs/cli.md", "methods"))
    claim = said(f"docs/claims/{method}.md")
    assert not [option for option in all_methods()[method].options() if f"`{option}`" not in claim]


MODELS = [*catalogue("model"), *catalogue("matching model"), *catalogue("series model")]


@pytest.mark.parametrize("claim", [*catalogue("algorithm"), *MODELS])
def test_an_algorithm_and_a_model_have_a_claim(claim: str) -> None:
    note = said(f"docs/claims/{claim}.md")
    assert note.startswith(f"# {claim}\n")
    assert not [part for part in PARTS_OF_A_CLAIM if part not in note]


@pytest.mark.parametrize("model", MODELS)
def test_a_model_is_in_the_promise(model: str) -> None:
    assert f"claims/{model}.md" in said("docs/promise.md")
    assert model in names(said("docs/release-format.md"))


@pytest.mark.parametrize("measure", catalogue("measure"))
def test_a_measure_is_explained_on_paper_and_on_the_screen(measure: str) -> None:
    assert f"| `{measure}` |" in said("docs/measures.md")
    assert MEANINGS[measure]


@pytest.mark.parametrize("name", [EVERY, *(known.name for known in EXPOSURES)])
def test_an_exposure_is_in_the_promise(name: str) -> None:
    assert f"| `{name}` |" in section("docs/promise.md", "Known vulnerabilities")
    assert name in names(section("docs/cli.md", "publish"))


@pytest.mark.parametrize("builder", _BUILDERS)
def test_a_builder_is_described(builder: str) -> None:
    assert f"`{{{builder} = " in section("docs/hierarchies.md", "By a builder")
    assert f"`{{{builder} = " in section("docs/policy.md", "Reading values")


@pytest.mark.parametrize(
    "key", sorted({key for part in (Policy, Quasi, Privacy, Public) for key in part.model_fields})
)
def test_a_policy_key_is_described(key: str) -> None:
    page = said("docs/policy.md")
    entry = re.search(rf"^(`{key}`\n: |## .*`{key}`$)", page, re.MULTILINE)
    part_of_public = key in Public.model_fields and key in names(section("docs/policy.md", "The method"))
    assert entry or part_of_public


def errors_raised() -> list[str]:
    return [
        name
        for name, thing in vars(errors).items()
        if inspect.isclass(thing) and issubclass(thing, Exception)
    ]


@pytest.mark.parametrize("name", errors_raised())
def test_an_error_is_described(name: str) -> None:
    assert name in names(section("docs/cli.md", "Exit codes and errors"))


@pytest.mark.parametrize("name", incrowd.__all__)
def test_a_public_name_is_described(name: str) -> None:
    """In words, or as a function with its arguments."""
    assert re.search(rf"`{name}[(`]", said("docs/python.md"))


@pytest.mark.parametrize("key", sorted({*KEYS, *METHOD_KEYS}))
def test_a_key_of_the_manifest_is_described(key: str) -> None:
    assert key in names(section("docs/release-format.md", "The manifest"))


@pytest.mark.parametrize("check", CHECKS)
def test_a_check_of_the_verifier_is_described(check: str) -> None:
    assert re.search(
        rf"^\| `{check}`( \*)? \|", section("docs/promise.md", "What the verifier checks"), re.MULTILINE
    )


def test_the_screen_explains_every_check_of_the_verifier() -> None:
    steps = [step.name for step in (*BEFORE_CLAIMS, *AFTER_CLAIMS)]
    assert ["files", "manifest", *steps, "bytes"] == list(CHECKS)


@cache
def commands() -> dict[str, set[str]]:
    """The flags of each command."""
    found: Any = typer.main.get_command(app)
    return {
        name: {
            flag
            for option in command.params
            if option.param_type_name == "option"
            for flag in (*option.opts, *option.secondary_opts)
        }
        for name, command in found.commands.items()
    }


@pytest.mark.parametrize("name", commands())
def test_a_command_and_its_options_are_described(name: str) -> None:
    about = section("docs/cli.md", name)
    assert f"$ incrowd {name}" in about
    assert not [flag for flag in commands()[name] - EVERY_COMMAND_HAS if flag not in names(about)]
    assert "`--json`: " in about


@pytest.mark.parametrize("name", commands())
def test_no_option_is_described_that_does_not_exist(name: str) -> None:
    rows = re.findall(r"^\| (`-.*?) \|", section("docs/cli.md", name), re.MULTILINE)
    assert not {flag for row in rows for flag in names(row)} - commands()[name]


# What is mentioned exists


def links(page: Path) -> Iterator[str]:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    yield from re.findall(r"\]\(([^)\s]+)\)", text)


@cache
def anchors(page: Path) -> set[str]:
    """Headings as GitHub names them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def dead_links(page: Path) -> list[str]:
    """Links of a page that lead nowhere: to no file, or to no heading of it."""
    dead = []
    for link in links(page):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            dead.append(link)
    return dead


def test_links_lead_somewhere() -> None:
    """All pages in one test, which names the page and the link: hundreds of tests would take longer."""
    found = {str(page.relative_to(ROOT)): dead_links(page) for page in PAGES}
    assert not {page: dead for page, dead in found.items() if dead}
    assert len(PAGES) > 100


def test_dead_links_are_seen(tmp_path: Path) -> None:
    (tmp_path / "there.md").write_text("# A heading\n")
    page = tmp_path / "page.md"
    page.write_text(
        "# Here\n[a](there.md#a-heading) [b](there.md#b) [c](gone.md) [d](#here) [e](#e) [f](https://f)\n"
    )
    assert dead_links(page) == ["there.md#b", "gone.md", "#e"]


def strange_files(page: Path, known: set[str]) -> set[str]:
    """Files that a page mentions and that do not exist."""
    text = page.read_text(encoding="utf-8")
    whole = set(re.findall(r"\b((?:src|tests|docs|benchmarks)/[\w./-]*[\w/])", text))
    missing = {path for path in whole - INVENTED if not (ROOT / path).exists()}
    return missing | set(re.findall(r"\b(\w+\.py)\b", text)) - known


def test_files_that_are_mentioned_exist(tmp_path: Path) -> None:
    known = {path.name for folder in ("src", "tests", "benchmarks") for path in (ROOT / folder).rglob("*.py")}
    found = {str(page.relative_to(ROOT)): strange_files(page, known) for page in PAGES}
    assert not {page: files for page, files in found.items() if files}
    page = tmp_path / "page.md"
    page.write_text("src/incrowd/flow.py, src/incrowd/gone.py and no_such.py")
    assert strange_files(page, known) == {"src/incrowd/gone.py", "gone.py", "no_such.py"}


def test_the_architecture_lists_every_module_by_its_own_docstring() -> None:
    """If not: python tests/support/module_table.py"""
    assert module_table.shown() == module_table.table()
    assert not [where for where, about, _ in module_table.rows() if len(about) < 20]


def test_the_architecture_is_short_enough_to_be_read() -> None:
    assert len(said("docs/architecture.md").splitlines()) < 250


def linked(page: Path) -> set[Path]:
    """The files to which a page links."""
    return {(page.parent / link.partition("#")[0]).resolve() for link in links(page) if "://" not in link}


def test_every_page_can_be_found_from_the_readme() -> None:
    """The README leads to the list of all pages, and this to each of them, or to the list of its folder."""
    lists = [DOCS / "README.md", *DOCS.glob("*/README.md")]
    assert lists[0] in linked(ROOT / "README.md")
    found = {page for listing in lists for page in linked(listing)}
    assert set(lists[1:]) <= linked(lists[0])
    assert not set(DOCS.rglob("*.md")) - found - {lists[0]}


def test_the_readme_is_short_enough_to_be_read() -> None:
    assert len(said("README.md").splitlines()) < 150


def site_parts() -> list[str]:
    parts = tomllib.loads(said("docs/site/parts.toml"))["part"]
    return [page for part in parts for page in part["pages"] if not page.startswith("reference/")]


def test_every_page_stands_in_a_part_of_the_site() -> None:
    """By its name, or in the folder whose own page is named."""
    pages = site_parts()
    assert len(pages) == len(set(pages))
    assert not [
        page for page in pages if not ((DOCS / f"{page}.md").exists() or (ROOT / f"{page}.md").exists())
    ]
    folders = {page.removesuffix("/README") for page in pages if page.endswith("/README")}
    there = {str(path.relative_to(DOCS).with_suffix("")) for path in DOCS.rglob("*.md")} - {"README"}
    assert not {page for page in there if page not in pages and page.partition("/")[0] not in folders}


@pytest.mark.parametrize("method", all_methods())
def test_a_method_has_a_picture(method: str) -> None:
    page = said("docs/methods.md")
    assert f"### {method}\n" in page
    assert f"(pictures/methods/{method}.svg)" in page


NOTEBOOKS = sorted((DOCS / "tutorials").glob("*.ipynb"))


def test_notebooks_are_stored_with_what_they_print() -> None:
    """`./run docs` runs them and holds the outputs against these."""
    assert len(NOTEBOOKS) == 3
    for path in NOTEBOOKS:
        cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
        assert not [cell["source"] for cell in cells if cell["execution_count"] is None], path.name
        printed = [output["output_type"] for cell in cells for output in cell["outputs"]]
        assert len(printed) >= 4, path.name
        assert "error" not in printed, path.name


def test_news_have_a_kind() -> None:
    kinds = [[kind, "md"] for kind in KINDS_OF_NEWS]
    news = [path.name for path in (ROOT / "changelog.d").iterdir() if path.name != "README.md"]
    assert not [name for name in news if name.split(".")[1:] not in kinds]


def test_the_kinds_of_news_are_explained() -> None:
    assert not KINDS_OF_NEWS - names(said("changelog.d/README.md"))


# What is shown is what happens


def commands_of(block: str) -> Iterator[tuple[str, list[str]]]:
    """Each command of a console block, and the lines that it is said to print."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, *lines = part.splitlines()
        yield command, [line for line in lines if line.strip() not in ("", "…")]


def shown_commands(path: str) -> Iterator[tuple[str, list[str]]]:
    """Each command of the console blocks of a page."""
    for block in code_blocks(path, "console"):
        yield from commands_of(block)


TUTORIALS = [
    f"docs/tutorials/{name}.md" for name in ("hospital-extract", "nightly-pipeline", "comparison-for-a-paper")
]
# Seconds each. By day the README runs an attack, and the other commands have tests of their own.
BY_NIGHT = {
    "docs/cli.md": ("kernels", "attack", "learn", "reproduce", "publish figures/"),
    "docs/tutorials/hospital-extract.md": ("attack",),
    "docs/tutorials/nightly-pipeline.md": (
        "publish second.parquet -p tour/policy.toml --method mondrian --engine spark",
    ),
    "docs/tutorials/comparison-for-a-paper.md": ("reproduce", "attack"),
}


@dataclass
class Tours:
    """The demo, run once; pages that begin with it get a copy of its files."""

    place: Path
    said: Any = None  # a result of the tests of typer, which is none of click's

    def begin(self, here: Path) -> Any:
        if self.said is None:
            shutil.rmtree(self.place, ignore_errors=True)
            self.said = CliRunner().invoke(app, ["demo", "--folder", "tour"])
            shutil.copytree(here / "tour", self.place)
        elif not (here / "tour").exists():
            shutil.copytree(self.place, here / "tour")
        return self.said


@pytest.fixture(scope="module")
def tours(tmp_path_factory: pytest.TempPathFactory) -> Tours:
    return Tours(tmp_path_factory.mktemp("tours") / "tour")


def ran_in_order(path: str, here: Path, tours: Tours, names: dict[str, object]) -> Iterator[tuple[str, str]]:
    """Run the blocks of a page one after the other; a command prints what is shown. With its output."""
    for language, block in re.findall(
        r"^```(console|python)\n(.*?)^```$", said(path), re.MULTILINE | re.DOTALL
    ):
        if language == "python":
            exec(compile(block, path, "exec", dont_inherit=True), names)
            continue
        for command, lines in commands_of(block):
            if not NIGHT and command.removeprefix("incrowd ").startswith(BY_NIGHT.get(path, ())):
                continue
            line, _, comment = command.partition("#")
            program, *arguments = shlex.split(line)
            if program != "incrowd":
                assert program == "./run"
                continue
            demo = arguments == ["demo", "--folder", "tour"]
            result = tours.begin(here) if demo else CliRunner().invoke(app, arguments)
            expected = int(comment.removeprefix(" exit code ")) if comment else 0
            assert (command, result.exit_code) == (command, expected), result.output
            printed = " ".join(result.output.split())
            assert not [shown for shown in lines if " ".join(shown.split()) not in printed], command
            yield command, result.output


def rows_of_methods(path: str) -> list[list[str]]:
    """Rows of a page's tables that begin with a method, without those that are said to be about so."""
    rows = [line.strip("| ").split(" | ") for line in said(path).splitlines() if line.startswith("| `")]
    return [row for row in rows if row[0].strip("`") in all_methods() and "about" not in " ".join(row)]


def figures(words: str) -> set[str]:
    return set(re.findall(r"[\d.]+(?:/\d+|%)?", words.replace(" %", "%")))


@pytest.mark.parametrize("path", ["README.md", "docs/cli.md", "docs/positions.md", *TUTORIALS])
def test_commands_print_what_is_shown(
    path: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    tours: Tours,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setitem(contracts._CATALOGUE, "algorithm", dict(catalogue("algorithm")))  # a page adds to it
    names: dict[str, object] = {"__name__": "__main__"}
    ran = list(ran_in_order(path, tmp_path, tours, names))
    assert len(ran) >= 4
    if path in TUTORIALS:
        compared = [line for command, out in ran if " compare " in command for line in out.splitlines()]
        rows = rows_of_methods(path)
        assert bool(rows) is bool(compared)
        wrong = [
            row
            for row in rows
            if not any(
                row[0].strip("`") in line and figures(" ".join(row[1:])) <= figures(line) for line in compared
            )
        ]
        assert not wrong
    if path == "README.md":
        release = names["release"]
        assert isinstance(release, Release)
        assert release.verdict.passed
        assert f'release.loss()["gcp"]  # {release.loss()["gcp"]:.4f}' in said(path)
        assert (tmp_path / "release-from-python" / "release.json").exists()
        shown = re.findall(r"^print\(.*\)  # (.*)$", said(path), re.MULTILINE)
        printed = capsys.readouterr().out.splitlines()
        assert len(shown) == 1
        assert not [line for line in shown if line not in printed]


def test_all_blocks_about_python_run_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_example(tmp_path / "tour", rows=600)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    blocks = code_blocks("docs/python.md", "python")
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), names)
    assert len(blocks) >= 9
    printed = capsys.readouterr().out
    assert re.findall(r"^<Verdict: (\w+)", printed, re.MULTILINE) == ["passed"]
    comment = re.search(r"print\(error\)  # (.*)", said("docs/python.md"))
    assert comment is not None
    assert comment[1] in printed


@pytest.mark.parametrize("path", ["docs/hierarchies.md", "docs/policy.md", "docs/series.md"])
def test_snippets_run(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_example(tmp_path / "tour", rows=300)
    (tmp_path / "policy.toml").write_bytes((tmp_path / "tour" / "policy.toml").read_bytes())
    monkeypatch.chdir(tmp_path)
    snippets = code_blocks(path, "python")
    for snippet in snippets:
        exec(compile(snippet, path, "exec"), {})
    assert snippets


def test_the_policy_that_is_shown_is_a_policy() -> None:
    """Every key that the page explains stands in its example or is optional in it; none is unknown."""
    (shown,) = code_blocks("docs/policy.md", "toml")
    policy = Policy.from_dict(tomllib.loads(shown))
    assert policy.k == 10
    # a public table is a population, and no series has one, so that no policy has all of them
    assert set(Policy.model_fields) - set(tomllib.loads(shown)) == {"population", "series"}


WORKED_EXAMPLE = """
import random, sys
import incrowd
from incrowd.contracts import catalogue
from incrowd.long_work import silent
from incrowd.encode import encode
from incrowd.flow import Table

blocks = {blocks!r}
for block in blocks:
    exec(compile(block, "docs/adding-a-method.md", "exec"), globals())
dice = random.Random(3)
rows = [(dice.randrange(5), dice.randrange(3)) for _ in range(50)]
texts = [[str(a), str(b), str(i % 7)] for i, (a, b) in enumerate(rows)]
table = Table.of(dict(zip("abs", zip(*texts))))
policy = incrowd.Policy(quasi_identifiers=["a", "b"], sensitive=["s"], method="runs")
for k in (2, 7, 50):
    labels = catalogue("algorithm")["runs"](k).group(encode(table, policy.schema(table)), (), silent).labels
    groups = {{frozenset(i for i in range(50) if labels[i] == g) for g in set(labels.tolist())}}
    assert groups == {{frozenset(group) for group in runs(rows, k)}}
diverse = incrowd.Policy(quasi_identifiers=["a", "b"], sensitive=["s"], privacy={{"k": 5, "l": 3}})
release = incrowd.publish(table, diverse, method="runs", options={{"first": "right"}})
assert release.verdict.passed
assert release.manifest["method"]["options"] == {{"first": "right"}}
print("published", release.verdict.facts["classes"] > 1)
"""


def test_the_worked_example_works() -> None:
    """In a process of its own: what it registers must not be found by other tests."""
    blocks = code_blocks("docs/adding-a-method.md", "python")
    algorithm = ast.parse(blocks[0])
    assert any(isinstance(node, ast.ClassDef) for node in algorithm.body)
    script = WORKED_EXAMPLE.format(blocks=blocks)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT)
    assert (done.stdout, done.stderr) == ("published True\n", "")


def test_the_claim_of_the_worked_example_has_the_form() -> None:
    example = section("docs/adding-a-method.md", "3. The claim")
    assert not [part for part in PARTS_OF_A_CLAIM if part not in example]


def test_options_of_the_catalogue_are_fields() -> None:
    """The docs list options by name; the catalogue takes them from the fields of the algorithm."""
    for method in all_methods().values():
        promised = {"k", "max_suppression"}
        assert set(method.options()) == {field.name for field in fields(method)} - promised
