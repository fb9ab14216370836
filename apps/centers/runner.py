"""One centre, asked again and again by whoever watches it, sent what is wanted there, and followed."""

import logging
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from time import monotonic

from django.utils import timezone, translation

from apps.centers.adapters.base import Ability, CallLimits, CenterAdapter, CenterError, CenterRefused
from apps.centers.models import Center, RemoteTask
from apps.centers.selectors import (
    remote_tasks_new,
    remote_tasks_open,
    remote_tasks_sent,
    remote_tasks_to_stop,
)
from apps.centers.services.accounts import Account, account_key, accounts_follow
from apps.centers.services.calls import center_asked, error_text, job_sent, job_stopped, jobs_asked
from apps.centers.services.following import (
    is_news,
    remote_task_gone,
    remote_task_lose,
    report_keep,
    report_strange,
    send_begin,
    send_dropped,
    send_refused,
    send_taken,
    send_unanswered,
)
from apps.centers.services.sampling import center_adapter, center_answered, center_failed, retry_most_s
from apps.centers.states import RemoteState, Wanted
from apps.kernel.actor import SYSTEM

log = logging.getLogger("weir.centers")
POLL_S = 5.0
_POLL_LEAST_S = 1.0
# A slow centre is asked for no more than this part of the time.
_SHARE = 0.25
# How often jobs are asked for while there are some: with the call itself a change is known within 5 s.
FOLLOW_S = 3.0
# What was sent can still arrive for so long: longer than an adapter takes to send it. Only then is what the centre does
# not have sent again, so that a request which is still under way never meets a second one.
SETTLE_S = CallLimits().create_s + 10.0
# A job that the centre does not know for so long is lost there: its books may come later than its controller forgets.
MISSING_S = 60.0
# A job is asked again to end after so long.
_STOP_AGAIN_S = 15.0
# How often the centre's own accounts are asked for what they say of jobs that are over, while there are some.
ACCOUNT_S = 15.0
# Of one question. Of one turn of sending, and of stopping: what runs is followed between.
_KEYS_MOST = 500
_SENDING_S = 2.0
_STOPPING_S = 2.0
_SENDS_MOST = 200
# A centre that says what it holds and fails so many times in a row when it is asked for its jobs counts as failing.
_JOB_FAILURES = 3


