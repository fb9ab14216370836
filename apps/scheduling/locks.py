from collections.abc import Iterable
from uuid import UUID

from django.db import connection

from apps.fleet.models import Slice
from apps.kernel.actor import Actor
from apps.kernel.errors import NotFound
from apps.kernel.prepared_queries import ArrayParam, PreparedQuery
from apps.scheduling.models import Workload
from apps.scheduling.permissions import work_reached
from apps.scheduling.states import NOT_HELD_BACK
from apps.tenancy.models import Tenant

_SUBMISSIONS_LOCK = 0x57656975
# Of its queue and tenant only what placing it takes: a thousand rows are read at once.
_OWN = tuple(field.name for field in Workload._meta.concrete_fields)
_NEAR = ("tenant__schema_name", "tenant__name", "queue__code", "queue__resource_group")


def work_take(actor: Actor, tenant: Tenant, uid: UUID) -> Workload:
    """Work that the actor is to change, its slices and itself locked; NotFound for another tenant's and for what the
    actor does not reach."""
    slices_lock(uid)
    if not Workload.plain.filter(work_reached(actor), uid=uid, tenant=tenant).exists():
        raise NotFound()
    row = workload_lock(uid)
    if row is None:
        raise NotFound()
    return row


def workload_lock(uid: UUID) -> Workload | None:
    """The workload, locked until the transaction ends; None when there is none."""
    return (
        Workload.plain.select_for_update(no_key=True, of=("self",))
        .select_related("tenant", "queue", "environment")
        .filter(uid=uid)
        .first()
    )


def submissions_lock(tenant: Tenant) -> None:
    """Until the transaction ends, submissions of the tenant that take this lock are served one after the other: those
    with keys and an order's, of which the same one asked twice is one, and those that come near a bound."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [_SUBMISSIONS_LOCK, tenant.pk])


def slices_lock(workload_uid: UUID) -> None:
    """Lock the workload's slices, before the workload itself: the order in which a node's sync takes them."""
    rows = Slice.plain.select_for_update(no_key=True).filter(workload_uid=workload_uid).order_by("pk")
    list(rows.values_list("pk"))


def workloads_pending_lock(uids: Iterable[str]) -> dict[str, Workload]:
    """Those that wait, for room alone, and that nobody else holds, by uid, each with its tenant and queue."""
    return {str(row.uid): row for row in _PENDING.all(uids=[UUID(uid) for uid in uids])}


_PENDING = PreparedQuery(
    lambda: Workload.plain.select_for_update(no_key=True, skip_locked=True, of=("self",)).filter(
        uid=ArrayParam("uids"), state="pending", **NOT_HELD_BACK
    ),
    fields=(*_OWN, *_NEAR),
)
