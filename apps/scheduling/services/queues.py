"""The operators' scheduling settings: queues and the policy."""

from collections.abc import Collection, Mapping
from typing import Any

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from apps.catalog.models import Commodity
from apps.fleet.selectors import group_get
from apps.kernel.acts import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput
from apps.kernel.service import service
from apps.scheduling.models import ORDERINGS, PLACINGS, Queue, QueueTenant, SchedulingPolicy
from apps.scheduling.permissions import SchedulingPermission as P
from apps.tenancy.models import Tenant

DEFAULT_QUEUE = "default"
# What may be changed of a queue, with the words each may have.
_QUEUE_FIELDS: Mapping[str, Collection[str] | None] = {
    "state": dict(Queue.STATES),
    "ordering": {"", *dict(ORDERINGS)},
    "placing": {"", *dict(PLACINGS)},
    "priority": None,
    "resource_group": None,
    "max_compute_percent": None,
    "max_memory_mib": None,
}


@service(P.MANAGE)
def queue_ensure(
    *, actor: Actor, code: str = DEFAULT_QUEUE, name_en: str = "Default", name_zh: str = "默认"
) -> Queue:
    """The queue of that code, made UP and without limits when there is none."""
    act_subject("queue", code)
    return Queue.objects.get_or_create(code=code, defaults={"name_en": name_en, "name_zh": name_zh})[0]


@service(P.MANAGE)
def queue_make(
    *,
    actor: Actor,
    code: str,
    name_en: str,
    name_zh: str,
    changes: Mapping[str, Any],
    tenants: Collection[Tenant] | None = None,
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
    return queue_change(actor=actor, queue=row, changes=changes, tenants=tenants)


@service(P.MANAGE)
def queue_change(
    *, actor: Actor, queue: Queue, changes: Mapping[str, Any], tenants: Collection[Tenant] | None = None
) -> Queue:
    """Change state, priority, ordering, placing, resource group, limits or admitted tenants of a queue; what is not
    named stays. Running work stays, the next cycle follows (PLAT-AICFG-23, ELA-608). No `tenants`: all of them.
    """
    _changes_check(changes)
    act_subject("queue", queue.code, **changes)
    for name, value in changes.items():
        setattr(queue, name, value)
    queue.save()
    if tenants is not None:
        QueueTenant.plain.filter(queue=queue).exclude(tenant__in=tenants).delete()
        for tenant in tenants:
            QueueTenant.plain.get_or_create(queue=queue, tenant=tenant)
    return queue


def _changes_check(changes: Mapping[str, Any]) -> None:
    wrong = {}
    for name, value in changes.items():
        if name not in _QUEUE_FIELDS:
            raise InvalidInput(fields={name: _("There is no such setting.")})
        words = _QUEUE_FIELDS[name]
        if words is not None and value not in words:
            wrong[name] = _("one of %(names)s") % {"names": ", ".join(filter(None, words))}
    if wrong:
        raise InvalidInput(_("There is no such queue setting."), fields=wrong)
    if changes.get("resource_group"):
        group_get(changes["resource_group"])


_POLICY_FIELDS: Mapping[str, Collection[str] | None] = {
    "placing": dict(PLACINGS),
    "ordering": dict(ORDERINGS),
    "has_backfill": None,
    "patience_s": None,
    "aging_s": None,
}


@service(P.MANAGE)
def policy_set(*, actor: Actor, changes: Mapping[str, Any]) -> SchedulingPolicy:
    """Change how work is placed and in which order it is judged: placing, ordering, has_backfill, patience_s,
    aging_s; what is not named stays (PLAT-AICFG-18, POOL-12.27). The next cycle follows it."""
    unknown = set(changes) - set(_POLICY_FIELDS)
    wrong = {name: ", ".join(words or ()) for name, words in _POLICY_FIELDS.items()
             if words is not None and name in changes and changes[name] not in words}  # fmt: skip
    if unknown or wrong:
        raise InvalidInput(
            _("There is no such policy."),
            cure=_("Placing is one of %(placings)s, ordering one of %(orderings)s.")
            % {"placings": ", ".join(dict(PLACINGS)), "orderings": ", ".join(dict(ORDERINGS))},
            fields={**dict.fromkeys(unknown, _("There is no such setting.")), **wrong},
        )
    act_subject("scheduling_policy", 1, **changes)
    return SchedulingPolicy.objects.update_or_create(pk=1, defaults=dict(changes))[0]


@service(P.MANAGE)
def direct_commodity_set(*, actor: Actor, commodity: Commodity | None) -> SchedulingPolicy:
    """What work that no order stands behind is charged as from now on; None: it is metered only."""
    act_subject("scheduling_policy", 1, commodity=commodity.number if commodity else None)
    return SchedulingPolicy.objects.update_or_create(pk=1, defaults={"direct_commodity": commodity})[0]
