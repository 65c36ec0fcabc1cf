"""What is measured. A function here takes the seconds of one kd and yields figures."""

from __future__ import annotations

import csv
import gzip
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from bench import Codes, Figure, cpu, kd_seconds, peak_mb, uniform
from census import census_figures
from dates import date_figures
from engines import different_rows, engine_figures
from expc import expansion_by_outliers
from headlines import headline_figures
from joins import joined_figures, topdown_figures
from lattices import incognito
from ledgers import ledger_figures
from neighbourhoods import expansion, exponent, global_1k, kfactor, one_k
from outliers import outlier_figures
from publishing import published
from queries import query_figures
from rings import assignments, rows_cut, whole_ring
from spark import spark_figures
from studio import studio_figures
from tables import adult_with_trees, first, microdata, real_data

from incrowd.algorithms.base import Algorithm
from incrowd.algorithms.partitions.mondrian import Mondrian, RelaxedMondrian, StrictMondrian
from incrowd.algorithms.partitions.single import SingleDimensional
from incrowd.flow import Microdata
from incrowd.long_work import silent
from incrowd.schema import Verdict
from incrowd.verifier import verify as verify_folder

N = 1_000_000
K = 10


def census(n: int) -> Codes:
    """Six skewed columns with the domains of a census."""
    rng = np.random.default_rng(2)
    domains = (78, 2, 16, 800, 50, 400)
    return np.stack([(rng.beta(2, 5, n) * size).astype(np.int32) for size in domains], axis=1)


def kernel_seconds(recipe: Mondrian, data: Microdata) -> float:
    """The compiled run alone, on codes in the form it takes."""
    from incrowd.algorithms.partitions.mondrian import MondrianRun, cut_unguarded
    from incrowd.long_work import silent, with_threads

    best = float("inf")
    for _ in range(5):
        run = MondrianRun(recipe, data)
        prepared = run.prepare(data.codes, np.zeros(0, np.int32))
        start = time.process_time()
        with with_threads(1):
            cut_unguarded(prepared, silent)
        best = min(best, time.process_time() - start)
    return best


