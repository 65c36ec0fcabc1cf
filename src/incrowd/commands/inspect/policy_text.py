"""A first policy for a table, as a commented file that can be used as it is and should be read first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from incrowd.commands.inspect.profile import ColumnProfile, Profile
from incrowd.policy.file import toml_key, toml_text
from incrowd.schema import Role

SUGGESTED_K = 10
MANY_QUASI_IDENTIFIERS = 12


def policy_text(profile: Profile, source_name: str = "the table") -> str:
    """Write the suggestions of a profile as a policy file, which calls the table `source_name`.

    Examples
    --------
    >>> from incrowd.flow import Table
    >>> from incrowd.commands.inspect.profile import profiled
    >>> text = policy_text(profiled(Table.of({"age": ["30", "41"], "disease": ["flu", "cold"]})))
    >>> [line for line in text.splitlines() if line.startswith(("age", "k ="))]
    ['age = {type = "numeric"}  # neighbours, colleagues or public registers know it', 'k = 10']
    """
    lines = [*_head(profile, source_name), *_lists(profile), *_quasi(profile), *_privacy(profile)]
    return "\n".join(lines) + "\n"


def _head(profile: Profile, source_name: str) -> Iterator[str]:
    rows, risk = profile.rows, profile.risk
    yield f"# A first policy for {_on_one_line(source_name)}: {rows} rows, {len(profile.columns)} columns."
    yield "# The roles are guesses from names and counts. You know the data: read every line first."
    yield "# What each key means: docs/policy.md"
    yield "#"
    yield f"# As the table stands, {risk.unique} of {rows} rows are unique in their quasi-identifiers, and"
    yield f"# {risk.below_10} are in equivalence classes of fewer than 10 rows."
    if profile.combinations and profile.combinations[0].unique:
        worst = profile.combinations[0]
        known = ", ".join(map(toml_key, worst.columns))
        yield f"# Whoever knows {known} can single out {worst.unique} rows."
    yield ""


def _lists(profile: Profile) -> Iterator[str]:
    yield from _list("identifiers", "they name a person: never published", profile.having(Role.IDENTIFIER))
    yield from _list(
        "sensitive",
        "what nobody may learn about a person: published unchanged",
        profile.having(Role.SENSITIVE),
    )
    yield from _list("keep", "harmless: published unchanged", profile.having(Role.KEEP))
    yield from _list("drop", "not published", profile.having(Role.DROP))
    markers = ", ".join(map(toml_text, ("", *profile.missing)))
    yield f"missing = [{markers}]  # texts that mean missing; remove what is a real value"
    for column in profile.having(Role.ENTITY):
        yield f"entity = {toml_text(column.name)}  # {column.reason}"
    yield 'method = "mondrian"'
    yield ""


def _list(key: str, meaning: str, columns: Sequence[ColumnProfile]) -> Iterator[str]:
    if not columns:
        yield f"{key} = []  # {meaning}"
        return
    yield f"{key} = [  # {meaning}"
    for column in columns:
        yield f"  {toml_text(column.name)},  # {column.reason}{_counted(column)}"
    yield "]"


def _counted(column: ColumnProfile) -> str:
    return f"; {column.once} values occur once" if column.once else ""


def _quasi(profile: Profile) -> Iterator[str]:
    columns = profile.having(Role.QUASI)
    yield "# What an outsider may know about someone in the table. It is published generalized: as ranges,"
    yield "# sets, or nodes of a generalization hierarchy."
    if len(columns) > MANY_QUASI_IDENTIFIERS:
        yield f"# With {len(columns)} of them, each keeps little detail: move what no outsider can know to"
        yield "# sensitive, and what nobody needs to drop."
    if not columns:
        yield "# None was found, and a release needs at least one: name it here."
    yield "[quasi_identifiers]"
    for column in columns:
        if column.readings:
            yield f"# {column.note}. State how {toml_key(column.name)} is read, or it is taken as written:"
            for way in column.readings:
                yield f"#   {toml_key(column.name)} = {way}"
        note = f"; {column.note}" if column.note and not column.readings else ""
        yield f"{toml_key(column.name)} = {_described(column)}  # {column.reason}{note}"
    yield ""


def _described(column: ColumnProfile) -> str:
    parts = [f"type = {toml_text(column.kind)}"]
    if column.format:
        parts.append(f"format = {toml_text(column.format)}")
    for builder, levels in column.hierarchy.items():
        parts.append(f"hierarchy = {{{builder} = [{_listed(levels)}]}}")
    return "{" + ", ".join(parts) + "}"


def _listed(levels: Iterable[int | str]) -> str:
    return ", ".join(toml_text(level) if isinstance(level, str) else str(level) for level in levels)


def _privacy(profile: Profile) -> Iterator[str]:
    yield "[privacy]"
    yield "# Every equivalence class has at least k persons. 5 is common; 10 or more is careful."
    yield f"k = {SUGGESTED_K}"
    if profile.having(Role.SENSITIVE):
        yield "# A class with a single sensitive value discloses it. To demand diverse values in every class:"
        yield "# l = 3      # at least 3 different values of each sensitive column"
        yield "# t = 0.2    # values distributed as in the whole table, up to a distance of 0.2"


def _on_one_line(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text)
