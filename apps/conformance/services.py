"""Every write of a run: asked for, begun, told test by test, ended; and the traces it leaves until it is clean."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.conformance.catalogue.entries import own, required, standard
from apps.conformance.errors import AlreadyRunning
from apps.conformance.events import RunAsked
from apps.conformance.models import ConformanceResult, ConformanceRun, ReportKey, Trace
from apps.conformance.permissions import ConformancePermission as P
from apps.conformance.report.signing import public_key_of
from apps.conformance.runner_process import is_dead, mark
from apps.conformance.states import OPEN, RUN, Outcome, RunState
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import InvalidInput
from apps.kernel.events import emit
from apps.kernel.service import service
from apps.notices.push import push

SILENT_AFTER = timedelta(seconds=60)


@service(P.RUN)
def run_ask(
    *,
    actor: Actor,
    numbers: Sequence[str] = (),
    level: int | None = None,
    is_clauses: bool = False,
    is_background: bool = True,
) -> ConformanceRun:
    """Ask for a run of the tests named, of a level's, or of our own for the clauses; all 27 where none is named.

    A worker carries it out, or with `is_background` False the caller itself.

    Raises InvalidInput for a test that does not exist, AlreadyRunning while another run is open.
    """
    wanted = numbers_of(numbers, level, is_clauses=is_clauses)
    runs_give_up(actor=actor)
    try:
        with transaction.atomic():
            row = ConformanceRun.objects.create(
                numbers=wanted, started_by=actor.name, is_background=is_background
            )
    except IntegrityError as error:
        raise AlreadyRunning() from error
    ConformanceResult.objects.bulk_create(
        ConformanceResult(run=row, number=number, position=place) for place, number in enumerate(wanted)
    )
    act_subject("conformance_run", row.uid, tests=len(wanted))
    if is_background:
        emit(RunAsked(str(row.uid)), actor=actor)
    _changed(row)
    return row


def numbers_of(numbers: Sequence[str], level: int | None, *, is_clauses: bool) -> list[str]:
    """The tests meant, in the standard's order. Raises InvalidInput naming what does not exist."""
    known = [*standard(), *own()]
    wanted = set(numbers)
    if is_clauses:
        wanted |= set(own())
    if level is not None:
        if not 1 <= level <= 5:
            raise InvalidInput(_("A level is 1 to 5."), fields={"level": level})
        wanted |= set(required(level))
    if unknown := wanted - set(known):
        raise InvalidInput(_("There is no test %(number)s.") % {"number": ", ".join(sorted(unknown))})
    return [number for number in known if number in wanted] or list(standard())


@service(recorded=False)
def runs_give_up(*, actor: Actor) -> int:
    """End the runs whose runner has not spoken for a minute, or is no more on this machine."""
    silent_at = timezone.now() - SILENT_AFTER
    rows = ConformanceRun.objects.select_for_update().filter(state__in=OPEN)
    silent = [row for row in rows if (row.heard_at or row.created_at) < silent_at or is_dead(row.runner)]
    for row in silent:
        _end(row, actor, _("Its runner went away."))
    return len(silent)


@service(recorded=False)
def run_begin(*, actor: Actor, run: ConformanceRun, url: str) -> None:
    """The runner is at work; a run is begun once. Raises Conflict when somebody else did."""
    now = timezone.now()
    RUN.move(run, RunState.RUNNING, actor=actor, started_at=now, heard_at=now, url=url, runner=mark())
    _changed(run)


@service(recorded=False)
def run_inventory_put(*, actor: Actor, run: ConformanceRun, inventory: dict[str, Any]) -> None:
    """What is examined: versions, nodes, devices."""
    run.inventory = inventory
    run.save(update_fields=["inventory"])
    _changed(run)


@service(recorded=False)
def run_heard(*, actor: Actor, run: ConformanceRun) -> bool:
    """The runner still works; whether it is to stop."""
    ConformanceRun.objects.filter(pk=run.pk).update(heard_at=timezone.now())
    run.refresh_from_db(fields=["is_stop_wanted", "state"])
    return run.is_stop_wanted or not run.is_open


@service(P.RUN)
def run_stop(*, actor: Actor, run: ConformanceRun) -> None:
    """Ask the runner to stop; it takes back what it made first. One that never began ends at once."""
    act_subject("conformance_run", run.uid)
    ConformanceRun.objects.filter(pk=run.pk).update(is_stop_wanted=True)
    if run.state == RunState.QUEUED:
        _end(run, actor, _("Stopped before it began."))
    _changed(run)


@service(recorded=False)
def result_begin(*, actor: Actor, run: ConformanceRun, number: str) -> None:
    """A test is under way."""
    rows = ConformanceResult.objects.filter(run=run, number=number)
    rows.update(outcome=Outcome.RUNNING, started_at=timezone.now())
    _changed(run)


@service(recorded=False)
def result_put(
    *,
    actor: Actor,
    run: ConformanceRun,
    number: str,
    outcome: str,
    reason: str = "",
    steps: list[dict[str, Any]],
    expectations: list[dict[str, Any]],
    hardware: Sequence[dict[str, Any]] = (),
) -> None:
    """What a test saw so far; with a final outcome it has ended."""
    changes: dict[str, Any] = {"outcome": outcome, "reason": reason, "steps": steps}
    if outcome != Outcome.RUNNING:
        changes["ended_at"] = timezone.now()
    ConformanceResult.objects.filter(run=run, number=number).update(
        expectations=expectations, hardware=list(hardware), **changes
    )
    _changed(run)


@service(recorded=False)
def run_end(
    *,
    actor: Actor,
    run: ConformanceRun,
    report: dict[str, Any] | None,
    level_reached: int | None,
    note: str = "",
) -> None:
    """The run is over: finished with its signed report, or interrupted."""
    now = timezone.now()
    state = RunState.INTERRUPTED if note else RunState.FINISHED
    RUN.move(
        run, state, actor=actor, ended_at=now, report=report, level_reached=level_reached, note=note[:500]
    )
    _results_close(run)
    act_subject("conformance_run", run.uid, level=level_reached)
    _changed(run)


def _end(run: ConformanceRun, actor: Actor, note: str) -> None:
    RUN.move(run, RunState.INTERRUPTED, actor=actor, ended_at=timezone.now(), note=note)
    _results_close(run)
    _changed(run)


def _results_close(run: ConformanceRun) -> None:
    rows = run.results.filter(outcome__in=[Outcome.WAITING, Outcome.RUNNING])
    rows.update(outcome=Outcome.NOT_RUN, reason=_("The run was interrupted."))


@service(recorded=False)
def trace_note(*, actor: Actor, run: ConformanceRun, kind: str, key: str, detail: dict[str, Any]) -> Trace:
    """Write down what is about to be made or changed: whoever dies now, it is found."""
    return Trace.objects.create(run=run, kind=kind, key=key, detail=detail)


@service(recorded=False)
def trace_forget(*, actor: Actor, trace: Trace) -> None:
    """It was taken back."""
    Trace.objects.filter(pk=trace.pk).delete()


@service(recorded=False)
def report_key_ensure(*, actor: Actor) -> str:
    """The public key that this portal signs with now, kept for the day it changes."""
    key = public_key_of(settings.SECRET_KEY)
    ReportKey.objects.get_or_create(public_key=key)
    return key


def _changed(run: ConformanceRun) -> None:
    push(f"conformance.{run.uid}")
    push("conformance")
