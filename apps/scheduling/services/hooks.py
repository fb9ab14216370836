"""The hooks' outbox: written with the change, called after it, tried until it is through or given up (ELA-1103)."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, NotFound
from apps.kernel.events import emit
from apps.kernel.service import service
from apps.scheduling.events import HookDue, HookSettled
from apps.scheduling.hooks import TRIES_MAX, JobEvent, hooks
from apps.scheduling.models import HookCall
from apps.scheduling.permissions import SchedulingPermission as P
from apps.scheduling.states import HookCallState, HookKind

_FIRST_WAIT_S = 5
_WAIT_MAX_S = 3600
# Until then nobody else takes a call that somebody has begun: one whose worker died is made again.
_LEASE = timedelta(minutes=5)
_ERROR_LENGTH = 300
# How long a call is kept after it was made or given up.
_KEPT = timedelta(days=30)
_BATCH = 5000


@service(recorded=False)
def hook_calls_put(
    *, actor: Actor, kind: HookKind, schema: str, workload_uid: UUID, at: datetime, params: dict[str, Any]
) -> None:
    """Leave a call for every hook that hears of this, in the transaction in which it happens."""
    rows = [
        HookCall(hook=name, kind=kind, schema=schema, workload_uid=workload_uid, at=at, params=params)
        for name, each in hooks.items()
        if kind in each.kinds
    ]
    if rows:
        HookCall.objects.bulk_create(rows)
        emit(HookDue(workload_uid=workload_uid), actor=actor)


@service(recorded=False)
def hook_call_claim(*, actor: Actor) -> HookCall | None:
    """The call that is due, kept from others for a while; None when none is."""
    now = timezone.now()
    due = HookCall.objects.filter(state=HookCallState.PENDING, next_try_at__lte=now)
    row = due.order_by("next_try_at", "pk").select_for_update(skip_locked=True).first()
    if row is None:
        return None
    row.tries += 1
    row.next_try_at = now + _LEASE
    row.save(update_fields=["tries", "next_try_at", "updated_at"])
    return row


def hook_call_carry_out(row: HookCall) -> None:
    """Call the hook, in no transaction. Raises whatever it raises; LookupError where nobody registered it."""
    known = hooks.get(row.hook)
    if known is None:
        raise LookupError(_("No hook of that name is registered."))
    known.call(
        JobEvent(
            call_uid=row.uid,
            kind=HookKind(row.kind),
            schema=row.schema,
            workload_uid=row.workload_uid,
            at=row.at,
            params=row.params,
        )
    )


@service(recorded=False)
def hook_call_settle(*, actor: Actor, uid: UUID, error: str = "") -> HookCall:
    """Say how a try went: done, or why not and when it is tried again; after the last try it has failed."""
    row = HookCall.objects.select_for_update().get(uid=uid)
    if row.state != HookCallState.PENDING:
        return row
    row.error = " ".join(error.split())[:_ERROR_LENGTH].replace("\0", "")
    if not error:
        row.state = HookCallState.DONE
    elif row.tries >= TRIES_MAX:
        row.state = HookCallState.FAILED
    else:
        wait_s = min(_FIRST_WAIT_S * 2 ** (row.tries - 1), _WAIT_MAX_S)
        row.next_try_at = timezone.now() + timedelta(seconds=wait_s)
    row.save(update_fields=["state", "error", "next_try_at", "updated_at"])
    if row.state == HookCallState.FAILED:
        emit(HookSettled(uid=row.uid), actor=actor)
    return row


@service(P.MANAGE)
def hook_call_retry(*, actor: Actor, uid: UUID) -> HookCall:
    """Try a call again that was given up, as often as a new one, from now on (ELA-1103). Raises NotFound; Conflict for
    one that was made, or is still being tried."""
    row = HookCall.objects.select_for_update().filter(uid=uid).first()
    if row is None:
        raise NotFound()
    act_subject("hook_call", row.uid, hook=row.hook, told=row.kind, workload=str(row.workload_uid))
    if row.state != HookCallState.FAILED:
        raise Conflict(
            _("The call of %(hook)s was not given up.") % {"hook": row.hook},
            cure=_("What failed is tried again by itself, until it is given up."),
        )
    row.state, row.tries, row.next_try_at = HookCallState.PENDING, 0, timezone.now()
    row.save(update_fields=["state", "tries", "next_try_at", "updated_at"])
    emit(HookDue(workload_uid=row.workload_uid), actor=actor)
    emit(HookSettled(uid=row.uid), actor=actor)
    return row


@service(recorded=False)
def hook_calls_prune(*, actor: Actor) -> int:
    """Forget a batch of calls that were settled long ago; how many there were."""
    old = HookCall.objects.exclude(state=HookCallState.PENDING).filter(updated_at__lt=timezone.now() - _KEPT)
    return HookCall.objects.filter(
        pk__in=list(old.order_by("pk").values_list("pk", flat=True)[:_BATCH])
    ).delete()[0]
