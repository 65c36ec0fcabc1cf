"""A release's part of CHANGELOG.md, made from the files of changelog.d.

``./run changelog 0.2.0`` writes the part, gives the package this version, and removes the files. Run again
with the version that stands on top, it adds what came since.
"""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KINDS = ("guarantee", "output", "speed", "interface", "fix")  # in the order in which they are read
MARK = "**Publish again.** "
_AGAIN = re.compile(r"\bpublish(?:ed)?\b[^.;:]*\bagain\b", re.IGNORECASE)
_NOBODY = re.compile(r"\b(?:nobody|nothing|no release)\b", re.IGNORECASE)
_VERSION = re.compile(r"[0-9]+\.[0-9]+(?:\.[0-9]+)?(?:(?:a|b|rc)[0-9]+)?")
_PART = re.compile(r"^## (\S+)", re.MULTILINE)


def who_publishes_again(text: str) -> list[str]:
    """The sentences of a text that tell somebody to publish again."""
    sentences = re.split(r"(?<=[.;])\s+", " ".join(text.split()))
    return [sentence for sentence in sentences if _AGAIN.search(sentence) and not _NOBODY.search(sentence)]


def entry(text: str) -> str:
    """The text of a file as an entry of a list; whom it tells to publish again sees it first.

    Links lead from changelog.d, and the changelog lies one folder higher.
    """
    mark = MARK if who_publishes_again(text) else ""
    return "* " + mark + text.strip().replace("](../", "](").replace("\n", "\n  ") + "\n"


def fragments(folder: Path) -> dict[str, list[Path]]:
    """Files by kind, and by name within a kind. A file that says no kind is an error."""
    found: dict[str, list[Path]] = {kind: [] for kind in KINDS}
    for path in sorted(folder.glob("*.md")):
        if path.name == "README.md":
            continue
        topic, _, kind = path.name.removesuffix(".md").partition(".")
        if not topic or kind not in found or not path.read_text(encoding="utf-8").strip():
            raise ValueError(f"{path.name} has no kind, or says nothing")
        found[kind].append(path)
    return found


def part_of_version(page: str, version: str) -> tuple[str, str, str]:
    """A page before, in and after the part of a version; the part is empty if the version is new."""
    starts = [(match.start(), match[1]) for match in _PART.finditer(page)]
    if not starts:
        return page.rstrip("\n") + "\n\n", "", ""
    begin, newest = starts[0]
    if newest != version:
        if version in [known for _, known in starts]:
            raise ValueError(f"{version} is not the newest version of the changelog")
        return page[:begin], "", page[begin:]
    end = starts[1][0] if len(starts) > 1 else len(page)
    return page[:begin], page[begin:end], page[end:]


def entries_of(part: str) -> dict[str, list[str]]:
    """The entries that a part already has, by kind."""
    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for title, body in re.findall(r"^### (\w+)\n(.*?)(?=^### |\Z)", part, re.MULTILINE | re.DOTALL):
        if title.lower() in found:
            found[title.lower()] = [
                f"* {text.rstrip()}\n" for text in re.split(r"^\* ", body.strip(), flags=re.MULTILINE) if text
            ]
    return found


def _who(entries: dict[str, list[str]]) -> list[str]:
    """What whoever holds a release reads first: every sentence that tells somebody to publish again."""
    texts = [text.removeprefix("* ").removeprefix(MARK) for kind in KINDS for text in entries[kind]]
    told = [sentence for text in texts for sentence in who_publishes_again(text)]
    if not told:
        return ["Nobody must publish again.\n"]
    return ["Who must publish again:\n\n", *(f"* {sentence[0].upper()}{sentence[1:]}\n" for sentence in told)]


def folded(page: str, version: str, date: str, news: dict[str, list[str]]) -> str:
    """The page with the news of a version, newest version first."""
    if not _VERSION.fullmatch(version):
        raise ValueError(f"{version!r} is no version such as 0.2.0")
    before, part, after = part_of_version(page, version)
    known = entries_of(part)
    entries = {kind: known[kind] + [entry(text) for text in news[kind]] for kind in KINDS}
    for kind in KINDS:  # who must act reads these first
        entries[kind].sort(key=lambda text: MARK not in text)
    lines = [f"## {version} ({date})\n\n", *_who(entries)]
    lines += [f"\n### {kind.capitalize()}\n{''.join(entries[kind])}" for kind in KINDS if entries[kind]]
    return before + "".join(lines) + ("\n" + after if after else "")


def with_version(source: str, version: str) -> str:
    """The package's first module with another version."""
    line = re.compile(r'^__version__ = ".*"$', re.MULTILINE)
    changed, found = line.subn(f'__version__ = "{version}"', source)
    if found != 1:
        raise ValueError("the package says its version not once")
    return changed


def fold(root: Path, version: str, date: str) -> int:
    """Everything that is said above -> how many files were taken in. Nothing is changed if one is wrong."""
    files = fragments(root / "changelog.d")
    page, module = root / "CHANGELOG.md", root / "src" / "incrowd" / "__init__.py"
    news = {kind: [path.read_text(encoding="utf-8") for path in paths] for kind, paths in files.items()}
    new_page = folded(page.read_text(encoding="utf-8"), version, date, news)
    new_module = with_version(module.read_text(encoding="utf-8"), version)
    page.write_text(new_page, encoding="utf-8")
    module.write_text(new_module, encoding="utf-8")
    for paths in files.values():
        for path in paths:
            path.unlink()
    return sum(map(len, files.values()))


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("say the version: ./run changelog 0.2.0")
    try:
        number = fold(ROOT, sys.argv[1], datetime.now(UTC).date().isoformat())
    except ValueError as error:
        sys.exit(f"changelog: {error}")
    sys.stdout.write(f"CHANGELOG.md has {number} changes more under {sys.argv[1]}\n")


if __name__ == "__main__":
    main()
