"""My models, datasets and algorithms: lists, an asset with its versions and files, publishing; and the operators' list
of all tenants' assets, with nothing to change and nothing to open."""

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy
from django.views.decorators.http import require_GET, require_POST, require_safe

from apps.assets.across_tenants import VIEW, AssetsAcross
from apps.assets.forms import (
    SIZES,
    AssetNewForm,
    AssetsAcrossForm,
    AssetsForm,
    DescriptionForm,
    PlaceForm,
    VersionForm,
)
from apps.assets.labels import platform_names, problem_sentence
from apps.assets.models import Asset
from apps.assets.mounts import asset_picks
from apps.assets.selectors import (
    asset_get,
    asset_list,
    may_keep,
    version_file,
    version_files,
    version_get,
    version_list,
)
from apps.assets.services.assets import asset_change, asset_delete, asset_make
from apps.assets.services.versions import version_delete, version_publish
from apps.assets.states import AssetKind, VersionState
from apps.identity.pages.access import cleaned, filter_query, go, operator_page, page, paged, show
from apps.identity.pages.lists.declared import Column, PageList, ranked
from apps.identity.pages.lists.pages import show_list
from apps.identity.pages.picks import OFFERED, picks_shown
from apps.identity.pages.requests import PortalRequest, TenantRequest
from apps.storage.file_answers import file_answer
from apps.storage.permissions import StoragePermission as P
from apps.storage.selectors import opened_uids, volume_list
from apps.tenancy.selectors import tenant_list

ASSETS = PageList(
    Column("name", pgettext_lazy("thing", "Name"), sort="name", value="name"),
    Column("kind", gettext_lazy("Kind"), sort=ranked("kind", AssetKind.values), value="get_kind_display"),
    Column("newest", gettext_lazy("Newest version"), sort="newest", value="newest"),
    Column("platform", gettext_lazy("Platform"), value=lambda row: ", ".join(row.platforms)),
    Column("owner", gettext_lazy("Owner"), sort="owner__display_name", value="owner.display_name"),
    Column("tags", gettext_lazy("Tags"), value=lambda row: ", ".join(row.tags), is_extra=True),
    Column("created", gettext_lazy("Created"), sort="created_at", value="created_at", is_extra=True),
    order="name",
    places=("kind",),
)


@page(P.VIEW)
def assets(request: TenantRequest) -> HttpResponseBase:
    """The assets that the reader may use, by kind (PLAT-ASSET-2, PLAT-ASSET-3, PLAT-ASSET-5)."""
    chosen = cleaned(AssetsForm(request.GET))
    names = platform_names()

    def name_platforms(rows: Sequence[Asset]) -> None:
        for row in rows:
            row.platforms = [names.get(code, code) for code in row.platforms]  # type: ignore[attr-defined]

    context = {
        "chosen": chosen,
        "others": filter_query({name: chosen[name] for name in ("search", "reach", "tag", "platform")}),
        "platforms": names,
        "form": AssetNewForm(initial={"kind": chosen["kind"]}),
        "may_use": request.actor.may(P.USE) and not request.actor.is_read_only,
    }
    rows = asset_list(actor=request.actor, **chosen)
    return show_list(request, "assets/assets", ASSETS, rows, context, prepare=name_platforms)


@require_safe
@page(P.VIEW)
def picks(request: TenantRequest) -> HttpResponse:
    """What a field of work offers: assets with a version that is ready."""
    return picks_shown(request, lambda words: asset_picks(request.actor, words, OFFERED + 1))


@require_POST
@page(P.USE)
def asset_new(request: TenantRequest) -> HttpResponse:
    row = asset_make(actor=request.actor, **cleaned(AssetNewForm(request.POST)))
    messages.success(request, _("%(name)s created: publish its first version.") % {"name": row.name})
    return go(request, "assets:asset", row.uid)


