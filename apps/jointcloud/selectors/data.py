"""Reading the data of jobs: a tenant's own, as far as its reader reaches, and the centre's for all.

The engine knows data by NAME:VERSION@NUMBER: reasons of it are kept, and read when the data has gone.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable

from django.db import connection
from django.db.models import Count, Prefetch, Q, QuerySet
from django.utils.translation import gettext as _

from apps.centers.selectors import centers_sampled
from apps.jointcloud.engine.types import Data
from apps.jointcloud.engine.types import Job as EngineJob
from apps.jointcloud.models import Dataset, DatasetCopy, TaskData
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
    those of which a copy is at the centre `center`. Whoever acts in a tenant finds of the centre's data the copies at
    the centres that serve it, and no others."""
    copies = DatasetCopy.objects.select_related("center", "dataset").order_by("center__name", "pk")
    if actor.tenant:
        # What a tenant itself has said stays in its sight, and can be taken back.
        serving = Q(center__in=centers_sampled(actor.tenant).values("pk"))
        copies = copies.filter(serving | Q(dataset__tenant__schema_name=actor.tenant))
    rows = Dataset.objects.filter(datasets_seen(tenant, actor)).select_related("tenant", "created_by")
    counted = Count("copies", filter=Q(copies__in=copies.order_by().values("pk")))
    rows = rows.annotate(copy_count=counted).prefetch_related(Prefetch("copies", copies))
    if center:
        rows = rows.filter(pk__in=copies.filter(center__ai_center_id=center).values("dataset"))
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


def datasets_named(
    schema: str, names: Collection[str], *, actor: Actor, is_locked: bool = False
) -> dict[str, list[Dataset]]:
    """What each of these texts, NAME or NAME:VERSION, may mean to the actor in a tenant: data of the tenant, and where
    it has none of the name, the centre's; without a tenant the centre's alone. Nothing or several: see for yourself.

    `is_locked`: none of it is changed or removed until the transaction ends.
    """
    readable = Q(tenant=None)
    if schema:
        readable |= Q(tenant__schema_name=schema) & datasets_reached(actor)
    wanted = {text: text.partition(":") for text in names if text.isprintable()}
    rows = Dataset.objects.filter(readable, data_name__in={name for name, _sep, _version in wanted.values()})
    if is_locked and wanted:
        datasets_hold(rows.values_list("data_id", flat=True))
    kept = list(rows.order_by("pk")) if wanted else []
    found: dict[str, list[Dataset]] = {text: [] for text in names}
    for text, (name, has_version, version) in wanted.items():
        meant = [
            row for row in kept if row.data_name == name and (not has_version or row.data_version == version)
        ]
        found[text] = [row for row in meant if row.tenant_id is not None] or meant
    return found


def datasets_hold(data_ids: Iterable[str]) -> None:
    """Have these datasets stay as they are until the transaction ends, with all others who read them: FOR SHARE, which
    the ORM does not have. In the order of their keys, so that none waits for another in a circle."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT 1 FROM jointcloud_dataset WHERE data_id = ANY(%s) ORDER BY id FOR SHARE", [list(data_ids)]
        )


def engine_id(row: Dataset | TaskData) -> str:
    """By what the engine knows data."""
    return f"{row}@{row.data_id}"


def tasks_data(tasks: Collection[int]) -> dict[int, tuple[str, ...]]:
    """The data that tasks read, by the keys of their rows: as the engine knows it, in the order of each task."""
    found: dict[int, list[str]] = defaultdict(list)
    for row in TaskData.objects.filter(task__in=list(tasks)).order_by("task", "number"):
        found[row.task_id].append(engine_id(row))
    return {task: tuple(ids) for task, ids in found.items()}


def data_read(jobs: Iterable[EngineJob]) -> list[Data]:
    """The data that these jobs read, with the centres that hold it, as the engine takes it.

    Nothing copies data from centre to centre yet: all of it stays where it is, whatever its owner allows.
    """
    ids = {name for job in jobs for task in job.tasks for name in task.data_ids}
    numbers = {name.rpartition("@")[2] for name in ids}
    if not ids:
        return []
    rows = list(Dataset.objects.filter(data_id__in=numbers).order_by("pk"))
    places: dict[int, set[str]] = defaultdict(set)
    copies = DatasetCopy.objects.filter(dataset__in=rows).select_related("center", "dataset")
    for copy in copies:
        if copy.is_of_it:
            places[copy.dataset_id].add(copy.center.ai_center_id)
    return [
        Data(engine_id(row), row.size_bytes, frozenset(places[row.pk]), is_private=True)
        for row in rows
        if engine_id(row) in ids
    ]
