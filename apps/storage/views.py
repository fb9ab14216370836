"""My files: volumes, and the folders and files in them, which a browser uploads by the API."""

from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.centre.storage_classes import storage_classes_open
from apps.identity.pages.access import cleaned, go, page, paged, show
from apps.identity.pages.lists.declared import Column, PageList, ranked
from apps.identity.pages.lists.pages import show_list
from apps.identity.pages.picks import OFFERED, picks_shown
from apps.identity.pages.requests import TenantRequest
from apps.kernel.errors import WeirError
from apps.orgs.selectors.organizations import organization_list
from apps.storage.addresses import object_origin
from apps.storage.file_answers import file_answer
from apps.storage.forms import (
    AccessKeyForm,
    FolderForm,
    PathForm,
    RenameForm,
    VolumeForm,
    VolumeNewForm,
    VolumesForm,
)
from apps.storage.labels import output_sentence
from apps.storage.models import Volume
from apps.storage.mounts import volume_picks
from apps.storage.permissions import StoragePermission as P
from apps.storage.previews import IMAGE_TYPES, PreviewKind, preview_of
from apps.storage.selectors import (
    Listing,
    access_key_list,
    entry_get,
    file_open,
    folder_list,
    kept_uids,
    opened_uids,
    output_list,
    upload_list,
    volume_get,
    volume_list,
    volume_open,
)
from apps.storage.services.access_keys import DAYS_MOST, DAYS_SHOWN, access_key_make
from apps.storage.services.access_keys import access_key_revoke as access_key_end
from apps.storage.services.files import file_move, file_remove, folder_make
from apps.storage.services.uploads import piece_bytes
from apps.storage.services.volumes import volume_change, volume_delete, volume_make
from apps.storage.states import OutputState, Owner

OUTPUTS_SHOWN = 20


def owner_text(row: Any) -> str:
    """Whose a volume is, in the reader's language."""
    if row.owner == Owner.TENANT:
        return str(row.get_owner_display())
    owner = row.person if row.owner == Owner.PERSON else row.organization
    return str(owner) if owner is not None else _("an organization that is no more")


VOLUMES = PageList(
    Column("name", pgettext_lazy("thing", "Name"), sort="name", value="name"),
    Column("owner", gettext_lazy("Owner"), sort=ranked("owner", Owner.values), value=owner_text),
    Column("used", gettext_lazy("Used"), sort="used_bytes", value="used_bytes", unit=gettext_lazy("bytes")),
    Column("size", gettext_lazy("Size"), sort="size_mib", value="size_mib", unit="MiB", is_extra=True),
    Column("order", gettext_lazy("Order"), sort="order_no", value="order_no", is_extra=True),
    Column("kept", gettext_lazy("Files kept until"), sort="kept_until", value="kept_until", is_extra=True),
    Column("created", gettext_lazy("Created"), sort="created_at", value="created_at"),
    order="name",
)


@page(P.VIEW)
def volumes(request: TenantRequest) -> HttpResponseBase:
    """The volumes that the reader may open (PLAT-ASSET-6)."""
    chosen = cleaned(VolumesForm(request.GET))
    context = {
        "opened": opened_uids(request.actor),
        "chosen": chosen,
        "form": VolumeNewForm(),
        "storage_classes": storage_classes_open(),
        "may_use": _may_use(request),
        "may_manage": request.actor.may(P.MANAGE),
        "organizations": organization_list(actor=request.actor) if request.actor.may(P.MANAGE) else (),
    }
    rows = volume_list(actor=request.actor, **chosen)
    return show_list(request, "storage/volumes", VOLUMES, rows, context)


@page(P.VIEW)
def choices(request: TenantRequest) -> HttpResponse:
    """A part of other pages: the volumes that the reader may mount into what he starts there, and which of them are
    `chosen` already."""
    opened = opened_uids(request.actor)
    rows = volume_list(actor=request.actor).filter(uid__in=opened)
    context = {"rows": rows, "chosen": request.GET.getlist("chosen")}
    return render(request, "storage/_choices.html", context)


