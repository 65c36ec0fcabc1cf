"""The command line: the same words as in Python.

Exit codes: 0 done, 1 refused or not verified, 2 wrong input.
"""

from __future__ import annotations

import gc
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from incrowd import __version__
from incrowd.cli import screen
from incrowd.errors import IncrowdError, InputError

if TYPE_CHECKING:
    from incrowd.policy import Policy

app = typer.Typer(
    help="Publish a table about people so that each person is indistinguishable from at least k-1 others.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document, for machines.")]
PolicyFile = Annotated[Path | None, typer.Option("--policy", "-p", help="Policy file (TOML).")]
Original = Annotated[Path, typer.Option("--original", help="The table that the release was made from.")]
Names = list[str] | None
LeastCrowd = Annotated[
    int | None, typer.Option("--k", "-k", help="Least size of an equivalence class; overrides the policy.")
]
Diversity = Annotated[str | None, typer.Option("--l", help="l-diversity; overrides the policy.")]
Closeness = Annotated[str | None, typer.Option("--t", help="t-closeness; overrides the policy.")]
Standing = Annotated[
    str | None, typer.Option("--plain", help="Protect outliers: p,d such as 0.8,0.85; overrides the policy.")
]
MostLeftOut = Annotated[
    str | None,
    typer.Option("--max-suppression", help="Share of records that may be suppressed; overrides the policy."),
]
OtherMethod = Annotated[
    str | None, typer.Option("--method", help="Overrides the policy; see: incrowd methods.")
]
Settings = Annotated[Names, typer.Option("--set", help="An option of the method: name=value.")]
Accept = Annotated[Names, typer.Option("--accept", help="Accept a known exposure by name.")]
PublicTable = Annotated[
    Path | None, typer.Option("--public", help="The public table that was joined; overrides the policy.")
]
SecondSource = Annotated[
    Path | None, typer.Option("--check", help="A second source that confirms it; overrides the policy.")
]

_WHOLE = re.compile(r"-?[0-9]{1,40}")
_DECIMAL = re.compile(r"-?[0-9]{1,40}(\.[0-9]{1,40})?")


@contextmanager
def boundary(as_json: bool) -> Iterator[None]:
    """Turn every error into one sentence and an exit code; never a traceback, which would quote data."""
    try:
        yield
    except IncrowdError as error:
        screen.complain(error.on_the_command_line, as_json, error.exit_code)
        raise typer.Exit(error.exit_code) from None
    except KeyboardInterrupt:
        screen.complain("stopped; nothing was published", as_json, 1)
        raise typer.Exit(1) from None
    except MemoryError:
        screen.complain("the table needs more memory than there is; nothing was published", as_json, 2)
        raise typer.Exit(2) from None
    except typer.Exit:
        raise
    except OSError as error:
        screen.complain(_refused_by_system(error), as_json, 2)
        raise typer.Exit(2) from None
    except Exception as error:
        screen.complain(_unexpected(error), as_json, 2)
        raise typer.Exit(2) from None


def _refused_by_system(error: OSError) -> str:
    """A name that cannot be, a disk that is full. The file's name is the user's own, not a cell."""
    where = f"{error.filename}: " if isinstance(error.filename, str) else "the operating system says: "
    return where + (error.strerror or "unknown error")


def _unexpected(error: Exception) -> str:
    """Where it happened, but not what was in hand."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    where = f"{Path(frame.tb_frame.f_code.co_filename).name}:{frame.tb_lineno}" if frame else "unknown place"
    return (
        f"internal error ({type(error).__name__} in {where}). Please report this line; it holds no data. "
        "A release folder, if there is one, is complete and verified."
    )


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"incrowd {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Publish a table about people so that each person is indistinguishable from at least k-1 others.

    First time here? Run: incrowd demo
    """


