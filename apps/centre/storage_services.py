"""Storage classes: made, renamed, given another key, switched, removed. Whether a storage works is asked above."""

import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from django.db import IntegrityError, connection, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.centre.models import StorageClass
from apps.centre.permissions import CentrePermission as P
from apps.centre.states import StorageKind
from apps.centre.storage_classes import SECRET_PURPOSE
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput, NotFound
from apps.kernel.planes import in_public
from apps.kernel.sealing import seal
from apps.kernel.service import service

_CODE = re.compile(r"[a-z0-9][a-z0-9-]{0,47}")
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_PREFIX = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*")


@dataclass(frozen=True, slots=True)
class StorageGiven:
    """A storage class as people write it down: of a mounted path its `path`, of a bucket all but that."""

    code: str
    name_zh: str
    name_en: str
    kind: str
    path: str = ""
    endpoint: str = ""
    bucket: str = ""
    prefix: str = ""
    region: str = ""
    access_key: str = ""
    secret: str = field(default="", repr=False)


def storage_drafted(given: StorageGiven) -> StorageClass:
    """The class as it would be, not saved. InvalidInput names what is missing or wrong."""
    wrong: dict[str, object] = {}
    is_bucket = given.kind == StorageKind.S3
    if not _CODE.fullmatch(given.code):
        wrong["code"] = _("Small letters, digits and hyphens; at most 48.")
    if given.kind not in StorageKind.values:
        wrong["kind"] = _("one of %(names)s") % {"names": ", ".join(StorageKind.values)}
    for name in ("name_zh", "name_en"):
        if not getattr(given, name).strip():
            wrong[name] = _("Fill this in.")
    if not is_bucket and (not PurePosixPath(given.path).is_absolute() or ".." in given.path.split("/")):
        wrong["path"] = _("Write the whole path, such as /mnt/volumes.")
    if is_bucket and not _BUCKET.fullmatch(given.bucket):
        wrong["bucket"] = _("Small letters, digits, points and hyphens; 3 to 63.")
    if is_bucket and given.prefix and not _PREFIX.fullmatch(given.prefix.strip("/")):
        wrong["prefix"] = _("Names with slashes between them.")
    for name in ("endpoint", "access_key", "secret") if is_bucket else ():
        if not getattr(given, name):
            wrong[name] = _("Fill this in.")
    if wrong:
        raise InvalidInput(fields=wrong)
    common = {"code": given.code, "name_zh": given.name_zh.strip(), "name_en": given.name_en.strip()}
    if not is_bucket:
        return StorageClass(kind=given.kind, path=given.path.rstrip("/") or "/", **common)
    return StorageClass(
        kind=given.kind,
        endpoint=given.endpoint,
        bucket=given.bucket,
        prefix=given.prefix.strip("/"),
        region=given.region,
        access_key=given.access_key,
        secret_sealed=seal(given.secret, SECRET_PURPOSE),
        **common,
    )


@service(P.STORAGE)
def storage_class_make(*, actor: Actor, given: StorageGiven, mark: str, check_ms: int) -> StorageClass:
    """Keep a class whose storage was tried: it took `check_ms`, and bears `mark`. Conflict for a code in use, and for a
    storage that another class has."""
    row = storage_drafted(given)
    act_subject("storage_class", row.code, place=row.place)
    with in_public():
        if StorageClass.objects.filter(code=row.code).exists():
            raise Conflict(_("There is a storage class %(code)s already.") % {"code": row.code})
        if other := StorageClass.objects.filter(mark=mark).first():
            raise Conflict(_("%(other)s is this very storage.") % {"other": other})
        row.mark, row.check_ms, row.checked_at = mark, check_ms, timezone.now()
        row.save()
    return row


@service(P.STORAGE)
def storage_class_change(
    *, actor: Actor, code: str, name_zh: str, name_en: str, access_key: str = "", secret: str = ""
) -> StorageClass:
    """Other names; of a bucket another key, where one is given. Where it is never changes."""
    with in_public():
        row = _locked(code)
        row.name_zh, row.name_en = name_zh.strip() or row.name_zh, name_en.strip() or row.name_en
        if bool(access_key) != bool(secret) or (secret and row.kind != StorageKind.S3):
            raise InvalidInput(fields={"secret": _("A bucket has a key and its secret, both or neither.")})
        if secret:
            row.access_key, row.secret_sealed = access_key, seal(secret, SECRET_PURPOSE)
        row.save()
    return row


@service(P.STORAGE)
def storage_class_switch(
    *, actor: Actor, code: str, is_enabled: bool | None = None, is_default: bool | None = None
) -> StorageClass:
    """Whether it takes new volumes, and whether those lie there of which nobody says more. What is there stays."""
    with in_public():
        row = _locked(code)
        if is_enabled is not None:
            row.is_enabled = is_enabled
            row.is_default = row.is_default and is_enabled
        if is_default is not None:
            if is_default and not row.is_enabled:
                raise Conflict(_("%(name)s takes no new volumes.") % {"name": row})
            if is_default:
                StorageClass.objects.exclude(pk=row.pk).filter(is_default=True).update(is_default=False)
            row.is_default = is_default
        row.save()
    return row


@service(P.STORAGE, recorded=False)
def storage_class_checked(*, actor: Actor, code: str, ms: int | None, problem: str) -> None:
    """Keep what a check found."""
    with in_public():
        rows = StorageClass.objects.filter(code=code)
        rows.update(checked_at=timezone.now(), check_ms=ms, check_problem=problem[:500])


@service(P.STORAGE)
def storage_class_remove(*, actor: Actor, code: str) -> None:
    """Forget a class on which no volume lies; what stands in its storage stays there. Conflict where some do."""
    with in_public():
        row = _locked(code)
        try:
            with transaction.atomic():
                row.delete()
                with connection.cursor() as cursor:
                    cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        except IntegrityError as error:
            raise Conflict(
                _("Volumes lie on %(name)s.") % {"name": row},
                cure=_("Let it take no new ones, until they have gone."),
            ) from error


def _locked(code: str) -> StorageClass:
    row = StorageClass.objects.select_for_update(no_key=True).filter(code=code).first()
    if row is None:
        raise NotFound()
    act_subject("storage_class", code)
    return row
