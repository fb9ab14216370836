"""Carries a run out: some tests side by side on devices of their own, those that change the whole pool alone."""

import logging
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import close_old_connections, connections
from weir import WeirClientError

from apps.conformance.harness.case_context import OWN, CaseContext, Stopped
from apps.conformance.harness.cleanup import Traces, leftovers_take_back
from apps.conformance.harness.inventory import inventory_of
from apps.conformance.harness.leases import Leases
from apps.conformance.harness.people import People, people
from apps.conformance.harness.record import CaseFailed, NotRun, Record
from apps.conformance.models import ConformanceRun
from apps.conformance.report.document import report_of
from apps.conformance.report.signing import signed
from apps.conformance.selectors import result_list
from apps.conformance.services import (
    report_key_ensure,
    result_begin,
    result_put,
    run_begin,
    run_end,
    run_heard,
    run_inventory_put,
)
from apps.conformance.states import Outcome, RunState
from apps.conformance.test_cases.base import TestCase
from apps.conformance.test_cases.registry import case_of
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict
from apps.kernel.planes import in_public

log = logging.getLogger("weir.conformance")
Say = Callable[[str], None]
SIDE_BY_SIDE = 4
_HEARD_EVERY_S = 2.0


class Runner:
    """One run over one pool.

    Args:
        run: asked for and not yet begun.
        url: the portal's address.
        stop: set from outside to interrupt it.
        say: gets a line for each test that ends.
        is_fail_fast: a test ends with its first expectation that is not met.
    """

    def __init__(
        self,
        run: ConformanceRun,
        url: str,
        *,
        stop: threading.Event,
        say: Say,
        is_fail_fast: bool = False,
    ) -> None:
        self._run, self._url, self._stop, self._say = run, url, stop, say
        self._is_fail_fast = is_fail_fast
        self._folder = Path(settings.MEDIA_ROOT).parent / "conformance" / str(run)
        self._left: list[str] = []

    def carry_out(self) -> None:
        """All of it, to the signed report; also an interrupted run ends clean. A run somebody else began is left."""
        try:
            run_begin(actor=SYSTEM, run=self._run, url=self._url)
        except Conflict:
            return
        watch = threading.Thread(target=self._watch, daemon=True)
        watch.start()
        note = ""
        try:
            with people(self._url) as who:
                self._examine(who)
        except (WeirClientError, OSError) as error:
            note = f"The portal could not be examined: {error}"
        finally:
            note = note or ("It was interrupted." if self._stop.is_set() else "")
            self._stop.set()
            watch.join()
            self._finish(note)

    def _examine(self, who: People) -> None:
        self._left = leftovers_take_back(who)
        run_inventory_put(actor=SYSTEM, run=self._run, inventory=inventory_of(who.operator, self._url))
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o755)
        leases = Leases(lambda: _devices(who))
        cases = [case_of(number)() for number in self._run.numbers]
        waiting = [case for case in cases if case.is_waiting]
        with (
            ThreadPoolExecutor(max(1, len(waiting)), "waits") as idle,
            ThreadPoolExecutor(SIDE_BY_SIDE, "tests") as busy,
        ):

            def begin(chosen: Iterable[TestCase]) -> list[Future[None]]:
                """Those that wait have threads of their own; the others share a few, the longest first."""
                return [
                    (idle if case.is_waiting else busy).submit(self._one_in_thread, case, who, leases)
                    for case in sorted(chosen, key=lambda case: -case.seconds)
                ]

            jobs = begin(case for case in cases if not case.has_work)
            for case in cases:
                if case.is_alone:
                    self._one(case, who, leases)
            jobs += begin(case for case in cases if case.has_work and not case.is_alone)
            wait(jobs)
        for job in jobs:
            job.result()

    def _one_in_thread(self, case: TestCase, who: People, leases: Leases) -> None:
        try:
            with in_public():
                self._one(case, who, leases)
        finally:
            connections.close_all()

    def _one(self, case: TestCase, who: People, leases: Leases) -> None:
        if self._stop.is_set():
            return
        record = Record(case.entry, lambda: self._progressed(case, record), is_fail_fast=self._is_fail_fast)
        result_begin(actor=SYSTEM, run=self._run, number=case.number)
        error: BaseException | None = None
        with who.for_test(case.number) as callers:
            pool = CaseContext(
                label=f"{OWN}{self._run}-{case.number.replace('.', '-')}",
                people=callers,
                record=record,
                traces=Traces(self._run),
                leases=leases,
                folder=self._folder,
                url=self._url,
                stop=self._stop,
            )
            try:
                case.run(pool, record)
            except Stopped:
                return
            except Exception as trouble:
                error = trouble
                is_ours = isinstance(trouble, WeirClientError | CaseFailed | NotRun)
                log.warning("%s: %s", case.number, trouble, exc_info=not is_ours)
            finally:
                self._left += [f"{case.number}: {text}" for text in pool.clean(who)]
        self._judged(case, record, error)

    def _judged(self, case: TestCase, record: Record, error: BaseException | None) -> None:
        outcome, reason = record.outcome(error)
        self._put(case, record, outcome, reason)
        self._say(f"{case.number:6} {outcome.value:8} {case.entry.title.en}{': ' + reason if reason else ''}")

    def _progressed(self, case: TestCase, record: Record) -> None:
        self._put(case, record, Outcome.RUNNING, "")

    def _put(self, case: TestCase, record: Record, outcome: Outcome, reason: str) -> None:
        result_put(
            actor=SYSTEM,
            run=self._run,
            number=case.number,
            outcome=outcome,
            reason=reason,
            steps=list(record.steps),
            expectations=record.expectations(),
            hardware=record.hardware,
        )

    def _watch(self) -> None:
        """Say that the runner lives, and hear whether it is to stop."""
        try:
            while not self._stop.wait(_HEARD_EVERY_S):
                close_old_connections()
                if run_heard(actor=SYSTEM, run=ConformanceRun.objects.get(pk=self._run.pk)):
                    self._stop.set()
        finally:
            connections.close_all()

    def _finish(self, note: str) -> None:
        report_key_ensure(actor=SYSTEM)
        self._run.refresh_from_db()
        if self._run.state != RunState.RUNNING:
            return
        document = report_of(self._run, result_list(self._run), left_behind=self._left, note=note)
        run_end(
            actor=SYSTEM,
            run=self._run,
            report=signed(document, settings.SECRET_KEY),
            level_reached=document["level_reached"],
            note=note,
        )


def carry_out(
    run: ConformanceRun,
    *,
    url: str = "",
    stop: threading.Event | None = None,
    say: Say = lambda _line: None,
    is_fail_fast: bool = False,
) -> None:
    """Examine the pool whose portal is at `url`, by default the one on this machine."""
    stop = stop or threading.Event()
    Runner(run, url or here(), stop=stop, say=say, is_fail_fast=is_fail_fast).carry_out()


def here() -> str:
    """The address of the portal that these settings are of, on this machine."""
    return f"http://127.0.0.1:{settings.WEIR_PORT}"


def _devices(who: People) -> list[dict[str, Any]]:
    """The devices with the state of their nodes; those of nodes that tests made are not for other tests."""
    states = {node["uid"]: node["state"] for node in who.operator.all("nodes")}
    return [
        {**device, "node_state": states.get(device["node_uid"], "removed")}
        for device in who.operator.all("devices")
        if not device["node"].startswith(OWN)
    ]