@require_safe
@page(P.VIEW)
def picks(request: TenantRequest, *, are_kept_in: bool = False) -> HttpResponse:
    """What a field of work offers: volumes to mount, or those that can keep what work leaves."""
    return picks_shown(
        request, lambda words: volume_picks(request.actor, words, OFFERED + 1, are_kept_in=are_kept_in)
    )


@page(P.VIEW)
def outputs(request: TenantRequest, uid: UUID) -> HttpResponse:
    """A part of a workload's page: what it left, and the beginning of each share's files."""
    opened = opened_uids(request.actor)
    shares = []
    for row in output_list(actor=request.actor, workload_uid=uid):
        volume = row.volume if row.volume is not None and row.volume.uid in opened else None
        is_there = volume is not None and row.state == OutputState.KEPT
        listing = _output_files(request, volume, row.path) if is_there and volume is not None else None
        told = {"sentence": output_sentence(row), "place": quote(f"{row.path}/", safe="")}
        shares.append({"row": row, "volume": volume, "listing": listing, **told})
    return render(request, "storage/_outputs.html", {"shares": shares})


def _output_files(request: TenantRequest, volume: Volume, path: str) -> Listing | None:
    """What lies there now; None where it was deleted."""
    try:
        return folder_list(actor=request.actor, volume=volume, path=path, most=OUTPUTS_SHOWN)
    except WeirError:
        return None


@require_POST
@page(P.USE)
def volume_new(request: TenantRequest) -> HttpResponse:
    given = cleaned(VolumeNewForm(request.POST))
    row = volume_make(actor=request.actor, **given)
    messages.success(request, _("Volume %(name)s created.") % {"name": row.name})
    return go(request, "files:volume", row.uid)


@page(P.VIEW)
def volume(request: TenantRequest, uid: UUID) -> HttpResponse:
    """A folder of a volume, and what may be done with the volume (PLAT-ASSET-6, PLAT-ASSET-7)."""
    row = volume_get(actor=request.actor, uid=uid)
    chosen = cleaned(PathForm(request.GET))
    is_open = row.uid in opened_uids(request.actor)
    context: dict[str, Any] = {
        "volume": row,
        "is_part": bool(request.htmx),
        "is_open": is_open,
        "may_use": is_open and row.kept_until is None and _may_use(request),
        "may_keep": row.uid in kept_uids(request.actor) and not request.actor.is_read_only,
        "form": VolumeForm(initial={"name": row.name, "size_mib": row.size_mib}),
    }
    if is_open:
        listing = folder_list(actor=request.actor, volume=row, **chosen)
        context |= {
            "listing": listing,
            "prefix": f"{listing.path}/" if listing.path else "",
            "above": _above(listing.path),
            "piece_bytes": piece_bytes(),
            "unfinished": upload_list(actor=request.actor, volume=row) if context["may_use"] else (),
        }
    return show(request, "storage/volume", context)


@require_POST
@page(P.USE)
def change(request: TenantRequest, uid: UUID) -> HttpResponse:
    row = volume_change(actor=request.actor, uid=uid, **cleaned(VolumeForm(request.POST)))
    messages.success(request, _("The volume %(name)s was changed.") % {"name": row.name})
    return go(request, "files:volume", row.uid)


@require_POST
@page(P.USE)
def delete(request: TenantRequest, uid: UUID) -> HttpResponse:
    name = volume_get(actor=request.actor, uid=uid).name
    volume_delete(actor=request.actor, uid=uid)
    messages.success(request, _("The volume %(name)s is deleted with all that was in it.") % {"name": name})
    return go(request, "files:volumes")


@require_POST
@page(P.USE)
def folder_new(request: TenantRequest, uid: UUID) -> HttpResponse:
    given = cleaned(FolderForm(request.POST))
    path = "/".join(filter(None, (given["folder"], given["name"])))
    folder_make(actor=request.actor, volume_uid=uid, path=path)
    return _to_folder(request, uid, given["folder"])