@app.command()
def demo(
    folder: Annotated[
        Path | None, typer.Option("--folder", help="Where to keep the files; without it they are deleted.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """The whole process on an invented table, in under a minute.

    Example: incrowd demo --folder tour
    """
    with boundary(as_json):
        from incrowd.cli.demo import tour

        tour(folder, as_json)


@app.command()
def inspect(
    table: Annotated[Path, typer.Argument(help="CSV, TSV (also .gz) or Parquet file.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write a first policy here.")] = None,
    as_json: AsJson = False,
) -> None:
    """Look at a table: columns, suggested roles, re-identification risk; write a first policy.

    Example: incrowd inspect patients.csv -o policy.toml
    """
    with boundary(as_json):
        from incrowd.cli.stories import show_profile
        from incrowd.commands.inspect import inspect, policy_text

        if output is not None and output.exists():
            raise InputError(f"{output} exists; name a new file")
        with screen.watching(as_json) as watch:
            profile = inspect(table, watch=watch)
        if output is not None:
            _write_new(output, policy_text(profile, table.name))
        if as_json:
            screen.print_json(profile.to_dict())
        else:
            show_profile(profile, table, output)


def _write_new(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None


@app.command()
def publish(
    table: Annotated[Path, typer.Argument(help="CSV, TSV (also .gz) or Parquet file.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The release: a folder that does not exist yet.")
    ],
    policy: PolicyFile = None,
    qi: Annotated[
        Names, typer.Option(help="Quasi-identifiers, if there is no policy file (repeat, or a,b,c).")
    ] = None,
    sensitive: Annotated[
        Names, typer.Option("--sensitive", "--sa", help="Sensitive columns (as --qi).")
    ] = None,
    identifiers: Annotated[Names, typer.Option(help="Columns that name a person (as --qi).")] = None,
    keep: Annotated[Names, typer.Option(help="Columns published unchanged (as --qi).")] = None,
    drop: Annotated[Names, typer.Option(help="Columns not published (as --qi).")] = None,
    method: OtherMethod = None,
    k: LeastCrowd = None,
    l: Diversity = None,  # noqa: E741
    t: Closeness = None,
    plain: Standing = None,
    max_suppression: MostLeftOut = None,
    settings: Settings = None,
    accept: Accept = None,
    format: Annotated[str, typer.Option(help="csv or parquet.")] = "csv",
    typed: Annotated[
        bool, typer.Option("--typed", help="Parquet: intervals as two columns, sets as lists.")
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace the release once the new one is verified.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Anonymize, verify, write. Nothing appears at the output unless the verifier accepts it.

    Example: incrowd publish patients.csv -p policy.toml -o release
    """
    with boundary(as_json):
        from incrowd.cli.stories import show_release
        from incrowd.publishing.pipeline import Form, publish_to

        roles = {
            "quasi_identifiers": split_names(qi),
            "sensitive": split_names(sensitive),
            "identifiers": split_names(identifiers),
            "keep": split_names(keep),
            "drop": split_names(drop),
        }
        given = _policy(policy, roles)
        asked = given.with_(
            method=method,
            options=dict(_setting(text) for text in settings or []),
            accept=split_names(accept),
            k=k,
            l=_number("l", l),
            t=_number("t", t),
            plain=_outliers(plain, given),
            max_suppression=_number("max-suppression", max_suppression),
        )
        with screen.watching(as_json) as watch:
            written = publish_to(table, asked, output, Form(format, typed, replace), watch)
        if as_json:
            screen.print_json(written.to_dict())
        else:
            joined = None if asked.public is None else asked.folder / asked.public.table
            show_release(written, table, joined)


def split_names(names: list[str] | None) -> list[str]:
    return [part.strip() for name in names or [] for part in name.split(",") if part.strip()]


def _policy(path: Path | None, roles: dict[str, list[str]]) -> Policy:
    from incrowd.policy import Policy

    given = [name for name, columns in roles.items() if columns]
    if path is not None and given:
        raise InputError(
            f"{given[0]}: give roles of columns in the policy file or on the command line, not in both"
        )
    if path is not None:
        return Policy.load(path)
    if not given:
        raise InputError(
            "give the columns their roles: -p policy.toml (write one: incrowd inspect TABLE -o policy.toml), "
            "or --qi, --sensitive, --identifiers, --keep, --drop"
        )
    return Policy.from_dict(dict(roles))


def _setting(text: str) -> tuple[str, Any]:
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise InputError("--set takes name=value, for example --set choose=widest")
    plain = {"true": True, "false": False}
    if value in plain:
        return name, plain[value]
    return name, int(value) if _WHOLE.fullmatch(value) else value


def _outliers(text: str | None, policy: Policy) -> dict[str, Any] | None:
    """What is promised about outliers: that of the policy, but for p and d."""
    if text is None:
        return None
    p, sign, d = text.partition(",")
    if not sign:
        raise InputError(
            "--plain takes two numbers, p,d: for example 0.8,0.85; incrowd outliers proposes them"
        )
    said: dict[str, Any] = policy.as_dict().get("privacy", {}).get("plain", {})
    return said | {"p": _number("plain", p.strip()), "d": _number("plain", d.strip())}


def _number(name: str, text: str | None) -> int | str | None:
    """Whole numbers as such, decimals exactly as written."""
    if text is None:
        return None
    if not _DECIMAL.fullmatch(text):
        raise InputError(f"--{name} takes a number, such as 3 or 0.25")
    return int(text) if _WHOLE.fullmatch(text) else text


@app.command()
def verify(
    folder: Annotated[Path, typer.Argument(help="A release.")],
    original: Original,
    policy: PolicyFile = None,
    k: LeastCrowd = None,
    l: Diversity = None,  # noqa: E741
    t: Closeness = None,
    plain: Standing = None,
    max_suppression: MostLeftOut = None,
    method: OtherMethod = None,
    settings: Settings = None,
    accept: Accept = None,
    public: PublicTable = None,
    check: SecondSource = None,
    as_json: AsJson = False,
) -> None:
    """Verify a written release again, independently. Exit code 0 if its claims hold, 1 if not.

    With -p, repeat the options that publish was given: --method, --set, --accept, --k, --l, --t, --plain.

    Example: incrowd verify release --original patients.csv -p policy.toml
    """
    with boundary(as_json):
        from incrowd.cli.stories import show_verdict
        from incrowd.commands.verify import verify
        from incrowd.policy import Policy

        overrides = (k, l, t, plain, max_suppression, method, settings or None, accept or None)
        if policy is None and any(each is not None for each in overrides):
            raise InputError(
                "--k, --l, --t and the method change what a policy demands; pass the policy with -p"
            )
        given = None if policy is None else Policy.load(policy)
        demands: dict[str, Any] = {
            "k": k,
            "l": _number("l", l),
            "t": _number("t", t),
            "plain": None if given is None else _outliers(plain, given),
            "max_suppression": _number("max-suppression", max_suppression),
            "method": method,
            "options": dict(_setting(text) for text in settings or []),
            "accept": split_names(accept),
        }
        asked = None if given is None else given.with_(**demands)
        with screen.watching(as_json) as watch:
            verdict = verify(folder, original, asked, public=public, check=check, watch=watch)
        if as_json:
            screen.print_json(verdict.to_dict())
        else:
            show_verdict(verdict)
        if not verdict.passed:
            raise typer.Exit(1)


@app.command()
def measure(
    published: Annotated[Path, typer.Argument(help="A release, or a table that another tool wrote.")],
    original: Original,
    policy: PolicyFile = None,
    public: PublicTable = None,
    check: SecondSource = None,
    workload: Annotated[
        Path | None, typer.Option("--workload", help="Queries (TOML): the error of their answers.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Information loss of a release, by every measure; also of a table made by another tool.

    Example: incrowd measure release --original patients.csv
    """
    with boundary(as_json):
        from incrowd.cli.stories import show_loss
        from incrowd.commands.measure import measure

        given: dict[str, Any] = {"public": public, "check": check, "workload": workload}
        with screen.watching(as_json) as watch:
            loss = measure(published, original, policy, **given, watch=watch).to_dict()
        if as_json:
            screen.print_json(loss)
        else:
            show_loss(loss)
            _show_workload(loss.get("workload"))


def _readable(exact: object) -> str:
    """A number for people, also where it is said as a fraction: 604375/158."""
    divided = isinstance(exact, str) and "/" in exact
    return screen.number(float(Fraction(str(exact))) if divided else exact)


def _show_workload(told: dict[str, Any] | None) -> None:
    if told is None:
        return
    out = screen.console()
    if "queries" in told:
        names = ("truth", "lower", "upper", "estimate", "error")
        rows = [
            (one["sql"], *("" if one[name] is None else _readable(one[name]) for name in names))
            for one in told["queries"]
        ]
        out.print(screen.table("Workload", ("query", *names), rows))
        out.print(
            f"Not counted: {told['empty']} with true answer 0 or none, {told['unanswered']} without estimate."
        )
    wrong = "not known" if told["error"] is None else f"{told['error']:.1%}"
    out.print(f"Average relative error of the workload: {wrong}")


@app.command()
def methods(as_json: AsJson = False) -> None:
    """The catalogue: what each method guarantees, against which adversary, and what it does not.

    Example: incrowd methods --json
    """
    with boundary(as_json):
        from incrowd.algorithms.catalogue import METHODS
        from incrowd.cli.stories import show_methods

        if as_json:
            screen.print_json([method.as_dict() for method in METHODS.values()])
        else:
            show_methods(list(METHODS.values()))


def main() -> None:
    """Run the command line."""
    # a short run that makes many small things and few cycles: looking for those takes a tenth of its time
    gc.set_threshold(100_000, 50, 50)
    screen.be_robust()
    for number in (signal.SIGTERM, signal.SIGHUP):  # asked to end, as Ctrl-C asks: leave nothing behind
        if signal.getsignal(number) is signal.SIG_DFL:  # nohup has its own idea
            signal.signal(number, signal.default_int_handler)
    app()
