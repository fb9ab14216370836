"""Data that jobs read, and where its copies lie (table 6). A tenant keeps its own; the centre's, which all tenants
read, operators keep. Nothing here moves or deletes a file: copies are told of."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from typing import Any
from uuid import uuid4

from django.db import IntegrityError, connection, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.centers.errors import CenterInUse
from apps.centers.permissions import CentersPermission
from apps.centers.selectors import center_held
from apps.centers.services.checks import faults_raise
from apps.jointcloud.errors import DatasetInUse, TooManyDatasets
from apps.jointcloud.models import Dataset, DatasetCopy, TaskData
from apps.jointcloud.selectors.data import datasets_at, datasets_seen
from apps.jointcloud.services.data_checks import copy_faults, facts_faults, faults_at, name_fault
from apps.jointcloud.states import OPEN
from apps.jointcloud.types import CopyFacts, DatasetFacts
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound
from apps.kernel.service import service
from apps.scheduling.permissions import ResourcePermission as P
from apps.tenancy.models import Tenant

MOST_DATASETS = 10_000
"""Of a tenant, and of the centre."""
MOST_COPIES = 1_000
_LOCK = 0x57656944
_NAMED = 5


@service(P.OPERATE)
def dataset_make(
    *,
    actor: Actor,
    tenant: Tenant | None,
    data_name: str,
    data_version: str,
    facts: DatasetFacts,
    copies: Sequence[CopyFacts] = (),
) -> Dataset:
    """Enter data of a tenant, or without one of the centre for all tenants, with the copies there are of it.

    Raises InvalidInput with every fault by its field, Conflict where there is data of this name and version,
    TooManyDatasets, Forbidden where the centre's is entered without the right to manage centres.
    """
    _public_check(actor, tenant)
    faults = {"data_name": name_fault(data_name), "data_version": name_fault(data_version)}
    faults |= facts_faults(facts)
    for number, copy in enumerate(copies):
        faults |= faults_at(f"location.{number}", copy_faults(copy))
    faults |= _places_faults(copies)
    faults_raise(faults)
    _room_check(tenant)
    row = Dataset(
        data_id=uuid4().hex,
        tenant=tenant,
        data_name=data_name,
        data_version=data_version,
        created_by_id=actor.user_id,
        organization_uid=actor.organization,
        business_system_uid=actor.default_system,
        **_columns(facts),
    )
    act_subject("dataset", row.data_id, name=str(row), size_bytes=facts.size_bytes, copies=len(copies))
    with _once(_("There is data %(data)s already.") % {"data": row}):
        row.save()
    # Centres are locked in one order, whoever names them.
    for number, copy in sorted(enumerate(copies), key=lambda pair: pair[1].ai_center_id):
        _copy_keep(row, copy, f"location.{number}.ai_center_id")
    return row


@service(P.OPERATE)
def dataset_change(
    *,
    actor: Actor,
    tenant: Tenant | None,
    data_id: str,
    size_bytes: int | None = None,
    files: int | None = None,
    digest: str | None = None,
    may_move: bool | None = None,
) -> Dataset:
    """Change what is given of data (see `DatasetFacts`); None leaves it, and its name and version stay. A copy whose
    digest is another than the new one is no copy of it any more. Raises NotFound, Forbidden, InvalidInput."""
    given = {"size_bytes": size_bytes, "files": files, "digest": digest, "may_move": may_move}
    changes = {name: value for name, value in given.items() if value is not None}
    row = _locked(tenant, data_id, actor=actor)
    facts = DatasetFacts(**({name: getattr(row, name) for name in _FACTS} | changes))
    faults_raise(facts_faults(facts))
    for name, value in _columns(facts).items():
        setattr(row, name, value)
    act_subject("dataset", data_id, **changes)
    row.save()
    return row


@service(P.OPERATE)
def dataset_remove(*, actor: Actor, tenant: Tenant | None, data_id: str) -> None:
    """Forget data and where its copies lie; the files stay where they are. Raises NotFound, Forbidden,
    DatasetInUse while a job that has not ended reads it."""
    row = _locked(tenant, data_id, actor=actor)
    _unread_check(_("It is read by the job %(job)s."), row.tasks.filter(task__job__state__in=OPEN))
    row.delete()


@service(P.OPERATE)
def dataset_copy_set(*, actor: Actor, tenant: Tenant | None, data_id: str, copy: CopyFacts) -> DatasetCopy:
    """Say that a centre holds a copy of data, or what is otherwise about it now: it was seen now. Raises NotFound,
    Forbidden, InvalidInput by the names of table 6, Conflict."""
    row = _locked(tenant, data_id, actor=actor)
    act_subject("dataset", data_id, center=copy.ai_center_id[:64], address=copy.address[:200])
    faults_raise(copy_faults(copy))
    if row.copies.exclude(center__ai_center_id=copy.ai_center_id).count() >= MOST_COPIES:
        raise Conflict(_("There are %(most)s copies of it, and no more are kept.") % {"most": MOST_COPIES})
    return _copy_keep(row, copy, "ai_center_id")


@service(P.OPERATE)
def dataset_copy_remove(*, actor: Actor, tenant: Tenant | None, data_id: str, ai_center_id: str) -> None:
    """A centre holds no copy of data any more; a file that is there stays. Raises NotFound, Forbidden,
    DatasetInUse while work there reads it."""
    row = _locked(tenant, data_id, actor=actor)
    act_subject("dataset", data_id, center=ai_center_id[:64])
    found = row.copies.filter(center__ai_center_id=ai_center_id) if ai_center_id.isprintable() else None
    if found is None or not found.exists():
        raise NotFound(
            _("There is no copy of %(data)s at %(center)s.") % {"data": row, "center": ai_center_id[:64]}
        )
    running = Q(task__attempts__state__in=OPEN, task__attempts__ai_center_id=ai_center_id)
    _unread_check(_("The job %(job)s reads it there."), row.tasks.filter(running))
    found.delete()


def center_removed_check(ai_center_id: str) -> None:
    """CenterInUse while a copy lies at a centre that is to leave the network."""
    names = datasets_at(ai_center_id, _NAMED)
    if names:
        raise CenterInUse(
            _("Copies of data lie there: %(data)s.") % {"data": ", ".join(names)},
            cure=_("Remove these copies from the pages of their data first."),
        )


_FACTS = tuple(field.name for field in fields(DatasetFacts))


def _columns(facts: DatasetFacts) -> dict[str, Any]:
    return {name: getattr(facts, name) for name in _FACTS}


def _public_check(actor: Actor, tenant: Tenant | None) -> None:
    if tenant is None:
        actor.require(CentersPermission.MANAGE)


def _locked(tenant: Tenant | None, data_id: str, *, actor: Actor) -> Dataset:
    """The row of data that the actor may change: what lies where is not changed beside him."""
    act_subject("dataset", data_id[:64])
    _public_check(actor, tenant)
    rows = Dataset.objects.select_for_update(of=("self",), no_key=True).select_related("tenant")
    seen = rows.filter(datasets_seen(tenant, actor), data_id=data_id)
    row = seen.first() if data_id.isprintable() else None
    if row is None:
        raise NotFound(_("There is no data %(data)s.") % {"data": data_id[:64]})
    act_subject("dataset", data_id, name=str(row))
    if row.tenant != tenant:
        cure = _("Ask an operator.") if row.tenant is None else _("Enter its tenant first.")
        owner = _("the centre") if row.tenant is None else row.tenant.name
        raise Forbidden(_("%(data)s is kept by %(owner)s.") % {"data": row, "owner": owner}, cure=cure)
    return row


def _unread_check(said: str, rows: QuerySet[TaskData]) -> None:
    reader = rows.select_related("task__job").order_by("pk").first()
    if reader is not None:
        raise DatasetInUse(said % {"job": reader.task.job.name})


def _places_faults(copies: Sequence[CopyFacts]) -> dict[str, str]:
    faults: dict[str, str] = {}
    if len(copies) > MOST_COPIES:
        faults["location"] = _("At most %(most)s.") % {"most": MOST_COPIES}
    seen: set[str] = set()
    for number, copy in enumerate(copies):
        if copy.ai_center_id in seen:
            faults[f"location.{number}.ai_center_id"] = _("A centre holds one copy. Name it once.")
        seen.add(copy.ai_center_id)
    return faults


def _room_check(tenant: Tenant | None) -> None:
    with connection.cursor() as cursor:
        # What is entered at the same time is counted, too.
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [_LOCK, 0 if tenant is None else tenant.pk])
    if Dataset.objects.filter(tenant=tenant).count() >= MOST_DATASETS:
        raise TooManyDatasets(_("There are %(most)s datasets.") % {"most": MOST_DATASETS})


def _copy_keep(row: Dataset, copy: CopyFacts, field: str) -> DatasetCopy:
    code = copy.ai_center_id
    center = center_held(code, row.tenant.schema_name if row.tenant else "")
    if center is None:
        raise InvalidInput(fields={field: _("There is no centre %(code)s.") % {"code": code[:64]}})
    values = {each.name: getattr(copy, each.name) for each in fields(copy) if each.name != "ai_center_id"}
    found, _is_new = DatasetCopy.objects.update_or_create(
        dataset=row, center=center, defaults=values | {"seen_at": timezone.now()}
    )
    return found


@contextmanager
def _once(said: str) -> Iterator[None]:
    try:
        with transaction.atomic():
            yield
    except IntegrityError as error:
        raise Conflict(said, cure=_("Give it another name or version, or change what is there.")) from error
