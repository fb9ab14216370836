"""Reading the data of jobs: a tenant's own, as far as its reader reaches, and the centre's for all."""

from django.db.models import Count, Prefetch, Q, QuerySet
from django.utils.translation import gettext as _

from apps.jointcloud.models import Dataset, DatasetCopy
from apps.kernel.actor import Actor
from apps.kernel.errors import NotFound
from apps.kernel.reach import Records
from apps.tenancy.models import Tenant


def datasets_seen(tenant: Tenant | None, actor: Actor) -> Q:
    """The datasets that the actor finds in a tenant: those that he reaches of its own, and the centre's. Without a
    tenant, for operators, all."""
    if tenant is None:
        return ~Q(pk__in=[])
    return Q(tenant=None) | Q(tenant=tenant) & datasets_reached(actor)


def datasets_reached(actor: Actor) -> Q:
    """Of a tenant's own datasets those that the actor reaches: his own, and others' as far as the data permission
    goes."""
    return actor.reaches(
        Records.RESOURCES,
        own=Q(created_by_id=actor.user_id),
        organization="organization_uid",
        system="business_system_uid",
    )


def dataset_list(
    tenant: Tenant | None, *, actor: Actor, search: str = "", center: str = ""
) -> QuerySet[Dataset]:
    """The datasets that the actor finds, each with its copies and `copy_count`; those whose name contains `search`, and
    those of which a copy is at the centre `center`."""
    copies = DatasetCopy.objects.select_related("center", "dataset").order_by("center__name", "pk")
    rows = Dataset.objects.filter(datasets_seen(tenant, actor)).select_related("tenant", "created_by")
    rows = rows.annotate(copy_count=Count("copies")).prefetch_related(Prefetch("copies", copies))
    if center:
        rows = rows.filter(pk__in=DatasetCopy.objects.filter(center__ai_center_id=center).values("dataset"))
    return rows.filter(data_name__icontains=search) if search else rows


def dataset_get(tenant: Tenant | None, data_id: str, *, actor: Actor) -> Dataset:
    """A dataset that the actor finds, with its copies. Raises NotFound."""
    rows = dataset_list(tenant, actor=actor)
    # A number holds nothing that PostgreSQL would not take.
    found = rows.filter(data_id=data_id).first() if data_id.isprintable() else None
    if found is None:
        raise NotFound(_("There is no data %(data)s.") % {"data": data_id[:64]})
    return found


def datasets_at(ai_center_id: str, most: int) -> list[str]:
    """What lies at a centre, by name and version; at most so many."""
    rows = Dataset.objects.filter(copies__center__ai_center_id=ai_center_id)
    return [str(row) for row in rows.order_by("data_name", "data_version", "pk")[:most]]
