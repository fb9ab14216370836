"""What nodes and people have given the pool of a tenant's own, when that tenant's data are deleted."""

from django.db import transaction

from apps.fleet.models import (
    ContainerSave,
    FolderUpload,
    GroupGrant,
    LogChunk,
    MetricSeries,
    Secret,
    Slice,
    WorkFolder,
)
from apps.fleet.models.folder_uploads import FolderUse
from apps.fleet.services.folder_files import archives_remove
from apps.kernel.actor import Actor, act_subject
from apps.kernel.service import service
from apps.tenancy.models import Tenant


@service(recorded=False)
def tenant_slices_forget(*, actor: Actor, tenant: Tenant) -> None:
    """Delete a tenant's secrets, output, metrics, folders and saved containers; how much its slices held when stays."""
    act_subject("tenant", tenant.schema_name)
    Secret.plain.filter(tenant=tenant).delete()
    LogChunk.objects.filter(slice__tenant=tenant).delete()
    MetricSeries.plain.filter(tenant=tenant).delete()
    uploads, folders = FolderUpload.plain.filter(tenant=tenant), WorkFolder.plain.filter(tenant=tenant)
    archives = [*uploads.values_list("uid", flat=True)]
    archives += [uid for uid in folders.values_list("transfer", flat=True) if uid]
    containers = ContainerSave.plain.filter(tenant=tenant)
    archives += containers.values_list("uid", flat=True)
    containers.delete()
    FolderUse.objects.filter(upload__tenant=tenant).delete()
    uploads.delete()
    folders.delete()
    GroupGrant.plain.filter(tenant=tenant).delete()
    Slice.plain.filter(tenant=tenant).update(
        work={},
        secrets={},
        session={},
        service={},
        session_key="",
        ticket="",
        reason="",
        stop_reason="",
        move_reason="",
    )
    # What a crash leaves of them the sweep of archives that nobody knows finds.
    transaction.on_commit(lambda: archives_remove(archives))
