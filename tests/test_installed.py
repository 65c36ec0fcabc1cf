"""The package without its checkout: what wheel and sdist hold, and that an installed wheel does its work.

By day the wheel is installed beside the libraries of this environment. By night it is built from the sdist of
a clean clone, and installed with its dependencies into empty environments, one for each promised Python.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder
from support.lowest import BROAD, least_versions
from support.night import NIGHT
from support.places import ROOT

from incrowd.examples import write_example

PYTHONS = ("3.11", "3.12", "3.13")
COMMANDS = (
    "demo --folder tour",
    "inspect tour/patients.csv -o found.toml",
    "publish tour/patients.csv -p tour/policy.toml -o release",
    "verify release --original tour/patients.csv -p tour/policy.toml",
    "measure release --original tour/patients.csv",
    "attack release --original tour/patients.csv",
    "audit tour/patients.csv release/data.csv -p tour/policy.toml --k 10",
    "query release 'SELECT COUNT(*) WHERE age <= 36'",
    "report release -o report.html",
    "compare tour/patients.csv -p tour/policy.toml --methods mondrian,ring --k 10 --no-cache",
    "publish tour/patients.csv -p tour/policy.toml --method ring --format parquet -o rows",
    "methods",
)


def built(kind: str, source: Path, target: Path) -> Path:
    """The wheel or the sdist of a tree."""
    words = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(target)]
    subprocess.run(words, cwd=source, check=True, capture_output=True)
    (found,) = target.iterdir()
    return found


def tracked(*folders: str) -> set[str]:
    """Files of the tree that belong to it; none where this is no clone."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is no clone, so nobody knows which files belong to it")
    done = subprocess.run(["git", "ls-files", *folders], cwd=ROOT, check=True, capture_output=True, text=True)
    return {path for path in done.stdout.splitlines() if (ROOT / path).exists()}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


def test_the_wheel_has_every_file_of_the_package_and_no_other(wheel: Path) -> None:
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert inside == {path.removeprefix("src/") for path in tracked("src/incrowd")}
    assert "incrowd/py.typed" in inside


def test_the_sdist_has_what_its_tests_read() -> None:
    """As its builder lists it; to pack it takes seconds, which the night has."""
    inside = {str(each.distribution_path) for each in SdistBuilder(str(ROOT)).recurse_included_files()}
    left_out = tracked() - inside - {"pyproject.toml"}  # which every sdist has
    assert {path.split("/")[0] for path in left_out} <= {".ci", ".gitattributes"}
    assert inside | {"pyproject.toml"} <= tracked()


def test_the_wheel_says_which_pythons_it_is_for(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith("/METADATA"))
        lines = archive.read(name).decode().splitlines()
    for python in PYTHONS:
        assert f"Classifier: Programming Language :: Python :: {python}" in lines
    assert f"Requires-Python: >={PYTHONS[0]}" in lines


def test_the_workflow_runs_every_python_that_is_promised() -> None:
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    assert f"python: [{', '.join(f'{chr(34)}{python}{chr(34)}' for python in PYTHONS)}]" in workflow


def test_the_least_versions_are_those_of_every_library_that_is_named() -> None:
    """`./run lowest` installs them; the workflow does so as well."""
    project = {
        "dependencies": ["b>=2"],
        "optional-dependencies": {"x": ["a[c]>=1.5", "b>=2"], "y": ["d>=4.1"]},
    }
    assert least_versions(project) == ["a==1.5", "b==2", "d==4.1"]
    assert not [place for place in BROAD if not (ROOT / place).exists()]
    assert "./run lowest\n" in (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")


def elsewhere() -> dict[str, str]:
    """The environment without what would lead Python to a checkout."""
    return {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}


def incrowd(home: Path, folder: Path, line: str) -> str:
    """What an installed command prints, run where no checkout is."""
    words = [str(home / "bin" / "incrowd"), *shlex.split(line)]
    done = subprocess.run(words, cwd=folder, env=elsewhere(), capture_output=True, text=True)
    assert (line, done.returncode, done.stderr if done.returncode else "") == (line, 0, "")
    return done.stdout


@pytest.mark.skipif(os.name != "posix", reason="environments of other systems look otherwise")
def test_an_installed_wheel_works_without_the_checkout(wheel: Path, tmp_path: Path) -> None:
    home = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    (packages,) = (home / "lib").glob("python*/site-packages")
    # the libraries of this environment, but not what its .pth files add: the checkout
    (packages / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    pip = [sys.executable, "-m", "pip", "--python", str(home / "bin" / "python"), "install", "-qq"]
    options = ["--no-deps", "--no-index", "--no-compile", "--ignore-installed", "--disable-pip-version-check"]
    subprocess.run([*pip, *options, str(wheel)], check=True)
    where = [str(home / "bin" / "python"), "-c", "import incrowd; print(incrowd.__file__)"]
    found = subprocess.run(
        where, cwd=tmp_path, env=elsewhere(), check=True, capture_output=True, text=True
    ).stdout
    assert Path(found.strip()).is_relative_to(packages)
    write_example(tmp_path / "tour", rows=300)
    line = "publish tour/patients.csv -p tour/policy.toml -o release"
    assert "promised and verified" in incrowd(home, tmp_path, line)
    incrowd(home, tmp_path, "report release -o report.html")  # its templates are files of the package
    assert "<html" in (tmp_path / "report.html").read_text(encoding="utf-8")


def interpreters(version: str) -> Iterator[str]:
    """Where this Python may be: on the path, or among those of pyenv."""
    found = shutil.which(f"python{version}")
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    yield from [found] if found else []
    yield from (str(each) for each in sorted(pyenv.glob(f"{version}.*/bin/python")))


def interpreter(version: str) -> str:
    script = "import venv, sys; print(sys.version)"
    for each in interpreters(version):
        said = subprocess.run([each, "-c", script], capture_output=True, text=True)
        if said.returncode == 0 and said.stdout.startswith(f"{version}."):
            return each
    pytest.skip(f"Python {version} is not on this machine")


@pytest.mark.skipif(not NIGHT, reason="by night: builds a clone, and installs all dependencies")
@pytest.mark.parametrize("version", PYTHONS)
def test_a_release_works_in_an_empty_environment(version: str, tmp_path: Path) -> None:
    """From a clean clone to an sdist to a wheel, which is all that is installed."""
    python, clone, home = interpreter(version), tmp_path / "clone", tmp_path / "environment"
    tracked()
    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
    sdist = built("sdist", clone, tmp_path / "sdist")
    subprocess.run([python, "-m", "venv", str(home)], check=True)
    pip = [str(home / "bin" / "python"), "-m", "pip"]
    subprocess.run([*pip, "wheel", "-qq", "--no-deps", "-w", str(tmp_path / "wheel"), str(sdist)], check=True)
    (wheel,) = (tmp_path / "wheel").iterdir()
    shutil.rmtree(clone)
    subprocess.run([*pip, "install", "-qq", str(wheel)], check=True)
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    for line in COMMANDS:
        incrowd(home, folder, line)
    assert len(COMMANDS) > 10
    assert (folder / "rows" / "data.parquet").is_file()


def test_dependencies_have_a_least_version_and_no_greatest() -> None:
    """A least version is one that was tried; a greatest would keep others from installing it."""
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [one for several in asked["optional-dependencies"].values() for one in several]
    every = [*asked["dependencies"], *extras]
    assert len(every) > 15
    assert not [one for one in every if ">=" not in one or "<" in one or "==" in one]