def growth(recipe: Mondrian, codes: Codes, whole: float) -> float:
    """Time for all rows over time for a quarter, as a multiple of linear times logarithm."""
    quarter = kernel_seconds(recipe, microdata(codes[: len(codes) // 4]))
    linear_log = 4 * np.log(len(codes)) / np.log(len(codes) // 4)
    return float(whole / quarter / linear_log)


def mondrian_kernels(_kd: float) -> Iterator[Figure]:
    """Strict and relaxed cuts against a cKDTree of the same array."""
    goals = {"widest": 0.30, "gain": 3.0}
    for table, codes in (("uniform", uniform(N)), ("census-like", census(N))):
        reference = kd_seconds(codes)
        data = microdata(codes)
        for choose, goal in goals.items():
            for recipe in (StrictMondrian(K, choose=choose), RelaxedMondrian(K, choose=choose)):
                kernel_seconds(recipe, microdata(codes[:2000]))
                whole = kernel_seconds(recipe, data)
                kind = "strict" if recipe.strict else "relaxed"
                yield Figure(
                    f"mondrian {kind} {choose} ({table})",
                    f"n={N} d=6 k={K}",
                    whole / reference,
                    "cKDTree, same array",
                    goal,
                    growth(recipe, codes, whole),
                    peak_mb(),
                )


def single_dimensional(_kd: float) -> Iterator[Figure]:
    for table, codes in (("uniform", uniform(N)), ("census-like", census(N))):
        reference = kd_seconds(codes)
        data, recipe = microdata(codes), SingleDimensional(K)
        recipe.group(microdata(codes[:2000]), (), silent)
        whole = cpu(partial(recipe.group, data, (), silent))
        yield Figure(f"single ({table})", f"n={N} d=6 k={K}", whole / reference, "cKDTree, same array", 1.0)


CENSUS_POLICY = """
sensitive = ["CIT", "INDP", "OCCP", "ESR", "WKHP", "MIL", "DIS", "HICOV", "NP", "NPF", "TEN", "RNTP", "HINCP",
  "PINCP", "WAGP", "PWGTP", "STATE"]
[quasi_identifiers]
PUMA = {type = "categorical"}
AGEP = {type = "numeric"}
SEX = {type = "categorical"}
RAC1P = {type = "categorical"}
HISP = {type = "categorical"}
SCHL = {type = "categorical"}
MAR = {type = "categorical"}
COW = {type = "categorical"}
[privacy]
k = 10
"""


def publish_census(_kd: float) -> Iterator[Figure]:
    """The whole command, verification included, against DuckDB copying the same file."""
    data = real_data()
    if data is None:
        print("publish census: skipped, no real tables (set INCROWD_DATA)", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = folder / "census.csv"
        with gzip.open(data / "acs2024_census" / "census.csv.gz", "rb") as source, table.open("wb") as target:
            shutil.copyfileobj(source, target)
        (folder / "policy.toml").write_text(CENSUS_POLICY)
        copy = min(_child(folder, _COPY)[0] for _ in range(3))
        publish = f"import sys; sys.argv[1:] = {_ARGUMENTS!r}; import incrowd; incrowd._command_line()"
        runs = []
        for _ in range(3):
            runs.append(_child(folder, publish))
            shutil.rmtree(folder / "out")
            shutil.rmtree(folder / "out.audit")
        seconds, memory = min(runs)
        with table.open(newline="") as rows:
            size = f"n={sum(1 for _ in csv.reader(rows)) - 1} 25 columns k=10"
        yield Figure("publish census", size, seconds / copy, "DuckDB CSV to CSV", 6.0, None, memory)
        yield Figure("publish census, peak memory", size, memory / 1500, "of 1.5 GB", 1.0)
        yield Figure("publish census, two threads", size, _gain(folder), "speed of one", 1.5, more=True)


def _gain(folder: Path) -> float:
    """How much sooner two threads publish than one, in wall time, in a program that runs already."""
    from incrowd import Policy
    from incrowd.long_work import with_threads
    from incrowd.publishing.pipeline import publish_to

    policy, best = Policy.load(folder / "policy.toml"), {1: math.inf, 2: math.inf}
    for turn in range(6):  # the first one loads kernels
        for threads in best:
            with with_threads(threads):
                start = time.perf_counter()
                publish_to(folder / "census.csv", policy, folder / f"out {turn} {threads}")
                best[threads] = min(best[threads], time.perf_counter() - start)
    return best[1] / best[2]


_DROPPED = (
    *("CIT", "INDP", "OCCP", "ESR", "WKHP", "MIL", "DIS", "HICOV", "NP", "NPF", "TEN", "RNTP", "HINCP"),
    *("PINCP", "PWGTP", "STATE"),
)


def verify_alone(_kd: float) -> Iterator[Figure]:
    """`verify` with nothing but the files, against the same check inside `publish`, which has the links."""
    from incrowd import Policy
    from incrowd.commands import verify as command
    from incrowd.long_work import with_threads
    from incrowd.publishing import pipeline

    data = real_data()
    if data is None:
        print("verify alone: skipped, no real tables (set INCROWD_DATA)", file=sys.stderr)
        return
    policy = Policy.from_dict(
        {
            "quasi_identifiers": ["PUMA", "AGEP", "SEX", "RAC1P", "HISP", "SCHL", "MAR", "COW"],
            "sensitive": ["WAGP"],
            "drop": [*_DROPPED],
            "privacy": {"k": K},
        }
    )
    with tempfile.TemporaryDirectory() as name:
        source, inside = Path(name) / "census.csv", list[float]()
        with (
            gzip.open(data / "acs2024_census" / "census.csv.gz", "rb") as packed,
            source.open("wb") as target,
        ):
            shutil.copyfileobj(packed, target)

        def timed(*given: Any, **more: Any) -> Verdict:
            found: list[Verdict] = []  # timed once: what is read stays with what is given
            inside.append(cpu(lambda: found.append(verify_folder(*given, **more)), 1))
            return found[0]

        vars(pipeline)["verify"] = timed
        with with_threads(1):  # with more, the original is read before the check begins, and does not count
            for folder in ("first", "out"):
                pipeline.publish_to(source, policy, Path(name) / folder)
        vars(pipeline)["verify"] = verify_folder
        alone = cpu(lambda: command.verify(Path(name) / "out", source, policy), 2)
        yield Figure("verify alone", f"n=542119 d=8 k={K}", alone / min(inside), "inside publish", 2.0)


_ARGUMENTS = ["publish", "census.csv", "-p", "policy.toml", "-o", "out", "--json"]
_COPY = (
    "import duckdb; duckdb.execute(\"COPY (SELECT * FROM read_csv('census.csv')) "
    "TO 'copy.csv' (FORMAT csv, HEADER)\")"
)


def _child(folder: Path, code: str) -> tuple[float, float]:
    """Processor seconds and peak megabytes of a Python process of its own."""
    pid = os.posix_spawn(
        sys.executable,
        [sys.executable, "-c", f"import os; os.chdir({str(folder)!r}); {code}"],
        os.environ,
        file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)],
    )
    _, status, used = os.wait4(pid, 0)
    if status:
        raise subprocess.CalledProcessError(status, code)
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


# Peers on the same table: the best set-valued Mondrian, and ARX's fast local recoding.
PEERS = {5: (0.0291, 0.0604), 10: (0.0504, 0.0840), 50: (0.1429, 0.1568)}
GOALS = {5: 0.027, 10: 0.048, 50: 0.125}


def adult_loss(_kd: float) -> Iterator[Figure]:
    """What publishing Adult loses: categories as sets, then with ARX's hierarchies, beside the best peers."""
    from incrowd import Policy, publish

    data = real_data()
    if data is None:
        print("adult loss: skipped, no real tables (set INCROWD_DATA)", file=sys.stderr)
        return
    folder = data / "adult_arx"
    names = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")
    flat = {name: {"type": "numeric" if name == "age" else "categorical"} for name in names}
    trees = {name: {"hierarchy": str(folder / "hierarchies" / f"{name}.csv")} for name in names}
    for k, (sets, arx) in PEERS.items():
        for what, columns, peer, goal in (
            ("sets", flat, sets, GOALS[k]),
            ("ARX hierarchies", trees, arx, None),
        ):
            policy = Policy(quasi_identifiers=columns, sensitive=["salary-class"], privacy={"k": k})
            release = publish(folder / "adult_arx.csv", policy)
            yield Figure(
                f"adult loss, {what}", f"n=30162 d=8 k={k}", release.loss()["gcp"], f"gcp (peer {peer})", goal
            )


def components_of_a_graph(_kd: float) -> Iterator[Figure]:
    """Strongly connected components, for the matches of a random graph in which all have ten neighbours."""
    from incrowd.graph import Graph
    from incrowd.graph.components import residual
    from incrowd.kernels.flow import strong_components

    n, degree = 100_000, 10
    rng = np.random.default_rng(3)
    rows = np.sort(np.stack([np.arange(n), *(rng.permutation(n) for _ in range(degree - 1))], axis=1), axis=1)
    graph = Graph.of(rows.tolist())
    flow = (graph.tails == graph.indices).astype(np.int64)
    digraph = residual(graph, flow)
    edges = graph.indices.size
    seconds = cpu(lambda: strong_components(*digraph))
    yield Figure("components", f"n={n} {edges} edges", seconds / edges * 1e6, "µs per edge", 0.2)
    whole = cpu(lambda: strong_components(*residual(graph, flow)))
    yield Figure("components, with the digraph", f"n={n} {edges} edges", whole / edges * 1e6, "µs per edge")


def agglomerative(kd: float) -> Iterator[Figure]:
    """Clusters of Adult; growth is the exponent from a quarter of the rows to all."""
    from incrowd.algorithms.partitions.agglomerative import Agglomerative
    from incrowd.algorithms.partitions.forest import Forest

    data = adult_with_trees()
    if data is None:
        print("agglomerative: skipped, no real tables (set INCROWD_DATA)", file=sys.stderr)
        return
    n = 20_000
    whole, quarter, few = (first(data, rows) for rows in (n, n // 4, 500))
    recipes: Mapping[str, tuple[Algorithm, float | None]] = {
        "agglomerative 8": (Agglomerative(K), 15.0),
        "agglomerative 10": (Agglomerative(K, distance="10"), 15.0),
        "agglomerative 8, entropy": (Agglomerative(K, measure="entropy"), None),
        "agglomerative 8, modified": (Agglomerative(K, modified=True), None),
        "forest beside agglomerative": (Forest(K), None),
    }
    for name, (recipe, goal) in recipes.items():
        recipe.group(few, (), silent)
        slow = cpu(partial(recipe.group, whole, (), silent), 2)
        quick = cpu(partial(recipe.group, quarter, (), silent), 2)
        size, growth = f"n={n} d=8 k={K}", exponent(slow, quick)
        yield Figure(f"{name} (adult)", size, slow / kd, "kd", goal, growth, peak_mb())


FIGURES: Mapping[str, Callable[[float], Iterator[Figure]]] = {
    "mondrian kernels": mondrian_kernels,
    "single": single_dimensional,
    "publish census": publish_census,
    "publish whole: ring, incognito": published,
    "verify alone": verify_alone,
    "adult loss": adult_loss,
    "agglomerative": agglomerative,
    "expansion": expansion,
    "(1,k)": one_k,
    "global (1,k)": global_1k,
    "kfactor": kfactor,
    "components": components_of_a_graph,
    "assignment": assignments,
    "row of records: hilbert, lexicographic": rows_cut,
    "ring, whole": whole_ring,
    "topdown": topdown_figures,
    "incognito": incognito,
    "joined: direct, refinement": joined_figures,
    "outliers": outlier_figures,
    "expc": expansion_by_outliers,
    "queries": query_figures,
    "headline": headline_figures,
    "reading dates": date_figures,
    "engine": engine_figures,
    "different rows": different_rows,
    "ledger": ledger_figures,
    "spark": spark_figures,
    "studio": studio_figures,
    "census: every command": census_figures,
}
