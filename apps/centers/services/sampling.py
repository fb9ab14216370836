"""What centres answer is kept, and those that fall silent are told of."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from django.utils import timezone, translation

from apps.centers.adapters.base import CenterAdapter, CenterError
from apps.centers.events import CenterStatusChanged
from apps.centers.models import Center, CenterSample
from apps.centers.permissions import CentersPermission as P
from apps.centers.selectors import center_get
from apps.centers.services.calls import (
    Answer,
    adapter_open,
    center_asked,
    error_text,
    refusal_of,
    trouble_of,
)
from apps.centers.services.credentials import credential_open
from apps.centers.states import CenterStatus, Trouble
from apps.centers.types import AMOUNTS
from apps.kernel.actor import Actor
from apps.kernel.events import emit
from apps.kernel.service import service

# How often a centre that fails is asked again, at most and at least.
_RETRY_LEAST_S, _RETRY_MOST_S = 5.0, 60.0


def retry_most_s(center: Center) -> float:
    """The longest pause between two questions to a centre that fails, in seconds: soon enough to be sure of it before
    it counts as gone."""
    return min(_RETRY_MOST_S, max(_RETRY_LEAST_S, center.lost_after_s / 4))


def center_adapter(center: Center, account: Mapping[str, str] | None = None) -> CenterAdapter:
    """The adapter of a centre with its credential, as a tenant's account there where one is given; the caller closes
    it. Raises CenterError."""
    return adapter_open(center.kind, center.settings, credential_open(center), account)


def center_sample_now(*, actor: Actor, ai_center_id: str) -> Center:
    """Ask a centre what it holds, now, whatever else asks it; what it says is kept.

    Raises NotFound, CenterSaysNo, CenterSilent, CenterNonsense: what it came to is kept, too.
    """
    actor.require(P.MANAGE)
    row = center_get(ai_center_id)
    asked_at = timezone.now()
    adapter: CenterAdapter | None = None
    try:
        # What it comes to is kept for readers of all languages.
        with translation.override("en"):
            adapter = center_adapter(row)
            answer = center_asked(adapter)
    except CenterError as error:
        center_failed(actor=actor, center=row, asked_at=asked_at, error=error)
        raise refusal_of(error) from error
    finally:
        if adapter is not None:
            adapter.close()
    center_answered(actor=actor, center=row, answer=answer)
    return center_get(ai_center_id)


@service(recorded=False)
def center_answered(*, actor: Actor, center: Center, answer: Answer) -> bool:
    """Keep what a centre said, unless something newer is kept, or it is reached in another way by now; whether it was
    kept."""
    row = _still(center)
    return row is not None and answer_keep(row, answer, actor=actor)


@service(recorded=False)
def center_failed(*, actor: Actor, center: Center, asked_at: datetime, error: CenterError) -> bool:
    """Keep that a call came to nothing, and what that makes of the centre: one that answers wrongly or refuses us is
    not available from that moment on; one that does not answer is, until it has been silent for long enough. Whether
    it was kept."""
    row = _still(center)
    if row is None or _is_late(row, asked_at):
        return False
    if row.failing_since is None or _was_unasked(row, asked_at):
        row.failing_since = asked_at
    row.trouble, row.error, row.error_at = trouble_of(error), error_text(error), timezone.now()
    row.save(update_fields=["trouble", "error", "error_at", "failing_since"])
    status = {Trouble.REFUSED: CenterStatus.UNAVAILABLE, Trouble.BROKEN: CenterStatus.UNKNOWN}.get(
        row.trouble, CenterStatus(row.status)
    )
    if row.trouble == Trouble.BROKEN and row.status == CenterStatus.UNAVAILABLE:
        status = CenterStatus.UNAVAILABLE
    _status_set(row, status, actor=actor)
    return True


@service(recorded=False)
def centers_check(*, actor: Actor, now: datetime | None = None) -> int:
    """Make unknown what has been silent for `stale_after_s`, and unavailable what has been for `lost_after_s`; how many
    were changed. A centre that answers again becomes available by its answer."""
    at = now or timezone.now()
    changed = 0
    rows = Center.objects.exclude(status=CenterStatus.UNAVAILABLE).order_by("pk")
    for row in rows.select_for_update(skip_locked=True):
        silent = at - (row.answered_at or row.created_at)
        if silent >= timedelta(seconds=row.lost_after_s):
            changed += _status_set(row, CenterStatus.UNAVAILABLE, actor=actor)
        elif silent >= timedelta(seconds=row.stale_after_s):
            changed += _status_set(row, CenterStatus.UNKNOWN, actor=actor)
    return changed


def answer_keep(row: Center, answer: Answer, *, actor: Actor) -> bool:
    """Keep an answer of a centre whose row is locked, unless a newer one is kept. Internal to the app's services."""
    if _is_late(row, answer.asked_at):
        return False
    resources = answer.resources
    values: dict[str, object] = {
        "asked_at": answer.asked_at,
        "answered_at": answer.answered_at,
        "nodes": resources.nodes,
        "running_tasks": resources.running_tasks,
        "waiting_tasks": resources.waiting_tasks,
    }
    if answer.version:
        values["version"] = answer.version
    for name in AMOUNTS:
        values[f"total_{name}"] = getattr(resources.total, name)
        values[f"used_{name}"] = getattr(resources.used, name)
    CenterSample.objects.update_or_create(center=row, defaults=values)
    row.answered_at, row.trouble, row.error, row.failing_since = answer.answered_at, "", "", None
    row.save(update_fields=["answered_at", "trouble", "error", "failing_since"])
    _status_set(row, CenterStatus.AVAILABLE, actor=actor)
    return True


def _still(center: Center) -> Center | None:
    """The centre's row, locked, if it is reached as it was when it was asked."""
    return Center.objects.select_for_update().filter(pk=center.pk, revision=center.revision).first()


def _is_late(row: Center, asked_at: datetime) -> bool:
    return CenterSample.objects.filter(center=row, asked_at__gt=asked_at).exists()


def _was_unasked(row: Center, asked_at: datetime) -> bool:
    """Whether nobody asked a failing centre for longer than its watch pauses: what was before is no evidence then."""
    return row.error_at is None or asked_at - row.error_at > timedelta(seconds=2 * retry_most_s(row))


def _status_set(row: Center, status: CenterStatus, *, actor: Actor) -> bool:
    if row.status == status:
        return False
    row.status = status
    row.save(update_fields=["status"])
    why = row.error or ("It is silent." if status != CenterStatus.AVAILABLE else "")
    emit(
        CenterStatusChanged(ai_center_id=row.ai_center_id, name=row.name, status=int(status), why=why),
        actor=actor,
    )
    return True
