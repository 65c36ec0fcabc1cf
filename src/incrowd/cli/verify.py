"""The command `verify`: check a written release once more, independently."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from incrowd.cli import options, screen
from incrowd.cli.app import app, boundary, finish
from incrowd.errors import InputError
from incrowd.schema import CHECKS

if TYPE_CHECKING:
    from incrowd.schema import Check, Verdict


HELD = "All claims of the release hold."


@app.command()
def verify(
    folder: options.ReleaseDir,
    original: options.Original,
    policy: options.PolicyFile = None,
    k: options.SmallestClass = None,
    l: options.Diversity = None,  # noqa: E741
    t: options.Closeness = None,
    plain: options.PlainOutliers = None,
    max_suppression: options.MostLeftOut = None,
    method: options.OtherMethod = None,
    settings: options.Settings = None,
    accept: options.Accept = None,
    drop_rest: options.DropRest = False,
    public: options.PublicTable = None,
    check: options.SecondSource = None,
    engine: options.Engine = "auto",
    memory: options.EngineMemory = None,
    threads: options.EngineThreads = None,
    master: options.SparkMaster = None,
    encoding: options.Encoding = "",
    sheet: options.Sheet = "",
    sql: options.Sql = "",
    as_json: options.AsJson = False,
) -> None:
    """Verify a written release again, independently. Exit code 0 if its claims hold, 1 if not.

    With -p, repeat the options that publish was given: --method, --set, --accept, --drop-rest, --k, --l, --t.

    Example: incrowd verify release --original patients.csv -p policy.toml
    """
    with boundary(as_json):
        from incrowd.commands.verify import verify
        from incrowd.policy import Policy

        overrides = (
            k,
            l,
            t,
            plain,
            max_suppression,
            method,
            settings or None,
            accept or None,
            drop_rest or None,
        )
        if policy is None and any(each is not None for each in overrides):
            raise InputError(
                "--k, --l, --t and the method change what a policy demands; pass the policy with -p"
            )
        given = None if policy is None else Policy.load(policy)
        limits: dict[str, Any] = {"l": l, "t": t, "plain": plain, "max_suppression": max_suppression}
        words = options.demands(given, k=k, method=method, settings=settings, accept=accept, **limits)
        rest = "drop" if drop_rest else None
        asked = None if given is None else given.with_(rest=rest, **words)
        source = options.source(original, encoding, sheet, sql)
        with screen.watching(as_json) as watch:
            verdict = verify(
                folder,
                source,
                asked,
                public=public,
                check=check,
                engine=engine,
                memory=memory,
                threads=threads,
                master=master,
                watch=watch,
            )
        finish(verdict.to_dict(), as_json, lambda: show(verdict), good=verdict.passed)


def show(verdict: Verdict) -> None:
    """Every check, and the sum of them."""
    out = screen.console()
    rows = [(_outcome(c), c.name, c.detail or CHECKS.get(c.name, "")) for c in verdict.checks]
    out.print(screen.table("", ("", "check", ""), rows))
    gone = next((c.detail for c in verdict.checks if c.name == "rows" and "no row" in c.detail), "")
    held = f"All claims of the release hold, but it may not be complete: {gone}." if gone else HELD
    out.print(held if verdict.passed else "The release is REJECTED.")


def _outcome(check: Check) -> str:
    """A check that was not run is no pass, but it is not what is wrong either."""
    if check.passed:
        return "passed"
    return "not run" if check.detail.startswith("not checked") else "FAILED"
