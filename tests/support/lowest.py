"""The wheel with the least versions of all libraries that pyproject.toml allows, and tests beside it.

`./run lowest` makes an environment in build/lowest, from the lowest Python that is promised, installs the
wheel with all extras at their least versions, and runs a broad part of the tests against what is installed.
With arguments, pytest gets these. A library that only another library asks for is the newest that fits.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / "build" / "lowest"
BESIDE = (
    "pytest",
    "pytest-xdist",
    "hypothesis",
    "hatchling",
    "httpx",
    "playwright",
)  # what tests themselves need
# All that talks to a library: command line, reading, engines, frames, writing, verifier, studio, docs.
BROAD = (
    *("tests/cli", "tests/commands", "tests/engines", "tests/hierarchy", "tests/policy", "tests/publishing"),
    *("tests/queries", "tests/release", "tests/reports", "tests/studio", "tests/tables", "tests/verifier"),
    *("tests/kernels", "tests/measures", "tests/models", "tests/test_installed.py", "tests/test_docs.py"),
    *("tests/test_public_api.py", "tests/test_system.py"),
)


def asked_for() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return found


def least_versions(project: dict[str, Any]) -> list[str]:
    """Every library that is named, at its least version.

    >>> least_versions({"dependencies": ["b>=2"], "optional-dependencies": {"x": ["a[c]>=1.5", "b>=2"]}})
    ['a==1.5', 'b==2']
    """
    extras = [one for several in project["optional-dependencies"].values() for one in several]
    return sorted(
        {re.sub(r"\[.*\]", "", one).replace(">=", "==") for one in (*project["dependencies"], *extras)}
    )


def lowest_python(project: dict[str, Any]) -> str:
    """The interpreter: this one, or one on the path or of pyenv."""
    version = project["requires-python"].removeprefix(">=")
    if sys.version.startswith(f"{version}."):
        return sys.executable
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    found = [shutil.which(f"python{version}"), *map(str, sorted(pyenv.glob(f"{version}.*/bin/python")))]
    for each in filter(None, found):
        said = subprocess.run([each, "-c", "import sys; print(sys.version)"], capture_output=True, text=True)
        if said.returncode == 0 and said.stdout.startswith(f"{version}."):
            return each
    sys.exit(f"lowest: Python {version} is not on this machine")


def installed(project: dict[str, Any]) -> Path:
    """An environment with the wheel and the least versions; returns its interpreter."""
    shutil.rmtree(HOME, ignore_errors=True)
    HOME.mkdir(parents=True)
    pins = HOME / "least.txt"
    pins.write_text("\n".join(least_versions(project)) + "\n", encoding="utf-8")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(HOME / "wheel")]
    subprocess.run(build, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    (wheel,) = (HOME / "wheel").iterdir()
    subprocess.run([lowest_python(project), "-m", "venv", str(HOME / "environment")], check=True)
    python = HOME / "environment" / "bin" / "python"
    everything = f"{wheel}[{','.join(project['optional-dependencies'])}]"
    pip = [str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    subprocess.run([*pip, "--constraint", str(pins), everything, *BESIDE], check=True)
    return python


def main() -> None:
    project = asked_for()
    python = installed(project)
    sys.stderr.write(f"lowest: {', '.join(least_versions(project))}\n")
    # Old libraries warn of newer ones beside them; that is no error here.
    pytest = [str(python), "-m", "pytest", "-o", "filterwarnings=default", "--numprocesses", "2"]
    sys.exit(subprocess.run([*pytest, *(sys.argv[1:] or BROAD)], cwd=ROOT).returncode)


if __name__ == "__main__":
    main()
