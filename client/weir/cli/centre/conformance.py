"""For operators: have the pool examined by the acceptance test, follow it, fetch its report and check one."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from weir.api import Client
from weir.cli.context import caller, uid_of
from weir.cli.group import App
from weir.cli.show import as_json, one, rows, said, say, say_json, tell
from weir.errors import WeirClientError

if TYPE_CHECKING:
    from weir.api_types import RunOut

FORMS = ("json", "text", "junit", "pdf")
_RUN = [
    ("uid", "uid"),
    ("state", "state"),
    ("level reached", "level_reached"),
    ("tests", "tests"),
    ("started by", "started_by"),
    ("note", "note"),
    ("asked", "created_at"),
    ("ended", "ended_at"),
]
_RESULT = [("test", "number"), ("outcome", "outcome"), ("reason", "reason"), ("simulated", "is_simulated")]
_SETTLED = frozenset({"passed", "failed", "not_run"})

conformance = App(help="Examine the running pool by the functional tests of the pooling standard.")


@conformance.command()
def tests(ctx: typer.Context) -> None:
    """What can be examined; level 0 are our own tests."""
    with caller(ctx) as client:
        rows(ctx, client.conformance_tests(), [("test", "number"), ("level", "level"), ("title", "title.en")])


@conformance.command()
def start(
    ctx: typer.Context,
    level: int = typer.Option(None, min=1, max=5, help="The tests of a level; none: all 27."),
    test: list[str] = typer.Option([], help="A test, for example 12.5; once for each."),
    clauses: bool = typer.Option(False, "--clauses", help="Our own tests of clauses without one."),
    follow: bool = typer.Option(False, "--follow", "-f", help="Stay until it has ended."),
) -> None:
    """Begin a run; with --follow exit status 0 means that all that was asked for passed."""
    with caller(ctx) as client:
        found = client.conformance_start(level=level, tests=test, clauses=clauses)
        if follow:
            _follow(ctx, client, found["uid"])
        else:
            said(
                ctx, found, f"Run {found['uid']} examines the pool: `weir conformance follow {found['uid']}`."
            )


@conformance.command()
def follow(
    ctx: typer.Context,
    uid: str = typer.Argument("", help="The run's uid; the newest one where none is given."),
) -> None:
    """Each test as it ends; exit status 0 when all that was asked for passed."""
    with caller(ctx) as client:
        _follow(ctx, client, _run_of(client, uid))


def _follow(ctx: typer.Context, client: Client, uid: str) -> None:
    told: set[str] = set()
    for found in client.conformance_follow(uid):
        for result in found["results"]:
            if result["outcome"] in _SETTLED and result["number"] not in told:
                told.add(result["number"])
                tell(f"{result['number']:>6}  {result['outcome']}  {result['reason']}".rstrip())
    if as_json(ctx):
        say_json(found)
    else:
        say(_summary(found))
    if found["state"] != "finished" or any(row["outcome"] != "passed" for row in found["results"]):
        sys.exit(1)


def _summary(run: "RunOut") -> str:
    count = sum(row["outcome"] == "passed" for row in run["results"])
    level = f"; level {run['level_reached']} is reached" if run["level_reached"] else ""
    note = f" {run['note']}" if run["note"] else ""
    return f"{run['state']}: {count} of {len(run['results'])} passed{level}.{note}"


def _run_of(client: Client, given: str) -> str:
    return uid_of(given, client.conformance_runs) if given else _newest(client)


def _newest(client: Client) -> str:
    newest = next(iter(client.all("conformance/runs")), None)
    if newest is None:
        raise WeirClientError("The pool was never examined.", "`weir conformance start` begins a run.")
    return str(newest["uid"])


@conformance.command()
def runs(ctx: typer.Context) -> None:
    """The runs, newest first."""
    with caller(ctx) as client:
        shown = [column for column in _RUN if column[1] != "tests"]
        rows(ctx, client.conformance_runs(), shown)


@conformance.command()
def show(ctx: typer.Context, uid: str = typer.Argument("", help="The run's uid; else the newest.")) -> None:
    """One run, test by test."""
    with caller(ctx) as client:
        found = client.conformance_run(_run_of(client, uid))
    one(ctx, found, _RUN)
    if not as_json(ctx):
        rows(ctx, found["results"], _RESULT)


@conformance.command()
def stop(ctx: typer.Context, uid: str = typer.Argument(..., help="The run's uid.")) -> None:
    """Interrupt a run; what it made is taken back first."""
    with caller(ctx) as client:
        said(ctx, client.conformance_stop(_run_of(client, uid)), f"Run {uid} ends.")


@conformance.command()
def report(
    ctx: typer.Context,
    uid: str = typer.Argument("", help="The run's uid; else the newest."),
    form: str = typer.Option("json", "--format", help="json (signed), text, junit or pdf."),
    output: Path = typer.Option(None, "--output", "-o", help="Where to write it; otherwise it is printed."),
) -> None:
    """The report of a run that has ended."""
    if form not in FORMS:
        raise WeirClientError(f"There is no form {form!r}.", f"One of {', '.join(FORMS)}.")
    if form == "pdf" and output is None:
        raise WeirClientError("A PDF is written to a file.", "Say --output FILE.")
    with caller(ctx) as client:
        body = client.conformance_report(_run_of(client, uid), form)
    if output is None:
        say(body.decode(), ends_line=False)
    else:
        output.write_bytes(body)
        tell(f"The report is in {output}.")


@conformance.command()
def verify(
    ctx: typer.Context, file: Path = typer.Argument(..., exists=True, help="The report, as JSON.")
) -> None:
    """Whether a report is as this portal signed it; exit status 1 where it is not."""
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise WeirClientError(f"{file} is no report: {error}.", "Fetch it with --format json.") from error
    with caller(ctx) as client:
        found = client.conformance_verify(document)
    if not found["is_sound"]:
        raise WeirClientError(f"{file} is not as it was signed.", "Fetch it anew.")
    if not found["is_own"]:
        raise WeirClientError(
            f"{file} is sound, but another portal signed it, with key {found['public_key']}.",
            "Ask the portal that it comes from.",
        )
    said(ctx, found, f"{file} is as this portal signed it, with key {found['public_key']}.")
