"""Releases by an engine: what it refuses, what it notices, what it leaves behind."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from support.commands import incrowd as command
from support.engine_tables import by_engine

import incrowd
from incrowd.commands.verify import verify
from incrowd.engines import in_duckdb
from incrowd.engines.in_duckdb import DuckEngine
from incrowd.engines.resources import Resources
from incrowd.errors import IncrowdError, InputError, NotVerified, PolicyError, TableError
from incrowd.flow import Table
from incrowd.policy import Policy
from incrowd.publishing import engine_choice, large_stages
from incrowd.publishing.large import publish_large, request_for_engine
from incrowd.publishing.pipeline import Form
from incrowd.release.stage import PREFIX

COUNT = 60
COLUMNS = {
    "name": [f"person {i}" for i in range(COUNT)],
    "age": [str(20 + i % 15) for i in range(COUNT)],
    "sex": ["FM"[i % 2] for i in range(COUNT)],
    "ill": [("flu", "cold", "cough")[i % 3] for i in range(COUNT)],
}
TABLE = Table.of(COLUMNS)
ROLES: dict[str, Any] = {"identifiers": ["name"], "quasi_identifiers": ["age", "sex"], "sensitive": ["ill"]}
POLICY = Policy(**ROLES, privacy={"k": 4})


@pytest.mark.parametrize("method", ["mondrian", "hilbert", "ring"])
@pytest.mark.parametrize("totals", [True, False])
def test_two_column_tables_are_off_as_far_as_in_memory(method: str, totals: bool, tmp_path: Path) -> None:
    policy = Policy(**ROLES, privacy={"k": 4}, method=method, totals=totals)
    found, wanted = by_engine(TABLE, policy, tmp_path).two_way, incrowd.publish(TABLE, policy).two_way
    if method == "mondrian":
        assert found == wanted  # others draw which of equal records, or who is behind a row
    assert [each.one_way for each in found.columns] == pytest.approx([c.one_way for c in wanted.columns])
    assert (found.sampled, found.totals) == (0, totals)


def test_of_many_rows_some_are_drawn_to_see_how_far_they_are_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_stages, "SAMPLE", 2_000)
    many = Table.of({name: [*column] * 100 for name, column in COLUMNS.items()})
    found, whole = by_engine(many, POLICY, tmp_path).two_way, incrowd.publish(many, POLICY).two_way
    assert 1_500 < found.sampled < 2_500
    assert f"Seen on {found.sampled:,} rows that were drawn by chance." in found.sentences()
    assert found.to_dict()["sampled"] == found.sampled
    assert found.error == pytest.approx(whole.error, abs=0.03)


REFUSED: dict[str, tuple[str, dict[str, Any]]] = {
    "another method": ("take mondrian, hilbert or ring", {"method": "kfactor"}),
    "relaxed": ("take mondrian", {"method": "mondrian-relaxed"}),
    "polish": ("polish is not done", {"options": {"polish": True}}),
    "polish along the curve": ("polish is not done", {"method": "hilbert", "options": {"polish": True}}),
    "hidden rows": ("hide_rows is not done", {"method": "ring", "options": {"hide_rows": True}}),
    "rows that are not drawn": (
        "drawn = false is not done",
        {"method": "ring", "options": {"drawn": False}, "accept": ["unsafe-identity"]},
    ),
    "l of a ring": ("by mondrian and hilbert", {"method": "ring", "privacy": {"k": 4, "l": 2}}),
    "workload": ("workload is not done", {"options": {"choose": "workload", "workload": ["age < 30"]}}),
    "t": ("t is not kept", {"privacy": {"k": 4, "t": "0.5"}}),
    "leaving out": ("leaves nobody out", {"privacy": {"k": 4, "max_suppression": "0.1"}}),
    "persons": ("counts rows, not persons", {"entity": "name", "identifiers": []}),
    "means": ("leave out mean", {"quasi_identifiers": {"age": {"type": "numeric", "mean": True}, "sex": {}}}),
    "rare": (
        "write the hierarchy to a file",
        {"quasi_identifiers": {"age": {}, "sex": {"hierarchy": {"rare": [10]}}}},
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_engine_does_is_refused_with_a_way_out(name: str) -> None:
    words, changed = REFUSED[name]
    with pytest.raises(PolicyError, match=words) as caught:
        request_for_engine(Policy(**{**ROLES, "privacy": {"k": 4}, **changed}))
    assert "publish it in memory" in str(caught.value)


def test_typed_columns_are_refused() -> None:
    with pytest.raises(PolicyError, match="an engine writes texts"):
        request_for_engine(POLICY, Form("parquet", typed=True))


def left_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_table_that_changes_meanwhile_is_not_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = DuckEngine.shuffle

    def changed(engine: DuckEngine) -> None:
        with engine.files.files[0].open("ab") as file:
            file.write(b"\n")
        real(engine)

    monkeypatch.setattr(DuckEngine, "shuffle", changed)
    with pytest.raises(TableError, match=r"table.csv changed while|rejected"):
        by_engine(TABLE, POLICY, tmp_path, "csv")
    assert left_in(tmp_path) == {"table.csv"}


def test_rows_that_get_lost_on_the_way_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = DuckEngine.assign

    def forgetful(engine: DuckEngine, classes: Any, node: int | None = None) -> None:
        engine._tuple_words = [word[1:] for word in engine._tuple_words]
        real(engine, classes[1:], node)

    monkeypatch.setattr(DuckEngine, "assign", forgetful)
    with pytest.raises(TableError, match="after shuffling the rows there are"):
        by_engine(TABLE, POLICY, tmp_path)
    assert left_in(tmp_path) == {"table.parquet"}


@pytest.mark.parametrize(("method", "form"), [("mondrian", "parquet"), ("ring", "csv")])
def test_shuffled_in_pieces_or_at_once_rows_have_the_same_order(
    method: str, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By keys of the operating system, here known ones; of so many rows that a file has two blocks."""
    real, pieces = DuckEngine._keys, list[int]()

    def with_known_keys(engine: DuckEngine) -> str:
        monkeypatch.setattr(engine, "_entropy", random.Random(7).randbytes)
        return real(engine)

    real_pieces = DuckEngine._sort_in_pieces

    def counted(engine: DuckEngine, rows: str, piece: str, many: int, *words: Any) -> None:
        pieces.append(many)
        real_pieces(engine, rows, piece, many, *words)

    monkeypatch.setattr(DuckEngine, "_keys", with_known_keys)
    monkeypatch.setattr(DuckEngine, "_sort_in_pieces", counted)
    policy = Policy(**ROLES, privacy={"k": 4}, method=method)
    many = Table.of({name: [*column] * 2_100 for name, column in COLUMNS.items()})
    found = []
    for bytes_a_key in (32, 10_000):
        monkeypatch.setattr(in_duckdb, "BYTES_A_KEY", bytes_a_key)
        folder = tmp_path / str(bytes_a_key)
        folder.mkdir()
        release = by_engine(many, policy, folder, form)
        found.append((release.folder / f"data.{form}").read_bytes())
        assert verify(release.folder, folder / f"table.{form}", policy).passed
    assert pieces == [2]
    assert found[0] == found[1] or method == "ring"  # who is behind a row of a ring is drawn apart
    assert len(found[0]) > 100_000


