"""Codes say what the texts said: nothing merged, nothing lost, nothing reordered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.places import DATA

from incrowd import encode as encoding
from incrowd.encode import encode
from incrowd.errors import HierarchyError, IncrowdError, PolicyError, TableError
from incrowd.flow import Attribute, Codes, Microdata, Table, TextColumn
from incrowd.hierarchy.builders import read_levels
from incrowd.schema import Column, Kind, Role, Schema, Shape
from incrowd.values import Value, read_column, reading_of, value_text

SECRET = "four-and-twenty"
TREE = (("9", "odd", "*"), ("10", "even", "*"), ("1", "odd", "*"))


def quasi(
    texts: Sequence[str | None],
    kind: Kind = Kind.CATEGORICAL,
    missing: frozenset[str] = frozenset({""}),
    **said: object,
) -> tuple[Attribute, list[int]]:
    """The attribute and codes of a table with one column."""
    column = Column("col", Role.QUASI, kind, **said)  # type: ignore[arg-type]
    data = encode(Table.of({"col": texts}), Schema((column,), missing))
    return data.attributes[0], data.codes[:, 0].tolist()


def sensitive(
    texts: Sequence[str | None], kind: Kind = Kind.CATEGORICAL, **said: object
) -> tuple[list[int], int]:
    columns = (Column("q", Role.QUASI), Column("col", Role.SENSITIVE, kind, **said))  # type: ignore[arg-type]
    data = encode(Table.of({"q": ["x"] * len(texts), "col": texts}), Schema(columns))
    return data.sensitive[0].codes.tolist(), data.sensitive[0].size


def decoded(attribute: Attribute, codes: Sequence[int]) -> list[str | None]:
    return [None if code == attribute.missing else attribute.texts[code] for code in codes]


# --------------------------------------------------------------------------------------- numbers and dates


def test_numbers_are_in_order_with_their_distances() -> None:
    age, codes = quasi(["10", "9", "-1.50", "1e1", "9.0"], Kind.NUMERIC)
    assert age.texts == ("-1.5", "9", "10")
    assert codes == [2, 1, 0, 2, 1]
    assert age.position.tolist() == [0.0, 10.5, 11.5]
    assert (age.shape, age.missing, age.span) == (Shape.RANGE, -1, 11.5)


def test_missing_is_the_first_code_of_a_range() -> None:
    age, codes = quasi(["7", None, "?", "", "5"], Kind.NUMERIC, frozenset({"", "?"}))
    assert age.texts == ("", "5", "7")
    assert codes == [2, 0, 0, 0, 1]
    assert (age.missing, age.span) == (0, 2.0)


def test_dates_are_measured_in_days() -> None:
    born, codes = quasi(["1.3.2024", "28.02.2024", "01.03.2024"], Kind.DATE, format="dd.mm.yyyy")
    assert born.texts == ("2024-02-28", "2024-03-01")
    assert codes == [1, 0, 1]
    assert born.position.tolist() == [0.0, 2.0]


@pytest.mark.parametrize(("texts", "span"), [(["5", "5"], 0.0), (["", None], 0.0), ([], 0.0)])
def test_ranges_without_width(texts: list[str | None], span: float) -> None:
    age, codes = quasi(texts, Kind.NUMERIC)
    assert age.span == span
    assert len(codes) == len(texts)


def test_huge_numbers_keep_apart() -> None:
    texts = ["9223372036854775807", "-9223372036854775808", "9223372036854775806", "1" + "0" * 39]
    age, codes = quasi(texts, Kind.NUMERIC)
    assert decoded(age, codes) == texts
    assert codes == [2, 0, 1, 3]
    assert np.isfinite(age.position).all()
    assert (np.diff(age.position) >= 0).all()


@settings(deadline=None)
@given(
    st.lists(
        st.none()
        | st.decimals(allow_nan=False, allow_infinity=False, places=3).filter(lambda x: abs(x) < 10**30)
    )
)
def test_numbers_survive(numbers: list[Decimal | None]) -> None:
    age, codes = quasi([None if n is None else str(n) for n in numbers], Kind.NUMERIC)
    assert [None if text is None else Decimal(text) for text in decoded(age, codes)] == numbers
    for a, x in zip(codes, numbers, strict=True):
        for b, y in zip(codes, numbers, strict=True):
            if x is not None and y is not None:
                assert (a < b) == (x < y)


def test_a_number_can_be_published_in_sets() -> None:
    age, codes = quasi(["10", "9"], Kind.NUMERIC, shape=Shape.SET)
    assert (age.shape, age.texts, codes) == (Shape.SET, ("9", "10"), [1, 0])


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "1,000", SECRET])
def test_what_is_no_number_is_counted_and_not_quoted(text: str) -> None:
    with pytest.raises(TableError, match="col is declared numeric, but 1 of its 2") as caught:
        quasi(["1", text, text], Kind.NUMERIC)
    assert text not in str(caught.value).split("but")[0]
    assert SECRET not in str(caught.value)
    age, codes = quasi(["1", text, text], Kind.NUMERIC, frozenset({text}))
    assert (age.missing, codes) == (0, [1, 0, 0])


def test_missing_in_two_forms_is_refused() -> None:
    """-9 means missing, so -9.0 can be neither a number nor silently the same."""
    with pytest.raises(TableError, match="col also writes 1 of the values that mean missing in another form"):
        quasi(["-9", "-9.0", "1"], Kind.NUMERIC, frozenset({"-9"}))


# ------------------------------------------------------------------------------------------------ categories


def test_categories_by_falling_frequency() -> None:
    sex, codes = quasi(["M", "F", "", "F", None, "A", "missing"])
    assert sex.texts == ("", "F", "A", "M", "missing")
    assert codes == [3, 1, 0, 1, 0, 2, 4]
    assert (sex.missing, sex.shape, sex.position.tolist()) == (0, Shape.SET, [0, 1, 2, 3, 4])


def test_an_empty_text_is_a_value_unless_it_means_missing() -> None:
    sex, codes = quasi(["", None, "?"], missing=frozenset({"?"}))
    assert decoded(sex, codes) == ["", None, None]


@settings(deadline=None)
@given(st.lists(st.none() | st.text(max_size=3)))
def test_categories_survive(texts: list[str | None]) -> None:
    column, codes = quasi(texts)
    assert decoded(column, codes) == [text or None for text in texts]
    counts = Counter(codes)
    assert [counts[code] for code in range(len(column))] == sorted(counts.values(), reverse=True)


def test_another_dictionary_gives_the_same_codes() -> None:
    """Texts that no row has, or another order of texts, change nothing."""
    texts = ["a", "b", None, "b", "7"]
    schema = Schema((Column("col", Role.QUASI),))
    other = TextColumn(np.array([3, 1, 0, 1, 4], dtype=np.int32), (None, "b", "unused", "a", "7"))
    one = encode(Table.of({"col": texts}), schema)
    two = encode(Table(("col",), (other,)), schema)
    assert one.attributes[0].texts == two.attributes[0].texts
    assert one.codes.tolist() == two.codes.tolist()


def test_ordered_values_as_declared() -> None:
    order = ("low", "mid", "high")
    dose, codes = quasi(["high", "low", "high"], Kind.ORDERED, order=order)
    assert (dose.texts, codes, dose.missing, dose.shape) == (order, [2, 0, 2], -1, Shape.SET)
    dose, codes = quasi(["high", None], Kind.ORDERED, order=order)
    assert (dose.texts, codes, dose.missing) == (("", *order), [3, 0], 0)
    dose, codes = quasi(["high", "?"], Kind.ORDERED, frozenset({"?"}), order=("?", *order))
    assert (dose.texts, codes, dose.missing) == (("?", *order), [3, 0], 0)
    with pytest.raises(TableError, match="1 of its values have no place in the order"):
        quasi(["low", SECRET], Kind.ORDERED, order=order)
    with pytest.raises(PolicyError, match="from low to high, each once"):
        quasi(["low"], Kind.ORDERED)


# --------------------------------------------------------------------------------------- trees and families


def test_a_domain_with_a_tree_is_all_its_leaves() -> None:
    age, codes = quasi(["10", "09", "9.0"], Kind.NUMERIC, levels=TREE)
    assert age.texts == ("1", "9", "10")
    assert codes == [2, 1, 1]
    assert (age.shape, age.missing, age.missing_in_tree) == (Shape.TREE, -1, False)
    assert age.tree is not None
    assert age.tree.leaves == age.texts


def test_texts_keep_their_zeros_in_a_tree() -> None:
    levels = (("01", "0*", "*"), ("1", "1*", "*"))
    assert quasi(["1", "01"], levels=levels)[1] == [1, 0]


@pytest.mark.parametrize(
    ("leaf", "missing", "texts", "expected"),
    [
        pytest.param(None, {""}, ["1", None], (3, [0, 3]), id="beside-the-tree"),
        pytest.param("", {""}, ["1", None, ""], (3, [0, 3, 3]), id="empty-leaf"),
        pytest.param("?", {"", "?"}, ["1", None, "?"], (3, [0, 3, 3]), id="declared-leaf"),
        pytest.param("missing", {""}, ["1", None], (3, [0, 3]), id="leaf-called-missing"),
        pytest.param("missing", {""}, ["1", None, "missing"], (4, [0, 4, 3]), id="value-called-missing"),
        pytest.param("?", {""}, ["1", "?"], (-1, [0, 3]), id="an-ordinary-value"),
        pytest.param("", {""}, ["1"], (3, [0]), id="a-leaf-that-does-not-occur"),
    ],
)
def test_missing_in_a_tree(
    leaf: str | None, missing: set[str], texts: list[str | None], expected: tuple[int, list[int]]
) -> None:
    levels = (
        ("1", "A", "*"),
        ("9", "A", "*"),
        ("10", "B", "*"),
        *(() if leaf is None else ((leaf, "Z", "*"),)),
    )
    column, codes = quasi(texts, missing=frozenset(missing), levels=levels)
    assert (column.missing, codes) == expected
    assert len(column) == max(4 if leaf is not None else 3, column.missing + 1)
    assert column.position.tolist() == [*range(len(column))]


def test_values_outside_the_tree_are_counted() -> None:
    with pytest.raises(
        HierarchyError, match=r"col lacks 2 of the column's 3 distinct values \(it has 3 leaves\)"
    ) as caught:
        quasi(["1", SECRET, SECRET + "!"], levels=TREE)
    assert SECRET not in str(caught.value)


def test_a_family_is_sets_of_codes() -> None:
    family = (frozenset({"a", "b"}), frozenset({"c", ""}))
    column, codes = quasi(["b", "b", "a", "d"], family=family)
    assert column.texts == ("b", "a", "d", "", "c")  # c and missing are only declared
    assert (column.missing, codes) == (3, [0, 0, 1, 2])
    sets = [{column.texts[code] for code in member} for member in column.family]
    assert sets == [{"b"}, {"a"}, {"d"}, {""}, {"c"}, {"a", "b"}, {"c", ""}, {"a", "b", "c", "d", ""}]


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"family": (frozenset("ab"), frozenset("bc"), frozenset("abcd"), frozenset("bcd"))}, None),
        ({"family": (frozenset("abc"), frozenset("bcd"))}, "lacks 1 intersections"),
        ({"family": (frozenset("az"),), "kind": Kind.ORDERED, "order": tuple("abcd")}, "outside the domain"),
        ({"family": (frozenset("12"),), "kind": Kind.NUMERIC}, "a family is for"),
    ],
)
def test_families_must_be_closed(said: dict[str, object], message: str | None) -> None:
    texts = ["1", "2"] if said.get("kind") is Kind.NUMERIC else ["a", "b", "c", "d", ""]
    if message is None:
        assert quasi(texts, **said)[0].shape is Shape.SET  # type: ignore[arg-type]
    else:
        with pytest.raises(IncrowdError, match=f"col.*{message}"):
            quasi(texts, **said)  # type: ignore[arg-type]


# ----------------------------------------------------------------------------------------- the other columns


def test_sensitive_values_as_met() -> None:
    """NULL and the empty text are published alike, so they are one value; other texts are themselves."""
    assert sensitive(["flu", "", None, "cold", "flu", "?"]) == ([0, 1, 1, 2, 0, 3], 4)
    unsorted = TextColumn(np.array([2, 0, 2], dtype=np.int32), ("a", "unused", "z"))
    schema = Schema((Column("q", Role.QUASI), Column("s", Role.SENSITIVE)))
    data = encode(Table(("q", "s"), (unsorted, unsorted)), schema)
    assert (data.sensitive[0].codes.tolist(), data.sensitive[0].size) == ([0, 1, 0], 2)


def test_all_texts_that_mean_missing_are_one_sensitive_value() -> None:
    columns = (Column("q", Role.QUASI), Column("s", Role.SENSITIVE))
    table = Table.of({"q": ["a"] * 5, "s": ["?", "", None, "flu", "?"]})
    data = encode(table, Schema(columns, frozenset({"", "?"})))
    assert (data.sensitive[0].codes.tolist(), data.sensitive[0].size) == ([0, 0, 0, 1, 0], 2)
    strict = encode(table, Schema(columns, frozenset({"?"})))
    assert strict.sensitive[0].size == 3, "an empty text that does not mean missing is a value of its own"


def test_sensitive_values_in_order() -> None:
    assert sensitive(["10", "9.0", "", "9"], Kind.NUMERIC) == ([2, 1, 0, 1], 3)
    assert sensitive(["2024-01-02", "2024-01-01"], Kind.DATE) == ([1, 0], 2)
    assert sensitive(["hi", "lo"], Kind.ORDERED, order=("lo", "mid", "hi")) == ([2, 0], 3)
    assert sensitive(["10", "1"], levels=TREE) == ([2, 1], 3)
    assert sensitive(["10", None], levels=TREE) == ([2, 3], 4)
    with pytest.raises(TableError, match="1 of its 2 distinct values"):
        sensitive(["1", SECRET], Kind.NUMERIC)


def test_entities() -> None:
    schema = Schema((Column("q", Role.QUASI), Column("who", Role.ENTITY)))

    def who(texts: list[str | None]) -> Codes | None:
        return encode(Table.of({"q": ["x"] * len(texts), "who": texts}), schema).entity

    entity = who(["b", "a", "b", "01", "1"])
    assert entity is not None
    assert entity.dtype == np.int32
    assert entity.tolist() == [0, 1, 0, 2, 3]
    with pytest.raises(TableError, match="who says whose row it is, but is missing in 3 rows"):
        who(["b", None, "", None])


def test_a_column_that_is_not_there() -> None:
    with pytest.raises(TableError, match="did you mean 'age' for 'agee'"):
        encode(Table.of({"age": ["1"]}), Schema((Column("agee", Role.QUASI),)))


def test_inputs_are_not_changed() -> None:
    table = Table.of({"age": ["2", "1", None]})
    before = table.column("age").codes.copy()
    encode(table, Schema((Column("age", Role.QUASI, Kind.NUMERIC),)))
    assert (table.column("age").codes == before).all()


# ------------------------------------------------------------------------------------------------ real tables


TABLES = {
    "acs2024_census": "census.csv.gz",
    "acs2024_join": "public_list.csv.gz",
    "acs2024_renters": "renters.csv.gz",
    "adult": "adult.csv",
    "adult_arx": "adult_arx.csv",
    "cmc": "cmc.csv",
    "diabetes130": "diabetes130.csv.gz",
    "toronto_covid": "toronto_covid.csv",
}


@pytest.mark.skipif(not DATA.is_dir(), reason="the real tables with hierarchies are not here (INCROWD_DATA)")
@pytest.mark.parametrize("folder", TABLES)
def test_every_real_column_fits_its_hierarchy(folder: str) -> None:
    import duckdb

    paths = sorted((DATA / folder / "hierarchies").glob("*.csv"))
    source = duckdb.read_csv(str(DATA / folder / TABLES[folder]), all_varchar=True, header=True)
    (found,) = source.aggregate(", ".join(f'list(DISTINCT "{path.stem}")' for path in paths)).fetchall()
    for path, distinct in zip(paths, found, strict=True):
        texts = [None, *distinct]
        real = [text for text in texts if text not in ("", "?", None)]
        kind = reading_of(real).kind
        column, codes = quasi(texts, kind, frozenset({"", "?"}), levels=read_levels(path))
        expected = iter(map(value_text, read_column(real, kind)))
        assert decoded(column, codes) == [next(expected) if text in real else None for text in texts]
        assert column.tree is not None
        assert len(column.tree.leaves) >= len(real)


def test_rows_are_translated_by_one_look_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read grows with the values of a column, not with the rows that hold them."""
    n, m = 50_000, 500
    codes = (np.arange(n) * 7919 % m).astype(np.int32)
    column = TextColumn(codes, tuple(map(str, range(m))))
    names = tuple("abcdefgh")
    table = Table(names, (column,) * 8)
    schema = Schema(tuple(Column(name, Role.QUASI, Kind.NUMERIC) for name in names))
    read: list[int] = []

    def counted(texts: Sequence[str], *rest: Any) -> list[Value]:
        read.append(len(texts))
        return read_column(texts, *rest)

    monkeypatch.setattr(encoding, "read_column", counted)
    data = encode(table, schema)
    assert read == [m] * len(names)
    assert isinstance(data, Microdata)
    assert (data.codes == codes[:, None]).all()