class CenterWatch:
    """Asks one centre what it holds, sends it work and follows that. Its connections stay open while it is reached as
    it was. Between the turns it holds nothing that the database does not.

    Args:
        center_id: the key of its row.
        holds: whether the centre is still ours to send to; asked in the transaction that begins each sending.
    """

    def __init__(self, center_id: int, holds: Callable[[], bool] = lambda: True) -> None:
        self._center_id = center_id
        self._holds = holds
        self._revision = 0
        # By the account there that they act as; the centre's own has no fields.
        self._adapters: dict[Account, CenterAdapter] = {}
        # Accounts that the centre lets in no more: since when, by the questions of this watch.
        self._barred: dict[Account, float] = {}
        # When the centre's accounts were last asked for what each account there used.
        self._accounts_asked: dict[Account, float] = {}
        self._failures = 0
        self._job_failures = 0
        self._ask_at_s = 0.0
        self._follow_at_s = 0.0
        self._account_at_s = 0.0
        self._failing_from_s: float | None = None
        # By the task's row: since when it lacks, and when it was last asked to end.
        self._missing: dict[int, float] = {}
        self._stopped: dict[int, float] = {}
        self._told: set[str] = set()
        # Since when this turn sends again what did not arrive, and whether the centre has given no answer in it.
        self._again_from_s: float | None = None
        self._is_held = False

    def turn(self) -> float | None:
        """Do what is due: ask, follow, stop, send. The seconds until the next turn, None where there is no such centre
        any more. May be called earlier when there is something new."""
        self._is_held = False
        if monotonic() >= self._ask_at_s:
            pause_s = self.ask()
            if pause_s is None:
                return None
            self._ask_at_s = monotonic() + pause_s
        is_more = False
        # A centre that does not even say what it holds is sent nothing and asked nothing else.
        if not self._failures:
            with translation.override("en"):
                is_more = self._work()
        next_s = self._ask_at_s if self._failures else min(self._ask_at_s, self._follow_at_s)
        return 0.0 if is_more else max(0.0, next_s - monotonic())

    def ask(self) -> float | None:
        """Ask once; the seconds until the next time, None where there is no such centre any more.

        Five while it answers, more where an answer takes long, and twice as many with each failure up to a minute.
        """
        center = Center.objects.filter(pk=self._center_id).first()
        if center is None:
            return None
        asked_at, began_s = timezone.now(), monotonic()
        try:
            # What it comes to is kept for readers of all languages.
            with translation.override("en"):
                adapter = self._adapter_of(center)
                answer = center_asked(adapter)
                if self._job_failures >= _JOB_FAILURES:
                    # Its figures alone no longer make it good: work there could be neither sent nor followed.
                    self._followed(center)
        except CenterError as error:
            self.close()
            self._failures += 1
            if self._failures == 1:
                log.warning("centre %s: %s", center.ai_center_id, error_text(error))
            center_failed(actor=SYSTEM, center=center, asked_at=asked_at, error=error)
            self._lose(center, error)
        else:
            self._failures, self._failing_from_s = 0, None
            center_answered(actor=SYSTEM, center=center, answer=answer)
        return self._pause_s(center, monotonic() - began_s)

    def close(self) -> None:
        """Let go of connections to the centre."""
        adapters, self._adapters = self._adapters, {}
        for adapter in adapters.values():
            # An outsider's adapter may raise anything.
            with suppress(Exception):
                adapter.close()

    def _adapter_of(self, center: Center, account: Mapping[str, str] | None = None) -> CenterAdapter:
        """Its adapter as the centre's own account, or as a tenant's: what it tells is of that account alone."""
        if self._revision != center.revision:
            self.close()
            self._revision = center.revision
        key = account_key(account)
        if key not in self._adapters:
            self._adapters[key] = center_adapter(center, account)
        return self._adapters[key]

    def _pause_s(self, center: Center, took_s: float) -> float:
        if self._failures:
            return min(retry_most_s(center), POLL_S * 2.0 ** min(self._failures, 8))
        # One that is slow is heard again before it counts as silent.
        most_s = max(_POLL_LEAST_S, center.stale_after_s / 3)
        return min(most_s, max(POLL_S, took_s / _SHARE))

    def _follow_pause_s(self, center: Center, took_s: float) -> float:
        return max(FOLLOW_S, min(took_s / _SHARE, center.stale_after_s / 3))

    def _lose(self, center: Center, error: CenterError) -> None:
        """Of a centre that this watch has asked in vain for too long nothing is known. What nobody asked meanwhile, as
        while the portal itself was away, does not count."""
        now_s = monotonic()
        if self._failing_from_s is None:
            self._failing_from_s = now_s
        if now_s - self._failing_from_s < center.lost_after_s:
            return
        cause = f"The centre gave no good answer for {center.lost_after_s} s: {error_text(error)}"
        for pk in remote_tasks_open(center):
            remote_task_lose(actor=SYSTEM, pk=pk, cause=cause[:500])

    def _work(self) -> bool:
        """Follow what is there, stop what is to end, send what is new; whether there is more to send."""
        center = Center.objects.filter(pk=self._center_id).first()
        if center is None:
            return False
        try:
            adapter = self._adapter_of(center)
            if Ability.JOBS not in adapter.abilities:
                self._follow_at_s = self._ask_at_s
                self._refuse(center)
                return False
            if monotonic() >= self._follow_at_s:
                self._followed(center)
            are_left = self._stop(center)
            if monotonic() >= self._account_at_s:
                self._account(center)
            return not self._is_held and (self._send_new(center) or are_left)
        except CenterError as error:
            log.warning("centre %s and its jobs: %s", center.ai_center_id, error_text(error))
            self._follow_at_s = monotonic() + POLL_S
            if self._job_failures >= _JOB_FAILURES:
                # The next question keeps what it fails by, and stops that work is placed there.
                self._ask_at_s = monotonic()
            return False

    def _followed(self, center: Center) -> None:
        """Follow, and count how often that has failed in a row."""
        began_s, self._again_from_s = monotonic(), None
        try:
            self._follow(center)
        except CenterError:
            self._job_failures += 1
            raise
        self._job_failures = 0
        self._follow_at_s = monotonic() + self._follow_pause_s(center, monotonic() - began_s)

    def _account(self, center: Center) -> None:
        """Ask for what the centre's accounts say. That they fail hinders nothing else: they are asked again."""
        began_s = monotonic()
        try:
            for key, fault in accounts_follow(
                center, lambda account: self._adapter_of(center, account), self._accounts_asked
            ):
                self._tell(center, f"its account of {key}: {fault}")
        except CenterError as error:
            self._tell(center, f"its accounts: {error_text(error)}")
        self._account_at_s = monotonic() + max(ACCOUNT_S, (monotonic() - began_s) / _SHARE)

    def _refuse(self, center: Center) -> None:
        for row in remote_tasks_new(center, _SENDS_MOST):
            if send_begin(actor=SYSTEM, pk=row.pk, holds=self._holds) is not None:
                send_refused(actor=SYSTEM, pk=row.pk, cause="The adapter of this centre sends no jobs.")

    def _follow(self, center: Center) -> None:
        rows = remote_tasks_sent(center)
        there = {row.pk for row in rows}
        self._missing = {pk: since_s for pk, since_s in self._missing.items() if pk in there}
        self._stopped = {pk: at_s for pk, at_s in self._stopped.items() if pk in there}
        of_account: dict[Account, list[RemoteTask]] = defaultdict(list)
        for row in rows:
            of_account[account_key(row.account)].append(row)
        self._barred = {key: since_s for key, since_s in self._barred.items() if key in of_account}
        for key, part in of_account.items():
            try:
                self._follow_account(center, part)
            except CenterRefused as error:
                if not key:
                    raise
                self._bar(center, key, part, error)
            else:
                self._barred.pop(key, None)

    def _bar(self, center: Center, key: Account, rows: list[RemoteTask], error: CenterRefused) -> None:
        """One account that the centre does not let in holds up no other's work: what is there of it is lost after the
        time after which a centre is."""
        if key not in self._barred:
            words = "centre %s does not let the account %s in: %s"
            log.warning(words, center.ai_center_id, dict(key), error_text(error))
        if monotonic() - self._barred.setdefault(key, monotonic()) < center.lost_after_s:
            return
        cause = f"The centre did not let its account in for {center.lost_after_s} s: {error_text(error)}"
        for row in rows:
            remote_task_lose(actor=SYSTEM, pk=row.pk, cause=cause[:500])

    def _follow_account(self, center: Center, rows: list[RemoteTask]) -> None:
        """Follow what was sent under one account."""
        adapter = self._adapter_of(center, rows[0].account)
        for first in range(0, len(rows), _KEYS_MOST):
            part = rows[first : first + _KEYS_MOST]
            asked_at = timezone.now()
            found = jobs_asked(adapter, [row.key for row in part])
            strange = found.keys() - {row.key for row in part}
            if strange:
                report_strange(actor=SYSTEM, center=center, count=len(strange))
                self._tell(center, f"{len(strange)} reports of jobs that it was not asked for")
            for row in part:
                seen = found.get(row.key)
                if seen is None:
                    self._absent(center, row)
                    continue
                self._missing.pop(row.pk, None)
                if seen.others:
                    numbers = ", ".join(seen.others)
                    self._tell(
                        center, f"under {row.key} it has further jobs than {seen.native_id}: {numbers}"
                    )
                if is_news(row, seen) and (
                    fault := report_keep(actor=SYSTEM, pk=row.pk, seen=seen, asked_at=asked_at)
                ):
                    self._tell(center, f"its report of {row.key}: {fault}")

    def _tell(self, center: Center, what: str) -> None:
        """Say once what is not believed."""
        if what not in self._told and len(self._told) < 1000:
            self._told.add(what)
            log.warning("centre %s is not believed: %s", center.ai_center_id, what)

    def _absent(self, center: Center, row: RemoteTask) -> None:
        """The centre does not know a job that was sent."""
        if row.sent_at is not None and timezone.now() - row.sent_at < timedelta(seconds=SETTLE_S):
            # What was asked for may still be under way.
            return
        if row.is_over:
            remote_task_gone(actor=SYSTEM, pk=row.pk)
        elif row.state != RemoteState.SENDING:
            if monotonic() - self._missing.setdefault(row.pk, monotonic()) >= MISSING_S:
                cause = "The centre knows nothing of it any more."
                remote_task_lose(actor=SYSTEM, pk=row.pk, cause=cause)
        elif row.desired == Wanted.STOP:
            send_dropped(actor=SYSTEM, pk=row.pk)
        elif self._may_send_again():
            self._is_held = not self._send(center, row)

    def _may_send_again(self) -> bool:
        """What is left waits for the next turn: the centre is asked what it holds between."""
        if self._again_from_s is None:
            self._again_from_s = monotonic()
        return not self._is_held and monotonic() - self._again_from_s <= _SENDING_S

    def _stop(self, center: Center) -> bool:
        """Ask of what is to end that it does; whether some is left for the next turn, before which the centre is asked
        what it holds and followed where that is due."""
        began_s = monotonic()
        # What was not asked yet comes before what is asked again.
        rows = sorted(remote_tasks_to_stop(center), key=lambda row: self._stopped.get(row.pk, float("-inf")))
        for row in rows:
            now_s = monotonic()
            if now_s - self._stopped.get(row.pk, float("-inf")) < _STOP_AGAIN_S:
                continue
            if now_s - began_s > _STOPPING_S:
                return True
            self._stopped[row.pk] = now_s
            try:
                job_stopped(self._adapter_of(center, row.account), row.native_id)
            except CenterRefused as error:
                # What has become of it is told when it is followed.
                log.warning(
                    "centre %s does not stop the job %s: %s", center.ai_center_id, row.key, error_text(error)
                )
            # The end is seen at once.
            self._follow_at_s = min(self._follow_at_s, now_s + 1.0)
        return False

    def _send_new(self, center: Center) -> bool:
        rows, began_s = remote_tasks_new(center, _SENDS_MOST), monotonic()
        for place, row in enumerate(rows):
            if monotonic() - began_s > _SENDING_S:
                return place < len(rows)
            if not self._send(center, row):
                return False
        return len(rows) == _SENDS_MOST

    def _send(self, center: Center, row: RemoteTask) -> bool:
        """Send one job; whether another may be sent now."""
        pk, key = row.pk, row.key
        if not self._holds():
            log.warning("another process sends to centre %s now", center.ai_center_id)
            return False
        message = send_begin(actor=SYSTEM, pk=pk, holds=self._holds)
        if message is None:
            return True
        try:
            native_id = job_sent(self._adapter_of(center, row.account), message, key)
        except CenterRefused as error:
            send_refused(actor=SYSTEM, pk=pk, cause=error_text(error))
        except CenterError as error:
            send_unanswered(actor=SYSTEM, pk=pk, cause=error_text(error))
            log.warning(
                "the job %s is not sent to centre %s for now: %s", key, center.ai_center_id, error_text(error)
            )
            return False
        else:
            send_taken(actor=SYSTEM, pk=pk, native_id=native_id)
        return True
