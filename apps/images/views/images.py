"""My images: what work can run in, and archives made into images; for operators those of the centre and of all."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy
from django.views.decorators.http import require_POST, require_safe

from apps.identity.pages.access import cleaned, filter_query, go, operator_page, page, show
from apps.identity.pages.lists.declared import Column, PageList, ranked
from apps.identity.pages.lists.pages import show_list
from apps.identity.pages.picks import OFFERED, picks_shown
from apps.identity.pages.requests import PortalRequest, TenantRequest
from apps.images.forms import OWNERS, ImageForm, ImagesForm, ImportForm, PlaceForm, SaveForm
from apps.images.models import TAG_MAX, ImageVersion
from apps.images.permissions import ImagePermission as P
from apps.images.selectors import (
    image_get,
    image_list,
    image_picks,
    image_uids_kept,
    version_get,
    versions_saved,
)
from apps.images.services.images import image_change, image_delete, version_delete, version_publish
from apps.images.services.imports import image_import
from apps.images.services.saves import image_save, save_check
from apps.images.states import ON_THE_WAY
from apps.images.states import Owner as ImageOwner
from apps.scheduling.selectors.entitlements.quotas import quota_organizations


@page(P.VIEW)
def images(request: TenantRequest) -> HttpResponseBase:
    """The images that the reader may run (PLAT-ASSET-4)."""
    return _list(request, "images/images")


@operator_page(P.VIEW)
def all_images(request: PortalRequest) -> HttpResponseBase:
    """The images of the centre and of all tenants."""
    return _list(request, "images/all_images")


IMAGES = PageList(
    Column("name", pgettext_lazy("thing", "Name"), sort="name", value="name"),
    Column(
        "owner", gettext_lazy("Owner"), sort=ranked("owner", ImageOwner.values), value="get_owner_display"
    ),
    Column("versions", gettext_lazy("Versions"), sort="version_count", value="version_count"),
    Column("size", gettext_lazy("Size"), sort="size_bytes", value="size_bytes", unit=gettext_lazy("bytes")),
    Column("newest", gettext_lazy("Newest"), sort="newest_at", value="newest_at"),
    order="name",
)


def _list(request: PortalRequest, template: str) -> HttpResponseBase:
    chosen = cleaned(ImagesForm(request.GET))
    context = {
        "chosen": chosen,
        "filter": filter_query(chosen),
        "owners": OWNERS,
        "may_use": request.actor.may(P.USE) and not request.actor.is_read_only,
    }
    return show_list(request, template, IMAGES, image_list(actor=request.actor, **chosen), context)


@require_safe
@page(P.VIEW)
def picks(request: TenantRequest) -> HttpResponse:
    """What a field of work offers: versions of images that the reader may run."""
    return picks_shown(request, lambda words: image_picks(request.actor, words, OFFERED + 1))


@page(P.VIEW)
def image(request: TenantRequest, uid: UUID) -> HttpResponse:
    """An image with its text, its versions and the files that each is made of (PLAT-ASSET-4)."""
    return _detail(request, "images/image", uid)


@operator_page(P.VIEW)
def any_image(request: PortalRequest, uid: UUID) -> HttpResponse:
    return _detail(request, "images/any_image", uid)


def _detail(request: PortalRequest, template: str, uid: UUID) -> HttpResponse:
    row = image_get(actor=request.actor, uid=uid)
    versions = list(row.versions.all())
    context = {
        "image": row,
        "versions": versions,
        "is_moving": _is_moving(versions),
        "may_keep": row.uid in image_uids_kept(request.actor),
        "may_publish": request.actor.may(P.MANAGE) and not request.actor.tenant and row.owner != "centre",
        "form": ImageForm(initial={"name": row.name, "introduction": row.introduction}),
    }
    return show(request, template, context)


@page(P.USE)
def new(request: TenantRequest) -> HttpResponse:
    """Take an archive out of a volume as a version of an image."""
    if request.method == "POST":
        row = image_import(
            actor=request.actor, tenant=request.entered_tenant, **_given(ImportForm(request.POST))
        )
        messages.success(request, _("%(image)s is being checked.") % {"image": str(row)})
        return go(request, "images:image", row.image.uid)
    place = cleaned(PlaceForm(request.GET))
    name = place["path"].rpartition("/")[2].partition(".")[0].lower()
    may_manage = request.actor.may(P.MANAGE)
    tenant = request.entered_tenant
    context = {
        "place": place,
        "form": ImportForm(initial={"name": name, "tag": "latest"}),
        "may_manage": may_manage,
        "organizations": quota_organizations(tenant) if may_manage else {},
    }
    return show(request, "images/new", context)


@page(P.USE)
def save(request: TenantRequest, uid: UUID) -> HttpResponse:
    """Save running work as a version of an image."""
    if request.method == "POST":
        given = cleaned(SaveForm(request.POST))
        row = image_save(actor=request.actor, tenant=request.entered_tenant, workload_uid=uid, **given)
        messages.success(request, _("%(image)s is being saved.") % {"image": str(row)})
        return go(request, "workloads:workload", uid)
    work = save_check(request.actor, request.entered_tenant, uid)
    name, _sign, tag = str(work.work["image"]["name"]).partition(":")
    may_manage = request.actor.may(P.MANAGE)
    context = {
        "work": work,
        "form": SaveForm(initial={"name": name, "tag": f"{tag}-{work.no.lower()}"[:TAG_MAX]}),
        "may_manage": may_manage,
        "organizations": quota_organizations(request.entered_tenant) if may_manage else {},
    }
    return show(request, "images/save", context)


@page(P.VIEW)
def saved(request: TenantRequest, uid: UUID) -> HttpResponse:
    """The versions that work was saved as, and how far each is."""
    versions = versions_saved(actor=request.actor, tenant=request.entered_tenant, workload_uid=uid)
    context = {"work_uid": uid, "versions": versions, "is_moving": _is_moving(versions)}
    return render(request, "images/_saved.html", context)


def _is_moving(versions: list[ImageVersion]) -> bool:
    return any(version.state in ON_THE_WAY for version in versions)


def _given(form: ImportForm) -> dict[str, Any]:
    given = cleaned(form)
    return given | {"volume": str(given["volume"])}


@require_POST
@page(P.USE)
def change(request: TenantRequest, uid: UUID) -> HttpResponse:
    row = image_change(actor=request.actor, uid=uid, **cleaned(ImageForm(request.POST)))
    messages.success(request, _("The image %(name)s was changed.") % {"name": row.name})
    return go(request, "images:image", row.uid)


@require_POST
@page(P.USE)
def delete(request: TenantRequest, uid: UUID) -> HttpResponse:
    return _deleted(request, uid, "images:images")


@require_POST
@operator_page(P.MANAGE)
def any_delete(request: PortalRequest, uid: UUID) -> HttpResponse:
    return _deleted(request, uid, "images_admin:images")


def _deleted(request: PortalRequest, uid: UUID, to: str) -> HttpResponse:
    name = image_get(actor=request.actor, uid=uid).name
    image_delete(actor=request.actor, uid=uid)
    messages.success(request, _("The image %(name)s is deleted with all its versions.") % {"name": name})
    return go(request, to)


@require_POST
@page(P.USE)
def remove(request: TenantRequest, uid: UUID) -> HttpResponse:
    return _removed(request, uid, "images:image")


@require_POST
@operator_page(P.MANAGE)
def any_remove(request: PortalRequest, uid: UUID) -> HttpResponse:
    return _removed(request, uid, "images_admin:image")


def _removed(request: PortalRequest, uid: UUID, to: str) -> HttpResponse:
    row = version_get(actor=request.actor, uid=uid)
    version_delete(actor=request.actor, uid=uid)
    messages.success(request, _("%(image)s is deleted.") % {"image": str(row)})
    return go(request, to, row.image.uid)


@require_POST
@operator_page(P.MANAGE)
def publish(request: PortalRequest, uid: UUID) -> HttpResponse:
    row = version_publish(actor=request.actor, uid=uid)
    messages.success(request, _("%(image)s is offered to everybody.") % {"image": str(row)})
    return go(request, "images_admin:image", row.image.uid)