@pytest.mark.parametrize("rows", [300, 301, 299, 7_500])
def test_pieces_of_shuffled_rows_end_with_whole_row_groups(
    rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A border inside a row group would show in the file, and the file would not be that of its rows."""
    sizes, real = list[int](), DuckEngine._sort_in_pieces

    def counted(engine: DuckEngine, shuffled: str, piece: str, *words: Any) -> None:
        asked = f"SELECT count(*) FROM ({shuffled}) r GROUP BY {piece} ORDER BY {piece}"
        sizes.extend(count for (count,) in engine.local.rows(asked))
        real(engine, shuffled, piece, *words)

    monkeypatch.setattr(DuckEngine, "_sort_in_pieces", counted)
    monkeypatch.setattr(in_duckdb, "BYTES_A_KEY", 10**7)
    monkeypatch.setattr(in_duckdb, "ROWS_A_GROUP", 100)
    columns = {name: ([*column] * rows)[:rows] for name, column in COLUMNS.items()}
    assert by_engine(Table.of(columns), POLICY, tmp_path).verdict.passed
    assert len(sizes) == -(-rows // sizes[0])
    assert sum(sizes) == rows
    assert {size % 100 for size in sizes[:-1]} == {0}


def test_too_little_room_is_said_before_anything_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1000))
    with pytest.raises(InputError, match=r"has 1 MB free, and about 1 MB are needed"):
        by_engine(TABLE, POLICY, tmp_path, "csv")
    assert left_in(tmp_path) == {"table.csv"}


def test_a_dead_run_is_swept(tmp_path: Path) -> None:
    dead = tmp_path / f"{PREFIX}0123456789abcdef"
    (dead / "work" / "spill").mkdir(parents=True)
    (dead / "lock").touch()
    (dead / "work" / "coded.parquet").write_bytes(b"codes")
    release = by_engine(TABLE, POLICY, tmp_path)
    assert not dead.exists()
    assert left_in(tmp_path) == {"table.parquet", release.folder.name, release.audit.name}


def test_a_release_is_verified_again_by_the_engine(tmp_path: Path) -> None:
    release, original = by_engine(TABLE, POLICY, tmp_path), tmp_path / "table.parquet"
    assert verify(release.folder, original, POLICY).passed
    assert verify(release.folder, original, engine="duckdb", memory="512MB", threads=1).passed
    other = verify(release.folder, original, POLICY.with_(k=3), engine="duckdb")
    assert [check.name for check in other.failures][0] == "manifest"  # noqa: RUF015
    (release.audit / "records.parquet").unlink()
    with pytest.raises(InputError, match="does not say which records share a class"):
        verify(release.folder, original, engine="duckdb")


def test_other_bytes_of_the_same_rows_are_rejected(tmp_path: Path) -> None:
    import duckdb

    release, original = by_engine(TABLE, POLICY, tmp_path), tmp_path / "table.parquet"
    data = release.folder / "data.parquet"
    duckdb.sql(f"COPY (FROM '{data}') TO '{tmp_path / 'other.parquet'}' (COMPRESSION zstd)")
    data.write_bytes((tmp_path / "other.parquet").read_bytes())
    with pytest.raises(NotVerified, match="other bytes"):
        verify(release.folder, original, POLICY, engine="duckdb")


def test_the_other_commands_read_such_a_release(tmp_path: Path) -> None:
    release, original = by_engine(TABLE, POLICY, tmp_path), tmp_path / "table.parquet"
    measured = incrowd.measure(release.folder, original).to_dict()["loss"]["gcp"]
    assert measured == pytest.approx(release.loss()["gcp"])
    assert incrowd.query(release.folder, "SELECT COUNT(*) WHERE sex = 'F'") is not None
    with pytest.raises(InputError, match="read them from"):
        _ = release.table
    with pytest.raises(InputError, match="is written"):
        release.write(tmp_path / "again")


def test_from_python_and_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    incrowd_table = tmp_path / "people.csv"
    incrowd_table.write_text("\n".join(",".join(row) for row in [TABLE.names, *TABLE]) + "\n")
    said: list[str] = []
    monkeypatch.setattr(engine_choice, "machine_memory", lambda: 1000)
    monkeypatch.setattr(Resources, "of", lambda *_: Resources(512_000_000, 1))
    made = incrowd.publish(incrowd_table, POLICY, tmp_path / "auto", notice=said.append)
    assert "engine" in made.to_dict()
    assert said[0].endswith("would be needed: published with DuckDB (engine duckdb)")
    incrowd.publish(incrowd_table, POLICY, tmp_path / "kfactor", method="kfactor", notice=said.append)
    assert "DuckDB cannot take this over: kfactor is not run by an engine" in said[1]
    with pytest.raises(InputError, match="say where"):
        incrowd.publish(incrowd_table, POLICY, engine="duckdb")
    with pytest.raises(InputError, match="one of auto, memory, duckdb"):
        incrowd.publish(incrowd_table, POLICY, tmp_path / "never", engine="spork")
    policy = tmp_path / "policy.toml"
    policy.write_text(
        'identifiers = ["name"]\nquasi_identifiers = ["age", "sex"]\nsensitive = ["ill"]\n[privacy]\nk = 4\n'
    )
    words = ["--memory", "512MB", "--threads", "1", "--engine", "duckdb"]
    done = command("publish", incrowd_table, "-p", policy, "-o", tmp_path / "typed", *words, "--json")
    assert done.json["engine"] == {"name": "duckdb", "blocks": 0}
    shown = command("verify", tmp_path / "typed", "--original", incrowd_table, "-p", policy, *words)
    assert "All claims of the release hold." in shown.out


def test_the_order_of_rows_is_drawn_from_the_given_source(tmp_path: Path) -> None:
    """The keys alone decide: the same keys give the same order, and others another one."""
    source = tmp_path / "table.csv"
    source.write_text("\n".join(",".join(row) for row in [TABLE.names, *TABLE]) + "\n")
    orders = set()
    for place in range(2):
        publish_large(source, POLICY, tmp_path / str(place), resources=Resources(512_000_000, 1))
        orders.add((tmp_path / str(place) / "data.csv").read_bytes())
    assert len(orders) == 2
    assert len({bytes(sorted(order)) for order in orders}) == 1


def test_an_error_is_one_of_ours(tmp_path: Path) -> None:
    with pytest.raises(IncrowdError, match="does not exist"):
        publish_large(tmp_path / "none.parquet", POLICY, tmp_path / "never")
