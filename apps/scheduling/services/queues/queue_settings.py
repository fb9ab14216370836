"""The operators' scheduling settings: the tree of queues and the policy."""

from collections.abc import Collection, Mapping
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.catalog.models import Commodity
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput
from apps.kernel.events import emit
from apps.kernel.service import service
from apps.scheduling.engine.model.types import QueueState
from apps.scheduling.events import QueueChanged
from apps.scheduling.models import (
    ORDERINGS,
    PLACINGS,
    Queue,
    QueueTenant,
    QueueWindow,
    SchedulingPolicy,
    UserGroup,
    Workload,
)
from apps.scheduling.permissions import SchedulingPermission as P
from apps.scheduling.queue_config.time_windows import Span, weekly_check
from apps.scheduling.services.queues import checks
from apps.scheduling.types import DEFAULT_QUEUE
from apps.tenancy.models import Tenant

Windows = Collection[Span]


@service(P.MANAGE)
def queue_ensure(
    *, actor: Actor, code: str = DEFAULT_QUEUE, name_en: str = "Default", name_zh: str = "默认"
) -> Queue:
    """The queue of that code, made UP and without limits when there is none; where no queue is the default one, that
    called "default" is."""
    act_subject("queue", code)
    is_default = code == DEFAULT_QUEUE and not Queue.objects.filter(is_default=True).exists()
    defaults = {"name_en": name_en, "name_zh": name_zh, "is_default": is_default}
    return Queue.objects.get_or_create(code=code, retired_at=None, defaults=defaults)[0]


@service(P.MANAGE)
def queue_make(
    *,
    actor: Actor,
    code: str,
    name_en: str,
    name_zh: str,
    changes: Mapping[str, Any],
    tenants: Collection[Tenant] | None = None,
    windows: Windows | None = None,
    user_groups: Collection[UserGroup] | None = None,
) -> Queue:
    """A new queue, UP and without limits but for `changes` (see `queue_change`). Raises Conflict for a code that is
    taken (ELA-609)."""
    act_subject("queue", code)
    try:
        with transaction.atomic():
            row = Queue.objects.create(code=code, name_en=name_en, name_zh=name_zh)
    except IntegrityError as error:
        raise Conflict(
            _("There is a queue %(code)s already.") % {"code": code}, cure=_("Change that one.")
        ) from error
    return queue_change(
        actor=actor, queue=row, changes=changes, tenants=tenants, windows=windows, user_groups=user_groups
    )


@service(P.MANAGE)
def queue_change(
    *,
    actor: Actor,
    queue: Queue,
    changes: Mapping[str, Any],
    tenants: Collection[Tenant] | None = None,
    windows: Windows | None = None,
    user_groups: Collection[UserGroup] | None = None,
) -> Queue:
    """Change what `checks.FIELDS` names; what is not named stays. Running work stays, the next cycle follows
    (PLAT-AICFG-23, ELA-601, ELA-608). No `tenants`: all of them. No `windows`: work starts at any time. No
    `user_groups`: everybody may submit to it (PLAT-CLU-61). A queue that becomes the default takes that from the one
    which was (PLAT-CLU-50); another limit of run time is one for new work (PLAT-CLU-52).

    Raises InvalidInput, QueueCycle, GuaranteeTooLarge, DefaultQueueStays; Conflict when it was removed meanwhile.
    """
    checks.changes_check(changes)
    act_subject("queue", queue.code, **{name: str(value) for name, value in changes.items()})
    row = _locked(queue)
    was_default = row.is_default
    for name, value in changes.items():
        # A parent as it is now, with all above it: what whoever asks has read may be older than the lock.
        setattr(row, name, _locked(value) if name == "parent" and value is not None else value)
    checks.bound_check(row)
    checks.tree_check(row)
    checks.sharing_check(row, changes)
    checks.default_check(row, was_default=was_default)
    if row.is_default and not was_default:
        default_clear()
    row.save()
    if tenants is not None:
        QueueTenant.plain.filter(queue=row).exclude(tenant__in=tenants).delete()
        for tenant in tenants:
            QueueTenant.plain.get_or_create(queue=row, tenant=tenant)
    if windows is not None:
        windows_put(row, windows)
    if user_groups is not None:
        row.user_groups.set(user_groups)
    emit(QueueChanged(code=row.code), actor=actor)
    return row


def default_clear() -> None:
    """No queue is the default one: another is about to be. Internal to the app's services, with all queues locked."""
    Queue.objects.filter(is_default=True).update(is_default=False, updated_at=timezone.now())


@service(P.MANAGE)
def queue_open(*, actor: Actor, queue: Queue) -> Queue:
    """Let it take and start work (ELA-1704)."""
    return queue_change(actor=actor, queue=queue, changes={"state": QueueState.UP.value})


@service(P.MANAGE)
def queue_close(*, actor: Actor, queue: Queue) -> Queue:
    """Let it take and start none; what runs goes on to its end (ELA-1704)."""
    return queue_change(actor=actor, queue=queue, changes={"state": QueueState.DRAIN.value})


