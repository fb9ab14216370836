"""By the clock: uploads that nobody goes on with, volumes measured, what deleted volumes left."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from apps.kernel.actor import SYSTEM
from apps.kernel.planes import in_tenant
from apps.kernel.tasks import provider_task, tenant_task
from apps.storage.drivers.chosen import own_driver
from apps.storage.models import Volume
from apps.storage.selectors import outputs_coming
from apps.storage.services import ordered, outputs, parts, uploads, volumes
from apps.tenancy.selectors import tenant_active_list, tenant_find
from apps.tenancy.states import TenantState

log = logging.getLogger(__name__)


@tenant_task
def volume_follow(schema: str, uid: str) -> None:
    """Measure one volume, or remove what a deleted one left. Coming twice changes nothing."""
    volumes.volume_follow(actor=SYSTEM, uid=UUID(uid))


@tenant_task
def ended_volume_follow(schema: str, uid: str) -> None:
    """Stop the work that may write into a volume whose order has ended. Coming twice changes nothing."""
    ordered.ended_volume_free(actor=SYSTEM, volume_uid=UUID(uid))


@tenant_task
def outputs_follow(schema: str, workload_uid: str) -> None:
    """Keep what has come of one workload's outputs. Coming twice changes nothing."""
    outputs.outputs_follow(actor=SYSTEM, workload_uid=UUID(workload_uid))


@tenant_task
def storage_tidy_tenant(schema: str) -> None:
    """Settle one tenant's uploads and outputs, measure its volumes, remove what deleted ones left, stop what
    may not use those of ended orders, and remove the files of orders that ended long enough ago: each whatever becomes
    of the others."""
    for uid in ordered.ended_volumes():
        with _whatever_becomes_of(uid):
            ordered.ended_volume_free(actor=SYSTEM, volume_uid=uid)
            ordered.ended_volume_remove(actor=SYSTEM, volume_uid=uid)
    with _whatever_becomes_of("uploads"):
        uploads.uploads_tidy(actor=SYSTEM)
    with _whatever_becomes_of("uploads in parts"):
        parts.parts_tidy(actor=SYSTEM)
    for uid in outputs_coming():
        with _whatever_becomes_of(uid):
            outputs.outputs_follow(actor=SYSTEM, workload_uid=uid)
    for uid in [*Volume.objects.values_list("uid", flat=True), *volumes.volumes_forgotten()]:
        with _whatever_becomes_of(uid):
            volumes.volume_follow(actor=SYSTEM, uid=uid)


@contextmanager
def _whatever_becomes_of(what: object) -> Iterator[None]:
    try:
        yield
    except Exception:
        log.exception("the clock could not tidy up %s", what)


@provider_task
def own_folder_mark() -> None:
    """Mark the centre's own folder before it holds a volume: nodes look for the mark every few seconds, and work that
    mounts the first volume right after it was made would be refused until they have. Coming twice changes nothing."""
    own_driver().mark()


@provider_task
def storage_tidy() -> None:
    """One task for each active tenant that has volumes, or has had some; of one that was deleted the files go too."""
    with _whatever_becomes_of("the centre's own folder"):
        own_driver().mark()
    for tenant in (*tenant_active_list(), *tenant_find(state=TenantState.DELETED)):
        schema = tenant.schema_name
        with in_tenant(schema):
            is_due = Volume.objects.exists() or outputs_coming() or volumes.volumes_forgotten()
        if is_due:
            storage_tidy_tenant.delay(schema)