@page(P.VIEW)
def asset(request: TenantRequest, uid: UUID) -> HttpResponse:
    """An asset: its introduction, its versions, and the files of one of them."""
    row = asset_get(actor=request.actor, uid=uid)
    chosen = cleaned(PlaceForm(request.GET))
    versions = list(version_list(actor=request.actor, asset=row))
    is_kept = may_keep(request.actor, row)
    context: dict[str, Any] = {
        "asset": row,
        "versions": [(one, problem_sentence(one)) for one in versions],
        "is_copying": any(one.state == VersionState.COPYING for one in versions),
        "may_keep": is_kept,
        "form": DescriptionForm(
            initial={"introduction": row.introduction, "tags": ", ".join(row.tags), "reach": row.reach}
        ),
        "volumes": _volumes(request) if is_kept else (),
    }
    if chosen["version"] or any(one.state == VersionState.READY for one in versions):
        context |= _files(request, row, chosen)
    return show(request, "assets/asset", context)


def _files(request: TenantRequest, row: Asset, chosen: dict[str, Any]) -> dict[str, Any]:
    version = version_get(actor=request.actor, asset=row, number=chosen["version"])
    listing = version_files(actor=request.actor, version=version, path=chosen["path"], after=chosen["after"])
    names = listing.path.split("/") if listing.path else []
    here = reverse("assets:asset", args=[row.uid])
    return {
        "version": version,
        "files_url": f"{here}?version={version.number}&path=",
        "listing": listing,
        "prefix": f"{listing.path}/" if listing.path else "",
        "above": [(name, "/".join(names[: depth + 1])) for depth, name in enumerate(names)],
    }


def _volumes(request: TenantRequest) -> Any:
    return volume_list(actor=request.actor).filter(uid__in=opened_uids(request.actor))


@require_POST
@page(P.USE)
def change(request: TenantRequest, uid: UUID) -> HttpResponse:
    row = asset_change(actor=request.actor, uid=uid, **cleaned(DescriptionForm(request.POST)))
    messages.success(request, _("%(name)s was changed.") % {"name": row.name})
    return go(request, "assets:asset", uid)


@require_POST
@page(P.USE)
def delete(request: TenantRequest, uid: UUID) -> HttpResponse:
    name = asset_get(actor=request.actor, uid=uid).name
    asset_delete(actor=request.actor, uid=uid)
    messages.success(request, _("%(name)s is deleted with all its versions.") % {"name": name})
    return go(request, "assets:assets")


@require_POST
@page(P.USE)
def publish(request: TenantRequest, uid: UUID) -> HttpResponse:
    given = cleaned(VersionForm(request.POST))
    row = version_publish(
        actor=request.actor,
        asset_uid=uid,
        volume_uid=given["volume"],
        path=given["path"],
        note=given["note"],
    )
    messages.success(request, _("Version %(number)s is being copied.") % {"number": row.number})
    return go(request, "assets:asset", uid)


@require_POST
@page(P.USE)
def version_remove(request: TenantRequest, uid: UUID, number: int) -> HttpResponse:
    version_delete(actor=request.actor, asset_uid=uid, number=number)
    messages.success(request, _("Version %(number)s is deleted.") % {"number": number})
    return go(request, "assets:asset", uid)


@page(P.VIEW)
def download(request: TenantRequest, uid: UUID, number: int) -> HttpResponseBase:
    path = cleaned(PlaceForm(request.GET))["path"]
    row = asset_get(actor=request.actor, uid=uid)
    version = version_get(actor=request.actor, asset=row, number=number)
    file = version_file(actor=request.actor, version=version, path=path)
    return file_answer(request, file, name=PurePosixPath(path).name)


# --- all tenants' --------------------------------------------------------------------------------------------------


@require_GET
@operator_page(VIEW)
def all_assets(request: PortalRequest) -> HttpResponse:
    """Assets by tenant, kind, platform, size and words (PLAT-ASSET-8)."""
    form = AssetsAcrossForm(request.GET)
    chosen = cleaned(form)
    rows = paged(
        request,
        AssetsAcross(
            actor=request.actor,
            tenant=chosen["tenant"],
            kind=chosen["kind"],
            platform=chosen["platform"],
            least_bytes=form.least_bytes(),
            search=chosen["search"],
        ),
    )
    names = platform_names()
    for row in rows:
        row.places = ", ".join(names.get(code, code) for code in row.platforms)
    context = {
        "rows": rows,
        "chosen": chosen,
        "kinds": AssetKind.choices,
        "tenants": tenant_list(),
        "platforms": names.items(),
        "sizes": SIZES,
        "is_narrowed": any(chosen.values()),
    }
    return show(request, "assets/all_assets", context)
