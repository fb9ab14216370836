"""Our own pool as a centre of the network: jobs are workloads, sent in this process by the services everybody uses.

There is no wire. What a wire's failures are elsewhere is here a transaction that did not come about: it is undone as a
whole, and `CenterUnreachable` says so.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar
from uuid import UUID

from django.db import DatabaseError, InterfaceError, OperationalError
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from apps.centers.adapters.base import (
    Ability,
    CenterRefused,
    CenterResources,
    CenterUnreachable,
    JobMessage,
    JobSeen,
    UsageRecord,
)
from apps.fleet.selectors import LOG_LIMIT_BYTES, log_bytes_read
from apps.jointcloud.local.account import account_find, account_use
from apps.jointcloud.local.pool import pool_resources, version
from apps.jointcloud.local.records import jobs_seen, usage_records
from apps.jointcloud.local.requests import KEY_LENGTH, key_check, request_of
from apps.kernel.errors import Busy, WeirError, busy_of
from apps.scheduling.models import Workload
from apps.scheduling.selectors.workloads import workloads_keyed
from apps.scheduling.services.workloads.stopping import workload_stop
from apps.scheduling.services.workloads.submission.submit import workload_request

P = ParamSpec("P")
R = TypeVar("R")
Self = TypeVar("Self")


def _in_words(call: Callable[Concatenate[Self, P], R]) -> Callable[Concatenate[Self, P], R]:
    """What the pool's services refuse, in the words of the unified interface."""

    @wraps(call)
    def run(self: Self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return call(self, *args, **kwargs)
        except Busy as error:
            raise CenterUnreachable(_text(error)) from error
        except WeirError as error:
            raise CenterRefused(_text(error)) from error
        except DatabaseError as error:
            if busy := busy_of(error):
                raise CenterUnreachable(_text(busy)) from error
            if isinstance(error, OperationalError):
                raise CenterUnreachable(str(error)) from error
            raise
        except InterfaceError as error:
            raise CenterUnreachable(str(error)) from error

    return run


class LocalAdapter:
    """The pool of this portal, in the name of one person of one tenant (see `CenterAdapter`).

    Args:
        settings: `tenant`, a tenant's code; `user`, the login account of somebody of it; `queue`, or nothing.
        secrets: none.
        local_addresses: it has no address.
    """

    abilities = frozenset({Ability.JOBS, Ability.LOGS, Ability.USAGE})
    key_length = KEY_LENGTH

    def __init__(
        self, settings: Mapping[str, str], secrets: Mapping[str, str], local_addresses: bool = False
    ) -> None:
        self._named = settings["tenant"].strip(), settings["user"].strip()
        self._queue = settings.get("queue", "").strip()

    @_in_words
    def check(self) -> str:
        """What it is. Raises CenterRefused where the account may not submit work."""
        account_use(*self._named)
        return version()

    @_in_words
    def resources(self) -> CenterResources:
        """What the whole pool holds and what of it is in use, by whomever. Raises what `check` raises."""
        account_use(*self._named)
        return pool_resources()

    @_in_words
    def job_create(self, message: JobMessage, key: str) -> str:
        """Submit the workload of a job; answers its uid. The key is its `client_key`: asked twice it is one."""
        key_check(key)
        known = self._rows().filter(client_key=key).first()
        if known is None:
            account = account_use(*self._named)
            asked = request_of(message, key, self._queue)
            known = workload_request(actor=account.actor, tenant=account.tenant, asked=asked)
        return str(known.uid)

    @_in_words
    def job_find(self, key: str) -> JobSeen | None:
        """The job of a key; None where the pool has none."""
        key_check(key)
        return next(jobs_seen(self._rows().filter(client_key=key)), None)

    @_in_words
    def job_get(self, native_id: str) -> JobSeen:
        """The job whose workload has this uid. Raises CenterRefused for none and for work that is no job of ours."""
        return next(jobs_seen([self._row(native_id)]))

    @_in_words
    def jobs(self, keys: Sequence[str]) -> Mapping[str, JobSeen]:
        """Those of the keys that the pool knows, read at once."""
        if not keys:
            return {}
        return {seen.key: seen for seen in jobs_seen(self._rows().filter(client_key__in=list(keys)))}

    @_in_words
    def job_stop(self, native_id: str) -> None:
        """Stop its workload; one that has ended stays as it is."""
        row = self._row(native_id)
        workload_stop(
            actor=account_find(*self._named).actor,
            tenant=row.tenant,
            workload_uid=row.uid,
            reason=_("the computing network asked for it"),
        )

    @_in_words
    def job_log(self, native_id: str, offset: int, limit: int = LOG_LIMIT_BYTES) -> bytes:
        """Of its workload's output, which is text. Of a job of several members theirs follow one another."""
        row = self._row(native_id)
        if offset < 0 or limit < 1:
            raise CenterRefused(_("A log is read from byte 0 on."))
        return log_bytes_read(workload_uid=row.uid, offset=offset, limit=limit)

    def usage(self, since: datetime) -> Iterator[UsageRecord]:
        """What the pool's nodes have metered of jobs that ended since then."""
        return iter(self._used(since))

    @_in_words
    def _used(self, since: datetime) -> list[UsageRecord]:
        found = usage_records(self._rows().filter(ended_at__gte=since))
        return sorted((each for each in found if each.ended_at >= since), key=lambda each: each.ended_at)

    def close(self) -> None:
        """Nothing is held between calls."""

    def _rows(self) -> QuerySet[Workload]:
        """The account's work that has a key: all of it are jobs."""
        account = account_find(*self._named)
        return workloads_keyed(account.tenant, account.user.pk)

    def _row(self, native_id: str) -> Workload:
        try:
            uid = UUID(native_id)
        except ValueError:
            uid = None
        found = None
        if uid is not None and str(uid) == native_id:
            found = self._rows().filter(uid=uid).first()
        if found is None:
            raise CenterRefused(_("There is no job %(id)s.") % {"id": repr(native_id[:60])})
        return found


def _text(error: WeirError) -> str:
    """Its cause with each field that is wrong, and the cure."""
    wrong: list[Any] = [f"{name}: {text}" for name, text in error.fields.items()]
    said = [str(error.message), "; ".join(wrong), str(error.cure or "")]
    return " ".join(part for part in said if part)
