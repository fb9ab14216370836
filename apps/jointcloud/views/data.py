"""The pages of data that jobs read: a tenant's own and the centre's, and for operators all."""

from dataclasses import asdict

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from apps.centers.permissions import CentersPermission
from apps.centers.selectors import centers_sampled
from apps.identity.pages.access import cleaned, go, page, show
from apps.identity.pages.lists.declared import Column, PageList
from apps.identity.pages.lists.pages import show_list
from apps.identity.pages.requests import PortalRequest
from apps.jointcloud.models import Dataset
from apps.jointcloud.selectors.data import dataset_get, dataset_list
from apps.jointcloud.services.data import (
    dataset_change,
    dataset_copy_remove,
    dataset_copy_set,
    dataset_make,
    dataset_remove,
)
from apps.jointcloud.views.data_forms import CopyForm, DatasetForm, DatasetsForm
from apps.scheduling.permissions import ResourcePermission as P


def _owner_said(row: Dataset) -> str:
    return _("the centre, for all") if row.tenant is None else row.tenant.name


DATASETS = PageList(
    Column("data", gettext_lazy("Data"), sort=("data_name", "data_version"), value="data_name"),
    Column("version", gettext_lazy("Version"), sort="data_version", value="data_version"),
    Column("owner", gettext_lazy("Kept by"), sort="tenant__name", value=_owner_said),
    Column("size", gettext_lazy("Size"), sort="size_bytes", value="size_bytes", unit="B"),
    Column("files", gettext_lazy("Files"), sort="files", value="files", is_extra=True),
    Column("centers", gettext_lazy("At centres"), sort="copy_count", value=lambda row: _centers_said(row)),
    Column("changed", gettext_lazy("Changed at"), sort="updated_at", value="updated_at"),
    order="data",
)


def _centers_said(row: Dataset) -> str:
    return ", ".join(copy.center.name for copy in row.copies.all())


def _may_change(request: PortalRequest, row: Dataset | None = None) -> bool:
    """Whether the reader may change this data; without any, enter some."""
    tenant, actor = request.entered_tenant, request.actor
    is_kept_here = row is None or row.tenant == tenant
    wanted = (P.OPERATE, CentersPermission.MANAGE) if tenant is None else (P.OPERATE,)
    return is_kept_here and all(map(actor.may, wanted))


@page(P.VIEW, plane="both")
def datasets(request: PortalRequest) -> HttpResponseBase:
    """The data that jobs can read, and at which centres it lies (JC-6.3.1-1)."""
    chosen = cleaned(DatasetsForm(request.GET))
    rows = dataset_list(request.entered_tenant, actor=request.actor, **chosen)
    context = {"chosen": chosen, "may_make": _may_change(request)}
    return show_list(request, "jointcloud/datasets", DATASETS, rows, context)


@page(P.VIEW, plane="both")
def dataset(request: PortalRequest, data_id: str) -> HttpResponse:
    """One dataset and its copies."""
    row = dataset_get(request.entered_tenant, data_id, actor=request.actor)
    copies = list(row.copies.all())
    named = request.GET.get("center", "")
    changed = next((copy for copy in copies if copy.center.ai_center_id == named), None)
    may_change = _may_change(request, row)
    context = {
        "dataset": row,
        "copies": copies,
        "owner": _owner_said(row),
        "form": DatasetForm(row=row) if may_change else None,
        "copy_form": CopyForm(centers=centers_sampled(request.actor.tenant), row=changed)
        if may_change
        else None,
    }
    return show(request, "jointcloud/dataset", context)


@require_http_methods(["GET", "HEAD", "POST"])
@page(P.OPERATE, plane="both")
def dataset_new(request: PortalRequest) -> HttpResponse:
    """Enter data: an operator in no tenant the centre's."""
    if request.entered_tenant is None:
        request.actor.require(CentersPermission.MANAGE)
    if request.method != "POST":
        return show(request, "jointcloud/dataset_new", {"form": DatasetForm()})
    form = DatasetForm(request.POST)
    given = cleaned(form)
    row = dataset_make(
        actor=request.actor,
        tenant=request.entered_tenant,
        data_name=given["data_name"],
        data_version=given["data_version"],
        facts=form.facts(given),
    )
    messages.success(request, _("Now say at which centres %(data)s lies.") % {"data": row})
    return go(request, "jointcloud:dataset", row.data_id)


@require_POST
@page(P.OPERATE, plane="both")
def change(request: PortalRequest, data_id: str) -> HttpResponse:
    """Change what is said of data."""
    row = dataset_get(request.entered_tenant, data_id, actor=request.actor)
    form = DatasetForm(request.POST, row=row)
    facts = form.facts(cleaned(form))
    dataset_change(actor=request.actor, tenant=request.entered_tenant, data_id=data_id, **asdict(facts))
    messages.success(request, _("%(data)s is changed.") % {"data": row})
    return go(request, "jointcloud:dataset", data_id)


@require_POST
@page(P.OPERATE, plane="both")
def remove(request: PortalRequest, data_id: str) -> HttpResponse:
    """Forget data and where its copies lie."""
    row = dataset_get(request.entered_tenant, data_id, actor=request.actor)
    dataset_remove(actor=request.actor, tenant=request.entered_tenant, data_id=data_id)
    messages.success(request, _("%(data)s is forgotten; its files stay.") % {"data": row})
    return go(request, "jointcloud:datasets")


@require_POST
@page(P.OPERATE, plane="both")
def copy(request: PortalRequest, data_id: str) -> HttpResponse:
    """Say that a centre holds a copy, or what is otherwise about it."""
    form = CopyForm(request.POST, centers=centers_sampled(request.actor.tenant))
    row = dataset_copy_set(
        actor=request.actor, tenant=request.entered_tenant, data_id=data_id, copy=form.copy(cleaned(form))
    )
    messages.success(request, _("The copy at %(center)s is kept.") % {"center": row.center})
    return go(request, "jointcloud:dataset", data_id)


@require_POST
@page(P.OPERATE, plane="both")
def copy_remove(request: PortalRequest, data_id: str, ai_center_id: str) -> HttpResponse:
    """A centre holds no copy any more."""
    dataset_copy_remove(
        actor=request.actor, tenant=request.entered_tenant, data_id=data_id, ai_center_id=ai_center_id
    )
    messages.success(request, _("Jobs look for this data there no more; a file that is there stays."))
    return go(request, "jointcloud:dataset", data_id)