@require_POST
@page(P.USE)
def rename(request: TenantRequest, uid: UUID) -> HttpResponse:
    given = cleaned(RenameForm(request.POST))
    file_move(actor=request.actor, volume_uid=uid, path=given["path"], to=given["to"])
    messages.success(request, _("%(path)s is now %(to)s.") % given)
    return _to_folder(request, uid, _folder_of(given["path"]))


@require_POST
@page(P.USE)
def remove(request: TenantRequest, uid: UUID) -> HttpResponse:
    path = cleaned(PathForm(request.POST))["path"]
    file_remove(actor=request.actor, volume_uid=uid, path=path)
    messages.success(request, _("%(path)s is deleted.") % {"path": path})
    return _to_folder(request, uid, _folder_of(path))


@page(P.VIEW)
def download(request: TenantRequest, uid: UUID) -> HttpResponseBase:
    row, path = _named(request, uid)
    file = file_open(actor=request.actor, volume=row, path=path)
    return file_answer(request, file, name=PurePosixPath(path).name)


@page(P.VIEW)
def file(request: TenantRequest, uid: UUID) -> HttpResponse:
    """One file: its facts, and what it looks like where that is text or an image."""
    row, path = _named(request, uid)
    entry = entry_get(actor=request.actor, volume=row, path=path)
    context = {
        "volume": row,
        "path": path,
        "entry": entry,
        "folder": _folder_of(path),
        "above": _above(_folder_of(path)),
        "preview": preview_of(actor=request.actor, volume=row, path=path, entry=entry),
        "may_use": _may_use(request),
        # Images are made of such files.
        "may_image": path.endswith(".tar")
        and request.actor.may("images.use")
        and not request.actor.is_read_only,
    }
    return show(request, "storage/file", context)


@page(P.VIEW)
def image(request: TenantRequest, uid: UUID) -> HttpResponseBase:
    """An image as a page shows it; anything else is a download."""
    row, path = _named(request, uid)
    entry = entry_get(actor=request.actor, volume=row, path=path)
    found = preview_of(actor=request.actor, volume=row, path=path, entry=entry)
    name = PurePosixPath(path).name
    content_type = IMAGE_TYPES[PurePosixPath(path).suffix.lower()] if found.kind == PreviewKind.IMAGE else ""
    opened = file_open(actor=request.actor, volume=row, path=path)
    return file_answer(request, opened, name=name, content_type=content_type)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@page(P.VIEW)
def access_keys(request: TenantRequest) -> HttpResponse:
    """The reader's access keys; the secret of one that is made is shown in this answer alone."""
    made, secret = None, ""
    if request.method == "POST":
        made, secret = access_key_make(actor=request.actor, **cleaned(AccessKeyForm(request.POST)))
    context = {
        "rows": paged(request, access_key_list(actor=request.actor)),
        "made": made,
        "secret": secret,
        "address": object_origin(request),
        "days": DAYS_SHOWN,
        "days_most": DAYS_MOST,
    }
    return show(request, "storage/access_keys", context)


@require_POST
@page(P.VIEW)
def access_key_revoke(request: TenantRequest, uid: UUID) -> HttpResponse:
    access_key_end(actor=request.actor, uid=uid)
    messages.success(request, _("The access key is revoked: it opens nothing any more."))
    return go(request, "files:access_keys")


def _named(request: TenantRequest, uid: UUID) -> tuple[Volume, str]:
    path: str = cleaned(PathForm(request.GET))["path"]
    return volume_open(actor=request.actor, uid=uid), path


def _may_use(request: TenantRequest) -> bool:
    return request.actor.may(P.USE) and not request.actor.is_read_only


def _folder_of(path: str) -> str:
    return path.removesuffix("/").rpartition("/")[0]


def _above(path: str) -> list[tuple[str, str]]:
    """The folders on the way to a path, itself the last, as (name, path)."""
    names = path.split("/") if path else []
    return [(name, "/".join(names[: depth + 1])) for depth, name in enumerate(names)]


def _to_folder(request: TenantRequest, uid: UUID, path: str) -> HttpResponse:
    target = go(request, "files:volume", uid)
    if path:
        header = "HX-Redirect" if "HX-Redirect" in target.headers else "Location"
        target.headers[header] += f"?{urlencode({'path': path})}"
    return target
