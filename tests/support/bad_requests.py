"""Requests that must fail: what is on disk, what is asked for, which exit code, which words say why.

Every cell of every table carries a mark, so that a message that quotes one is caught.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

N = 40
PUBLISH = ("publish", "t.csv", "-p", "p.toml", "-o", "out")
ROLES = ("--qi", "age,zip", "--sensitive", "ill", "--identifiers", "name", "--keep", "visit")
FLAGS = ("publish", "t.csv", *ROLES, "-o", "out")
HEADER = "name,age,zip,ill,visit\n"
ROWS = tuple(
    (f"zqName{i:03d}", str(73000 + 7 * i), f"zqZip{i % 8}", f"zqIll{i % 5}", f"zqVisit{i % 2}")
    for i in range(N)
)

PUBLIC = '[public]\ntable = "v.csv"\nid = "name"\nmembership_secret = true\n'


def csv(rows: tuple[tuple[str, ...], ...] = ROWS, header: str = HEADER) -> str:
    return header + "".join(",".join(row) + "\n" for row in rows)


def column(place: int, *texts: str) -> str:
    """The table with these texts in the first rows of a column."""
    rows = [list(row) for row in ROWS]
    for row, text in zip(rows, texts, strict=False):
        row[place] = text
    return csv(tuple(map(tuple, rows)))


def policy(
    top: str = "", age: str = 'type = "numeric"', zip: str = 'type = "categorical"', privacy: str = "k = 5"
) -> str:
    roles = 'identifiers = ["name"]\nsensitive = ["ill"]\nkeep = ["visit"]\n'
    return f"{roles}{top}\n[quasi_identifiers]\nage = {{{age}}}\nzip = {{{zip}}}\n[privacy]\n{privacy}\n"


def tree(*rows: str) -> str:
    """A hierarchy file; without rows, a right one for zip."""
    return "".join(f"{row}\n" for row in rows or [f"zqZip{i};zqTown{i % 2};*" for i in range(8)])


@dataclass(frozen=True)
class Bad:
    """A request, and how it must fail. `says` are words of the message: what, which, what now."""

    id: str
    says: tuple[str, ...]
    words: tuple[str, ...] = PUBLISH
    files: Mapping[str, str | bytes] = field(default_factory=dict)
    code: int = 2


def of_policy(id: str, text: str, *says: str, code: int = 2) -> Bad:
    return Bad(id, says, files={"p.toml": text}, code=code)


def of_table(id: str, text: str | bytes, *says: str, code: int = 2) -> Bad:
    return Bad(id, says, files={"t.csv": text}, code=code)


def of_flags(id: str, words: tuple[str, ...], *says: str, code: int = 2) -> Bad:
    return Bad(id, says, words=(*FLAGS, *words), code=code)


def of_tree(id: str, text: str | bytes, *says: str, zip: str = 'hierarchy = "h.csv"') -> Bad:
    return Bad(id, says, files={"h.csv": text, "p.toml": policy(zip=zip)})


POLICIES = (
    of_policy("misspelt key", "identifers = []\n" + policy(), "identifers", "did you mean 'identifiers'"),
    of_policy("misspelt key of a column", policy(age='typ = "numeric"'), "typ", "did you mean 'type'"),
    of_policy("misspelt promise", policy(privacy="kk = 5"), "privacy.kk", "did you mean 'k'"),
    of_policy("unknown type", policy(age='type = "number"'), "quasi_identifiers.age.type", "numeric"),
    of_policy("column that is not there", policy('drop = ["agee"]'), "agee", "did you mean 'age'", "zip"),
    of_policy("column without role", policy().replace('keep = ["visit"]', ""), "visit", "put each under"),
    of_policy("column in two roles", policy('drop = ["age"]'), "age", "two roles", "keep one"),
    of_policy("column twice in a role", policy('drop = ["b", "b"]'), "drop", "twice"),
    of_policy(
        "no quasi-identifier",
        'drop = ["name", "age", "zip", "ill", "visit"]\n[privacy]\nk = 5\n',
        "nothing to generalise",
        "copy the file",
    ),
    of_policy("no k", policy(privacy=""), "has no k", "k = 10"),
    of_policy("k of 0", policy(privacy="k = 0"), "privacy.k", "at least 2"),
    of_policy("k of 1", policy(privacy="k = 1"), "privacy.k", "at least 2"),
    of_policy("k negative", policy(privacy="k = -5"), "privacy.k", "at least 2"),
    of_policy("k as text", policy(privacy='k = "10"'), "privacy.k", "whole number"),
    of_policy("k not whole", policy(privacy="k = 2.5"), "privacy.k", "whole number"),
    of_policy("k true", policy(privacy="k = true"), "privacy.k", "whole number"),
    of_policy("k above the rows", policy(privacy="k = 41"), "40", "41", code=1),
    of_policy("k huge", policy(privacy=f"k = {10**30}"), "k", "40", code=1),
    of_policy("l above the values", policy(privacy="k = 5\nl = 6"), "ill", "5", "6", code=1),
    of_policy("l of 1", policy(privacy="k = 5\nl = 1"), "privacy.l", "above 1"),
    of_policy("l as text", policy(privacy='k = 5\nl = "many"'), "privacy.l", "number"),
    of_policy("kind of l without l", policy(privacy='k = 5\nl_kind = "entropy"'), "l_kind", "needs l"),
    of_policy("c without its l", policy(privacy="k = 5\nl = 2\nc = 3"), "recursive", "c"),
    of_policy(
        "l without a sensitive column",
        policy('drop = ["ill"]', privacy="k = 5\nl = 2").replace('sensitive = ["ill"]', ""),
        "l",
        "sensitive",
    ),
    of_policy("t of 0", policy(privacy="k = 5\nt = 0"), "privacy.t", "above 0", "at most 1"),
    of_policy("t above 1", policy(privacy="k = 5\nt = 1.5"), "privacy.t", "at most 1"),
    of_policy("t not a number", policy(privacy="k = 5\nt = nan"), "privacy.t"),
    of_policy("distance without t", policy(privacy='k = 5\nt_distance = "equal"'), "t_distance", "needs t"),
    of_policy(
        "unknown distance", policy(privacy='k = 5\nt = 0.5\nt_distance = "far"'), "t_distance", "equal"
    ),
    of_policy(
        "distance without hierarchy", policy(privacy='k = 5\nt = 0.5\nt_distance = "hierarchical"'), "ill"
    ),
    of_policy("distance without order", policy(privacy='k = 5\nt = 0.5\nt_distance = "ordered"'), "ill"),
    of_policy("unknown method", policy('method = "mondrain"'), "mondrain", "did you mean 'mondrian'"),
    of_policy("unknown option", policy() + "[options]\nchose = 1\n", "chose", "did you mean 'choose'"),
    of_policy("option out of its limits", policy() + '[options]\nchoose = "best"\n', "choose", "widest"),
    of_policy("option of a wrong type", policy() + "[options]\nchoose = [1]\n", "choose", "widest"),
    of_policy("workload that is no list", policy() + "[options]\nworkload = 3\n", "workload", "list"),
    of_policy(
        "workload on a strange column",
        policy() + '[options]\nchoose = "workload"\nworkload = ["agee BETWEEN 1 AND 2"]\n',
        "agee",
    ),
    of_policy(
        "workload in tables",
        policy() + '[options]\nchoose = "workload"\nworkload = [{where = {age = {from = 1, to = 2}}}]\n',
        "must be SQL",
        "age BETWEEN 20 AND 40",
    ),
    of_policy("unknown exposure", policy('accept = ["near-uniqe-keep"]'), "near-uniqe-keep", "did you mean"),
    of_policy("public table for nothing", policy() + PUBLIC, "takes no public table", "leave out [public]"),
    of_policy("date of no day", policy() + PUBLIC + "date = 2024\n", "public.date", "a day, such as"),
    of_policy(
        "check by itself", policy() + PUBLIC + 'check = "v.csv"\n', "public", "does not confirm itself"
    ),
    of_policy("unknown conflicts", policy() + PUBLIC + 'conflicts = "no"\n', "public.conflicts", "microdata"),
    of_policy("misspelt public key", policy() + PUBLIC + "chek = 1\n", "public.chek", "did you mean 'check'"),
    of_policy("bad TOML", policy() + "k = = 5\n", "p.toml", "not valid TOML", "line"),
    of_policy("a key twice", policy() + "k = 6\n", "p.toml", "not valid TOML"),
    Bad("policy in Latin-1", ("p.toml", "not UTF-8", "line 1"), files={"p.toml": b'drop = ["\xe4"]'}),
    Bad("empty policy", ("has no k", "k = 10"), files={"p.toml": ""}),
    Bad(
        "no policy file",
        ("q.toml", "does not exist"),
        words=("publish", "t.csv", "-p", "q.toml", "-o", "out"),
    ),
    Bad("folder as policy", ("not a regular file",), words=("publish", "t.csv", "-p", ".", "-o", "out")),
    of_policy("roles as text", policy().replace('["name"]', '"name"'), "identifiers", "list of texts"),
    of_policy("ordered without values", policy(zip='type = "ordered"'), "zip", "values"),
    of_policy("ordered values missing", policy(zip='type = "ordered", values = ["a"]'), "zip", "8", "values"),
    of_policy("mean of texts", policy(zip="mean = true"), "zip", "mean"),
    of_policy("range of texts", policy(zip='publish = "range"'), "zip", "range"),
    of_policy("node without hierarchy", policy(zip='publish = "node"'), "zip", "hierarchy"),
    of_policy(
        "family not closed",
        policy(zip='family = [["zqZip0", "zqZip1", "zqZip2"], ["zqZip1", "zqZip2", "zqZip3"]]'),
        "zip",
        "intersections",
        "complete = true",
    ),
    of_policy("family of an unknown kind", policy(zip='family = "all"'), "zip.family", "list of lists"),
    of_policy("family of numbers", policy(age='family = [["73000", "73007"]]'), "age", "family"),
    of_policy("entity that is not there", policy('entity = "person"'), "person", "the table has"),
    of_policy("date format with a hole", policy(age='type = "date", format = "%Y-%m"'), "age", "dd.mm.yyyy"),
    of_policy(
        "near-unique kept column",
        policy().replace("visit", "NN").replace("name", "visit").replace("NN", "name"),
        "name",
        "near-unique-keep",
        "--accept",
        code=1,
    ),
    Bad(
        "k of persons",
        ("k", "2"),
        files={"p.toml": policy('entity = "visit"').replace('keep = ["visit"]', "")},
        code=1,
    ),
)

TABLES = (
    Bad("no table", ("u.csv", "does not exist"), words=("publish", "u.csv", *PUBLISH[2:])),
    Bad(
        "folder as table",
        ("d.csv is a folder", "Parquet"),
        words=("publish", "d.csv", *PUBLISH[2:]),
        files={"d.csv/x": ""},
    ),
    Bad(
        "table of no known kind",
        (".csv", ".parquet"),
        words=("publish", "t.xls", *PUBLISH[2:]),
        files={"t.xls": csv()},
    ),
    of_table("empty file", "", "t.csv"),
    of_table("only a BOM", b"\xef\xbb\xbf", "t.csv"),
    of_table("header only", HEADER, "no rows", "nothing to publish"),
    of_table("blank lines only", "\n\n\n", "t.csv"),
    of_table("duplicate header", csv(header="name,age,age,ill,visit\n"), "columns 2 and 3", "rename"),
    of_table("header in capitals", csv(header="name,age,Age,ill,visit\n"), "columns 2 and 3", "rename"),
    of_table(
        "header composed otherwise",
        csv(header="name,\u00e9,e\u0301,ill,visit\n"),
        "columns 2 and 3",
        "rename",
    ),
    of_table("column without name", csv(header="name,age,,ill,visit\n"), "column 3", "no name"),
    of_table("short row", csv() + "zqName990,73990\n", "line 42"),
    of_table("long row", csv() + "zqName990,73990,zqZip1,zqIll1,zqVisit1,zqMore\n", "line 42"),
    of_table("quote not closed", csv() + 'zqName990,73990,"zqZip1,zqIll1,zqVisit1\n', "t.csv", "quote"),
    of_table("quote inside a cell", csv() + 'zqName990,73990,zq"Zip1,zqIll1,zqVisit1\n', "line 42", "quote"),
    of_table(
        "text after a quote", csv() + 'zqName990,73990,"zqZip1"zq,zqIll1,zqVisit1\n', "line 42", "quote"
    ),
    of_table("NUL", csv() + "zqName990,73990,zq\0Zip,zqIll1,zqVisit1\n", "line 42", "NUL"),
    of_table("UTF-32", csv().encode("utf-32"), "UTF-32", "save it as UTF-8"),
    of_table("a zip archive", b"PK\x03\x04" + csv().encode(), "zip archive"),
    of_table("infinity", column(1, "inf"), "age", "1 of its", "categorical"),
    of_table("not a number", column(1, "NaN", "nan"), "age", "2 of its", "missing"),
    of_table("text in numbers", column(1, "zqAge"), "age", "1 of its", "categorical"),
    of_table("thousands in numbers", column(1, '"73,001"'), "age", "thousands", "format"),
    of_table("number of 50 digits", column(1, "7" * 50), "age", "1 of its"),
    Bad(
        "not gzip",
        ("t.csv.gz", "gzip"),
        words=("publish", "t.csv.gz", *PUBLISH[2:]),
        files={"t.csv.gz": csv()},
    ),
    Bad(
        "not Parquet",
        ("not a Parquet file",),
        words=("publish", "t.parquet", *PUBLISH[2:]),
        files={"t.parquet": csv()},
    ),
    Bad(
        "damaged Parquet",
        ("damaged",),
        words=("publish", "t.parquet", *PUBLISH[2:]),
        files={"t.parquet": b"PAR1" + csv().encode() + b"PAR1"},
    ),
    Bad("fewer rows than k", ("4", "5"), files={"t.csv": csv(ROWS[:4])}, code=1),
    Bad(
        "bad dates",
        ("age", "1 of its", "YYYY-MM-DD"),
        files={
            "t.csv": csv(
                tuple((r[0], f"2024-01-{i % 31 + 1:02d}", *r[2:]) for i, r in enumerate(ROWS))
            ).replace("2024-01-31", "2024-02-31"),
            "p.toml": policy(age='type = "date"'),
        },
    ),
    Bad(
        "moments as dates",
        ("age", "time of day", "format"),
        files={
            "t.csv": csv(
                tuple(
                    (r[0], f"2024-01-{i % 31 + 1:02d} {i % 24:02d}:00:00", *r[2:]) for i, r in enumerate(ROWS)
                )
            ),
            "p.toml": policy(age='type = "date"'),
        },
    ),
)

TREES = (
    of_tree("hierarchy that lacks values", tree("zqZip0;zqTown0;*"), "zip", "7"),
    of_tree("hierarchy with two parents", tree() + "zqZip0;zqTown1;*\n", "h.csv", "line 9"),
    of_tree("hierarchy that is no tree", tree("a;u;x;*", "b;u;y;*"), "h.csv", "line 2"),
    of_tree("hierarchy with two roots", tree("zqZip0;zqTown0;*", "zqZip1;zqTown1;all"), "zip", "add a row"),
    of_tree("ragged hierarchy", tree("zqZip0;zqTown0;*", "zqZip1;*"), "h.csv", "line 2"),
    of_tree("empty hierarchy", "", "h.csv"),
    of_tree("hierarchy split by tabs", tree().replace(";", "\t"), "zip", "8 of the column's 8"),
    of_tree("hierarchy in Latin-1", b"zq\xe4;x;*\n", "h.csv", "line 1", "UTF-8"),
    of_tree("hierarchy file that is not there", tree(), "g.csv", "does not exist", zip='hierarchy = "g.csv"'),
    of_tree("folder as hierarchy", tree(), "not a regular file", zip='hierarchy = "."'),
    of_tree("unknown builder", tree(), "prefx", "prefix", zip="hierarchy = {prefx = [2]}"),
    of_tree("builder without levels", tree(), "zip", zip="hierarchy = {prefix = []}"),
    of_tree("prefix growing", tree(), "zip", zip="hierarchy = {prefix = [2, 5]}"),
    of_tree("prefix of texts", tree(), "zip", zip='hierarchy = {prefix = ["two"]}'),
    of_tree("dates of texts", tree(), "zip", zip='hierarchy = {dates = ["month"]}'),
    of_tree("hierarchy as number", tree(), "zip.hierarchy", "path of a file", zip="hierarchy = 5"),
)

OUTPUTS = (
    Bad("output exists", ("out", "exists", "--replace"), files={"out/note": "zqNote"}),
    Bad("output is a file", ("out", "exists"), files={"out": "zqNote"}),
    Bad(
        "output is no release",
        ("out", "no release", "not replaced"),
        words=(*PUBLISH, "--replace"),
        files={"out/note": "zq"},
    ),
    Bad(
        "output replaces a file",
        ("out", "no release"),
        words=(*PUBLISH, "--replace"),
        files={"out": "zqNote"},
    ),
    Bad("no folder for the output", ("up", "does not exist", "create it"), words=(*PUBLISH[:-1], "up/out")),
    Bad("a file above the output", ("t.csv", "does not exist"), words=(*PUBLISH[:-1], "t.csv/out")),
    Bad("output that cannot be written", ("/proc", "cannot write"), words=(*PUBLISH[:-1], "/proc/out")),
    Bad("output without a name", ("folder of its own", "new one"), words=(*PUBLISH[:-1], "..")),
    Bad("output here", ("folder of its own", "new one"), words=(*PUBLISH[:-1], ".")),
    Bad("unknown format", ("format", "csv or parquet"), words=(*PUBLISH, "--format", "xlsx")),
    Bad("typed CSV", ("typed", "Parquet"), words=(*PUBLISH, "--typed")),
    Bad(
        "policy that cannot be written",
        ("deep/p.toml", "cannot write"),
        words=("inspect", "t.csv", "-o", "deep/p.toml"),
    ),
    Bad("policy that exists", ("p.toml", "exists", "new file"), words=("inspect", "t.csv", "-o", "p.toml")),
    Bad(
        "tour that exists", ("d", "exists", "new folder"), words=("demo", "--folder", "d"), files={"d/x": ""}
    ),
    Bad("tour without a folder above", ("deep",), words=("demo", "--folder", "deep/d")),
)

COMMANDS = (
    Bad("no roles at all", ("--qi", "incrowd inspect", "-p"), words=("publish", "t.csv", "-o", "out")),
    Bad("roles twice", ("sensitive", "not in both"), words=(*PUBLISH, "--sensitive", "ill")),
    of_flags("flags without k", (), "k = 10", "--k 10"),
    of_flags("flag k of 1", ("--k", "1"), "privacy.k", "at least 2"),
    of_flags("flag k as text", ("--k", "ten"), "--k", "integer"),
    of_flags("flag l as text", ("--k", "5", "--l", "few"), "--l", "number"),
    of_flags("flag l as a fraction", ("--k", "5", "--l", "5/2"), "--l", "number"),
    of_flags("flag l negative", ("--k", "5", "--l", "-2"), "privacy.l", "above 1"),
    of_flags("flag t as text", ("--k", "5", "--t", "0,2"), "--t", "number"),
    of_flags("flag t too large", ("--k", "5", "--t", "2"), "privacy.t", "at most 1"),
    of_flags("flag t with exponent", ("--k", "5", "--t", "1e9"), "--t", "number"),
    of_flags("option without value", ("--k", "5", "--set", "choose"), "--set", "name=value"),
    of_flags("option not known", ("--k", "5", "--set", "chose=widest"), "chose", "did you mean 'choose'"),
    of_flags("option as a superscript", ("--k", "5", "--set", "choose=\u00b2"), "choose"),
    of_flags("option as minus signs", ("--k", "5", "--set", "choose=--5"), "choose"),
    of_flags("k as option", ("--k", "5", "--set", "k=1"), "k", "option"),
    of_flags("exposure not known", ("--k", "5", "--accept", "everything"), "everything", "near-unique-keep"),
    of_flags("method not known", ("--k", "5", "--method", "magic"), "magic", "mondrian"),
    of_flags("column not there", ("--k", "5", "--drop", "agee"), "agee", "did you mean 'age'"),
    Bad("unknown flag", ("--kk",), words=(*FLAGS, "--kk", "5")),
    Bad("unknown command", ("publsh",), words=("publsh", "t.csv")),
    Bad("no output", ("--output",), words=("publish", "t.csv", "-p", "p.toml")),
    Bad("inspect nothing", ("u.csv", "does not exist"), words=("inspect", "u.csv")),
    Bad("verify without original", ("--original",), words=("verify", "d")),
    Bad(
        "verify what is not there",
        ("d does not exist", "release.json"),
        words=("verify", "d", "--original", "t.csv", "-p", "p.toml"),
    ),
    Bad(
        "verify a file",
        ("t.csv is no folder", "release.json"),
        words=("verify", "t.csv", "--original", "t.csv", "-p", "p.toml"),
    ),
    Bad(
        "verify without audit",
        ("no audit", "-p"),
        words=("verify", "d", "--original", "t.csv"),
        files={"d/release.json": "{}"},
    ),
    Bad(
        "verify what is no release",
        ("no release", "release.json"),
        words=("verify", "d", "--original", "t.csv"),
        files={"d/x": ""},
    ),
    Bad(
        "verify with a damaged audit",
        ("audit", "-p"),
        words=("verify", "d", "--original", "t.csv"),
        files={"d/release.json": "{}", "d.audit/schema.json": "{"},
    ),
    Bad(
        "verify with a strange audit",
        ("audit", "-p"),
        words=("verify", "d", "--original", "t.csv"),
        files={"d/release.json": "{}", "d.audit/schema.json": "[1]"},
    ),
    Bad(
        "verify without the original",
        ("u.csv", "does not exist"),
        words=("verify", "d", "--original", "u.csv", "-p", "p.toml"),
        files={"d/release.json": "{}"},
    ),
    Bad(
        "measure a table without policy",
        ("policy", "-p"),
        words=("measure", "m.csv", "--original", "t.csv"),
        files={"m.csv": csv()},
    ),
    Bad(
        "measure what is not there",
        ("m.csv",),
        words=("measure", "m.csv", "--original", "t.csv", "-p", "p.toml"),
    ),
    Bad(
        "measure a folder that is no release",
        ("no release", "release.json"),
        words=("measure", "d", "--original", "t.csv"),
        files={"d/x": ""},
    ),
    Bad(
        "measure a folder that is no release, with a policy",
        ("no release", "release.json"),
        words=("measure", "d", "--original", "t.csv", "-p", "p.toml"),
        files={"d/x": ""},
    ),
    Bad(
        "verify with a k and no policy to change",
        ("--k", "-p"),
        words=("verify", "d", "--original", "t.csv", "--k", "0"),
        files={"d/x": ""},
    ),
    Bad(
        "verify with a method and no policy to change",
        ("the method", "-p"),
        words=("verify", "d", "--original", "t.csv", "--method", "kk"),
        files={"d/x": ""},
    ),
    Bad(
        "measure rows of another table",
        ("age",),
        words=("measure", "m.csv", "--original", "t.csv", "-p", "p.toml"),
        files={"m.csv": "age,zip,ill,visit\nzqAge,zqZip1,zqIll1,zqVisit1\n"},
    ),
    Bad(
        "measure a table without the column",
        ("zip",),
        words=("measure", "m.csv", "--original", "t.csv", "-p", "p.toml"),
        files={"m.csv": "age,ill,visit\n73000,zqIll1,zqVisit1\n"},
    ),
)

UNSAFE = "to publish all the same, accept it by name"


def of_crowds(id: str, words: tuple[str, ...], *says: str, code: int = 2) -> Bad:
    return of_flags(id, ("--k", "5", *words), *says, code=code)


CROWDS = (
    of_crowds("rows for k records alone", ("--method", "k1-expansion"), UNSAFE, "unsafe-one-sided", code=1),
    of_crowds("rows for k records alone, nearest", ("--method", "k1-nearest"), "unsafe-one-sided", code=1),
    of_crowds("records for k rows alone", ("--method", "one-k"), UNSAFE, "unsafe-one-sided", code=1),
    of_crowds(
        "the printed assignment", ("--method", "kk", "--set", "drawn=false"), "unsafe-identity", code=1
    ),
    of_crowds(
        "rows that no draw makes even",
        ("--method", "kk", "--set", "mend=false"),
        *("somebody is found with probability", "mend = true", "unsafe-matches"),
        code=1,
    ),
    of_crowds(
        "an exposure that is not the one",
        ("--method", "kk", "--set", "drawn=false", "--accept", "unsafe-matches"),
        "unsafe-identity",
        code=1,
    ),
    of_crowds(
        "crowds with l",
        ("--method", "k1-nearest", "--l", "2", "--accept", "all"),
        "l is about classes",
        "mondrian",
    ),
    of_crowds("crowds with t", ("--method", "kfactor", "--t", "0.5"), "t is about classes"),
    of_crowds("a start that is none", ("--method", "kk", "--set", "start=clusters"), "start", "expansion"),
    of_crowds("a measure that is none", ("--method", "global-1k", "--set", "measure=dm"), "measure", "lm"),
    of_crowds("mend is no switch", ("--method", "kk", "--set", "mend=1"), "mend", "true or false"),
    of_crowds("mending what is mended", ("--method", "kfactor", "--set", "mend=false"), "mend", "kfactor"),
    of_crowds("a crowd larger than the table", ("--method", "kfactor", "--k", "41"), "n=40", "k=41", code=1),
    of_policy("crowds of means", policy('method = "kk"', age='type = "numeric", mean = true'), "age", "mean"),
    of_policy(
        "crowds of persons",
        policy('method = "kk"\nentity = "name"').replace('["name"]', "[]"),
        "entity",
        "rows",
    ),
    Bad(
        "crowds of sets of too many values",
        ("zip", "64", "hierarchy"),
        words=(*FLAGS, "--k", "5", "--method", "kk"),
        files={
            "t.csv": csv(
                tuple((f"zqName{i}", str(73000 + i), f"zqZip{i}", "zqIll", "zqVisit") for i in range(90))
            )
        },
    ),
)

LONG = "n" * 300
CANNOT = "File name too long"
NAMES = (
    Bad("table of a name too long", (CANNOT,), words=("publish", f"{LONG}.csv", *PUBLISH[2:])),
    Bad("policy of a name too long", (CANNOT,), words=("publish", "t.csv", "-p", LONG, "-o", "out")),
    Bad("output of a name too long", (CANNOT,), words=(*PUBLISH[:-1], LONG)),
    Bad("audit of a name too long", (CANNOT,), words=(*PUBLISH[:-1], LONG[:252])),
    Bad("first policy of a name too long", (CANNOT,), words=("inspect", "t.csv", "-o", LONG)),
    Bad("tour of a name too long", (CANNOT,), words=("demo", "--folder", LONG)),
    Bad("release of a name too long", (CANNOT,), words=("verify", LONG, "--original", "t.csv")),
    Bad("release to measure of a name too long", (CANNOT,), words=("measure", LONG, "--original", "t.csv")),
    of_tree(
        "hierarchy of a name too long",
        tree(),
        "does not exist or may not be read",
        zip=f'hierarchy = "{LONG}"',
    ),
    of_tree(
        "hierarchy of an impossible name",
        tree(),
        "does not exist or may not be read",
        zip=r'hierarchy = "a\u0000"',
    ),
)

EVERY_BAD = (*NAMES, *POLICIES, *TABLES, *TREES, *OUTPUTS, *COMMANDS, *CROWDS)
