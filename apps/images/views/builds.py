"""Builds: images made of a Containerfile."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from apps.identity.pages.access import cleaned, go, page, show
from apps.identity.pages.lists.declared import Column, PageList
from apps.identity.pages.lists.pages import show_list
from apps.identity.pages.requests import TenantRequest
from apps.images.forms import BuildForm
from apps.images.permissions import ImagePermission as P
from apps.images.selectors import build_get, build_list, versions_opened
from apps.images.services.builds import BuildRequest, build_cancel, image_build
from apps.scheduling.selectors.entitlements.quotas import quota_organizations
from apps.scheduling.selectors.entitlements.resource_tickets import queue_list_of

_BASES = 100


BUILDS = PageList(
    Column("image", gettext_lazy("Image"), sort="name", value="name"),
    Column("base", gettext_lazy("Built upon"), sort="base", value="base", is_extra=True),
    Column("state", gettext_lazy("State"), sort="state", value="shown_label"),
    Column("steps", gettext_lazy("Build steps"), sort="steps", value="steps"),
    Column("asked", gettext_lazy("Asked for"), sort="created_at", value="created_at"),
    Column(
        "person",
        gettext_lazy("By whom"),
        sort="made_by__display_name",
        value="made_by.display_name",
        is_extra=True,
    ),
    order="-asked",
)


@page(P.VIEW)
def builds(request: TenantRequest) -> HttpResponseBase:
    """The reader's builds, the newest first."""
    rows = build_list(actor=request.actor, tenant=request.entered_tenant)
    return show_list(request, "images/builds", BUILDS, rows, {"may_use": _may_use(request)})


def _may_use(request: TenantRequest) -> bool:
    return request.actor.may(P.USE) and not request.actor.is_read_only


@page(P.USE)
def new(request: TenantRequest) -> HttpResponse:
    """Build an image from a Containerfile."""
    tenant = request.entered_tenant
    if request.method == "POST":
        row = image_build(actor=request.actor, tenant=tenant, asked=_asked(BuildForm(request.POST)))
        messages.success(request, _("%(image)s is being built.") % {"image": row.name})
        return go(request, "images:build", row.uid)
    bases = [str(version) for version in versions_opened(request.actor)[:_BASES]]
    may_manage = request.actor.may(P.MANAGE)
    context = {
        "form": BuildForm(initial={"name": "", "tag": "latest"}),
        "bases": bases,
        "queues": queue_list_of(tenant, request.actor.user_id),
        "may_manage": may_manage,
        "organizations": quota_organizations(tenant) if may_manage else {},
    }
    return show(request, "images/build_new", context)


def _asked(form: BuildForm) -> BuildRequest:
    given: dict[str, Any] = cleaned(form)
    return BuildRequest(run_timeout_s=given.pop("minutes") * 60, **given)


@page(P.VIEW)
def build(request: TenantRequest, uid: UUID) -> HttpResponse:
    """A build: how far it is, its Containerfile by lines, and what its steps print."""
    row = build_get(actor=request.actor, tenant=request.entered_tenant, uid=uid)
    lines = [
        {"number": number, "text": text, "is_failed": number == row.failed_line}
        for number, text in enumerate(row.containerfile.splitlines(), 1)
    ]
    is_own = row.made_by_id == request.actor.user_id
    return show(request, "images/build", {"build": row, "lines": lines, "is_own": is_own})


@require_POST
@page(P.USE)
def cancel(request: TenantRequest, uid: UUID) -> HttpResponse:
    row = build_cancel(actor=request.actor, tenant=request.entered_tenant, uid=uid)
    messages.success(request, _("The build of %(image)s is cancelled.") % {"image": row.name})
    return go(request, "images:build", row.uid)
