"""A first policy for a table, as a commented file that can be used as it is and should be read first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from incrowd.commands.inspect.profile import ColumnProfile, Profile
from incrowd.policy.file import toml_key, toml_text, toml_value
from incrowd.schema import Kind, Role

SUGGESTED_K = 10
MANY_QUASI_IDENTIFIERS = 12
MOST_ISOLATING = 5
# Cuts lose to cells and clusters where there are many columns: of 18 random choices of five quasi-identifiers
# all had a smaller error, of two columns only 7 of 18. What each loses and takes: docs/comparing.md.
ENOUGH_QUASI_IDENTIFIERS = 5
SMALL_TABLE = 5_000  # rows of which `cells` takes no more than two seconds
MEDIUM_TABLE = 50_000  # rows of which polished clusters take about ten
CLUSTERS = '{distance = "10", polish = true}'
MOST_SET_VALUES = 64  # of a column without a hierarchy, for both of them


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
    yield "#"
    yield "# A policy says what each column is to the people in the table, and what they are promised. It can"
    yield "# be used as it is: incrowd publish TABLE -p THIS_FILE -o release. But the roles are guesses from"
    yield "# names, values and counts. You know the data: read every line, and move what is misplaced."
    yield "#"
    yield "#   identifiers        name a person, or are a way to contact them: never published"
    yield "#   quasi_identifiers  could be known to somebody: published generalized, so that k rows are equal"
    yield "#   sensitive          are what nobody may learn about a person: published unchanged"
    yield "#   undecided          wait for your answer: not published until you move them"
    yield "#   keep, drop         are harmless and published unchanged; are not published"
    yield "#"
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
    yield from _isolating(profile)
    yield from _list(
        "sensitive",
        "what nobody may learn about a person: published unchanged",
        profile.having(Role.SENSITIVE),
    )
    if profile.having(Role.UNDECIDED):
        yield "# Could anybody know this about somebody? If so, make it a quasi-identifier. If not: sensitive"
        yield "# if it is private, keep if it is harmless, drop if nobody needs it."
        yield from _list("undecided", "held back: not published", profile.having(Role.UNDECIDED))
    yield from _list("keep", "harmless: published unchanged", profile.having(Role.KEEP))
    yield from _list("drop", "not published", profile.having(Role.DROP))
    markers = ", ".join(map(toml_text, ("", *profile.missing)))
    yield f"missing = [{markers}]  # texts that mean missing; remove what is a real value"
    for column in profile.having(Role.ENTITY):
        yield f"entity = {toml_text(column.name)}  # {column.reason}"
    yield from _method(profile)
    yield "# Totals say how many rows have which value of a column, in lines of at least k persons. Counts"
    yield "# become far closer, and no promise changes. Who has found a row guesses its cells better:"
    yield "# docs/totals.md"
    yield "totals = true"
    yield ""


def proposed_method(profile: Profile) -> str:
    """The method that keeps most within about ten seconds."""
    columns = profile.having(Role.QUASI)
    sets = [column.distinct + (column.missing > 0) for column in columns if column.kind is Kind.CATEGORICAL]
    if (
        len(columns) < ENOUGH_QUASI_IDENTIFIERS
        or max(sets, default=0) > MOST_SET_VALUES
        or profile.having(Role.ENTITY)
        or profile.rows > MEDIUM_TABLE
    ):
        return "mondrian"
    return "cells" if profile.rows <= SMALL_TABLE else "agglomerative"


def _method(profile: Profile) -> Iterator[str]:
    method = proposed_method(profile)
    if method == "mondrian":
        yield 'method = "mondrian"  # other methods: incrowd methods'
        return
    yield f"# Of so few rows {method} keeps more than the default, mondrian, which is quicker and takes"
    yield f"# columns of more than {MOST_SET_VALUES} categories. Other methods: incrowd methods"
    yield f"method = {toml_text(method)}"
    if method == "agglomerative":
        yield "# With these two-column tables are about half as wrong as with mondrian, in about ten seconds."
        yield f"options = {CLUSTERS}"


def _isolating(profile: Profile) -> Iterator[str]:
    """Sensitive columns that single people out though they are published as they are."""
    for found in profile.isolating[:MOST_ISOLATING]:
        known = " and ".join(map(toml_key, found.columns))
        share = found.unique / profile.rows
        yield f"# Whoever knows {known} finds {share:.0%} of the rows, since these are published unchanged."


def _list(key: str, meaning: str, columns: Sequence[ColumnProfile]) -> Iterator[str]:
    if not columns:
        yield f"{key} = []  # {meaning}"
        return
    yield f"{key} = [  # {meaning}"
    for column in columns:
        yield f"  {toml_text(column.name)},  # {column.reason}{_counted(column)}"
        if column.role is Role.UNDECIDED:
            yield from (f"  #   {toml_key(column.name)} = {way}" for way in column.readings)
    yield "]"


def _counted(column: ColumnProfile) -> str:
    return f"; {column.once} values occur once" if column.once else ""


def _quasi(profile: Profile) -> Iterator[str]:
    columns = profile.having(Role.QUASI)
    yield "# What an outsider may know about someone in the table. It is published generalized: as ranges,"
    yield "# sets, or nodes of a generalization hierarchy. A line below a column that begins with # has a"
    yield "# ready-made hierarchy: use it instead if readers need fixed groups. Ranges and sets lose less."
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
        yield f"{_described(column)}  # {column.reason}{note}"
        if column.hierarchy:
            yield f"# {_described(column, hierarchy=True)}"
    yield ""


def _described(column: ColumnProfile, hierarchy: bool = False) -> str:
    parts = [f"type = {toml_text(column.kind)}"]
    if column.format:
        parts.append(f"format = {toml_text(column.format)}")
    if hierarchy:
        parts.append(f"hierarchy = {toml_value(column.hierarchy)}")
    return f"{toml_key(column.name)} = {{{', '.join(parts)}}}"


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