@service(P.MANAGE)
def queue_remove(*, actor: Actor, queue: Queue) -> None:
    """Take a queue away; one that ever had work is kept, retired, beside that work. Raises QueueInUse (ELA-609)."""
    act_subject("queue", queue.code)
    row = _locked(queue)
    checks.group_check(row)
    _remove(actor, row)


def _remove(actor: Actor, row: Queue) -> None:
    checks.removable_check(row)
    had_work = Workload.objects.across().filter(queue=row).exists()
    # Its branches are gone, but one that had work is kept, and with it the queues above.
    if had_work or row.reservations.exists() or row.children.exists():
        row.retired_at = timezone.now()
        row.save(update_fields=["retired_at", "updated_at"])
    else:
        row.delete()
    emit(QueueChanged(code=row.code), actor=actor)


@service()
def group_queue_make(*, actor: Actor, code: str, name_en: str, name_zh: str) -> Queue:
    """The queue of a new resource group, of the same name (PLAT-AICFG-23). Raises Conflict where there is another
    queue of that code: work in it would stand before other devices."""
    named = {"name_en": name_en, "name_zh": name_zh, "resource_group": code}
    row, _is_new = Queue.objects.get_or_create(code=code, retired_at=None, defaults=named)
    if row.resource_group != code:
        raise Conflict(
            _("There is a queue %(code)s already.") % {"code": code},
            cure=_("Choose another code for the group, or remove that queue first."),
        )
    act_subject("queue", code)
    emit(QueueChanged(code=code), actor=actor)
    return row


@service()
def group_queue_remove(*, actor: Actor, code: str) -> None:
    """The queue of a resource group that ends goes with it. Raises QueueInUse while work waits in it."""
    row = Queue.objects.filter(code=code, resource_group=code, retired_at=None).first()
    if row is not None:
        act_subject("queue", code)
        _remove(actor, _locked(row))


def _locked(queue: Queue) -> Queue:
    """The queue as it is now. All queues are locked: what holds of a tree cannot be seen from one of them."""
    rows = {row.pk: row for row in Queue.objects.select_for_update().filter(retired_at=None).order_by("pk")}
    if queue.pk not in rows:
        raise Conflict(_("Queue %(code)s was removed meanwhile.") % {"code": queue.code})
    for row in rows.values():
        if row.parent_id in rows:
            row.parent = rows[row.parent_id]
    return rows[queue.pk]


def windows_put(row: Queue, windows: Windows) -> None:
    spans = weekly_check(windows)
    row.windows.all().delete()
    QueueWindow.objects.bulk_create(
        QueueWindow(queue=row, weekday=weekday, from_minute=begin, to_minute=end)
        for weekday, begin, end in spans
    )


_POLICY_FIELDS: Mapping[str, Collection[str] | None] = {
    "placing": dict(PLACINGS),
    "ordering": dict(ORDERINGS),
    "has_backfill": None,
    "patience_s": None,
    "reserved_starts": None,
    **dict.fromkeys(("aging_s", "has_preemption", "has_reclaim", "grace_s", "min_run_s", "max_preemptions")),
    "fair_share_preempts": None,
    **dict.fromkeys(("consolidates", "max_moves", "grows_elastic", "hysteresis_s", "half_life_s", "ahead_s")),
    **dict.fromkeys(("max_open_per_user", "max_open_per_tenant")),
}


@service(P.MANAGE)
def policy_set(*, actor: Actor, changes: Mapping[str, Any]) -> SchedulingPolicy:
    """Change how work is placed, in which order it is judged, and whether it may be preempted: what
    `_POLICY_FIELDS` names; what is not named stays (PLAT-AICFG-18, POOL-12.27). The next cycle follows it."""
    unknown = set(changes) - set(_POLICY_FIELDS)
    wrong = {name: ", ".join(words or ()) for name, words in _POLICY_FIELDS.items()
             if words is not None and name in changes and changes[name] not in list(words)}  # fmt: skip
    if unknown or wrong:
        raise InvalidInput(
            _("There is no such policy."),
            cure=_("Placing is one of %(placings)s, ordering one of %(orderings)s.")
            % {"placings": ", ".join(dict(PLACINGS)), "orderings": ", ".join(dict(ORDERINGS))},
            fields={**dict.fromkeys(unknown, _("There is no such setting.")), **wrong},
        )
    wrong_values = checks.value_errors(SchedulingPolicy, changes)
    if wrong_values:
        raise InvalidInput(fields=wrong_values)
    act_subject("scheduling_policy", 1, **changes)
    return SchedulingPolicy.objects.update_or_create(pk=1, defaults=dict(changes))[0]


@service(P.MANAGE)
def direct_commodity_set(*, actor: Actor, commodity: Commodity | None) -> SchedulingPolicy:
    """What work that no order stands behind is charged as from now on; None: it is refused."""
    act_subject("scheduling_policy", 1, commodity=commodity.number if commodity else None)
    return SchedulingPolicy.objects.update_or_create(pk=1, defaults={"direct_commodity": commodity})[0]
