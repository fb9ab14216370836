"""Files that go with a form: taken only when they are what their name says (PLAT-APPLY-5)."""

import hashlib
import json
import re
import unicodedata
import zipfile
from collections.abc import Callable
from pathlib import PurePath
from typing import BinaryIO
from uuid import UUID

from django.conf import settings
from django.core.files.base import File
from django.db import connection, transaction
from django.db.models import Sum
from django.utils.translation import gettext as _

from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, NotFound, QuotaExceeded
from apps.kernel.planes import current_schema
from apps.kernel.service import service
from apps.orders.errors import AttachmentRefused
from apps.orders.models import ApplicationForm, Attachment
from apps.orders.permissions import OrdersPermission as P
from apps.orders.services.drafts import form_lock
from apps.orders.states import FINISHED

FILES_MAX = 20
NAME_MAX = 120
_BLOCK = 64 * 1024
# With the tenant: of several files at once each sees those before it.
_ROOM_LOCK = 0x57656979


def _begins(*marks: bytes) -> Callable[[BinaryIO], bool]:
    return lambda file: file.read(16).startswith(marks)


def _is_text(file: BinaryIO) -> bool:
    """UTF-8 without control characters other than those of lines and tabs."""
    try:
        text = file.read().decode("utf-8")
    except UnicodeDecodeError:
        return False
    return not re.search(r"[\x00-\x08\x0b\x0e-\x1f\x7f]", text)


def _is_notebook(file: BinaryIO) -> bool:
    try:
        book = json.loads(file.read())
    except (ValueError, RecursionError):
        return False
    return isinstance(book, dict) and isinstance(book.get("cells"), list)


def _is_office(folder: str) -> Callable[[BinaryIO], bool]:
    def check(file: BinaryIO) -> bool:
        try:
            names = zipfile.ZipFile(file).namelist()
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
            return False
        return "[Content_Types].xml" in names and any(name.startswith(folder) for name in names)

    return check


_OFFICE = "application/vnd.openxmlformats-officedocument"
KINDS: dict[str, tuple[str, Callable[[BinaryIO], bool]]] = {
    ".pdf": ("application/pdf", _begins(b"%PDF-")),
    ".png": ("image/png", _begins(b"\x89PNG\r\n\x1a\n")),
    ".jpg": ("image/jpeg", _begins(b"\xff\xd8\xff")),
    ".jpeg": ("image/jpeg", _begins(b"\xff\xd8\xff")),
    ".txt": ("text/plain; charset=utf-8", _is_text),
    ".md": ("text/markdown; charset=utf-8", _is_text),
    ".csv": ("text/csv; charset=utf-8", _is_text),
    ".py": ("text/x-python; charset=utf-8", _is_text),
    ".ipynb": ("application/x-ipynb+json", _is_notebook),
    ".docx": (f"{_OFFICE}.wordprocessingml.document", _is_office("word/")),
    ".xlsx": (f"{_OFFICE}.spreadsheetml.sheet", _is_office("xl/")),
    ".zip": ("application/zip", _begins(b"PK\x03\x04", b"PK\x05\x06")),
}


def name_clean(name: str) -> str:
    """The last part of a sent name, without control characters and what other systems forbid."""
    last = re.split(r"[/\\]", unicodedata.normalize("NFC", name))[-1]
    kept = "".join(one for one in last if unicodedata.category(one)[0] != "C" and one not in '<>:"|?*')
    path = PurePath(kept.strip(" .") or "file")
    return f"{path.stem[: NAME_MAX - 10]}{path.suffix}"


def _checked(file: File, name: str) -> str:
    """The content type, or a refusal that says what is wrong."""
    limit = settings.WEIR_UPLOAD_MAX_BYTES
    if not 0 < file.size <= limit:
        text = _("A file holds 1 byte to %(limit)s MiB.") % {"limit": limit // (1024 * 1024)}
        raise AttachmentRefused(text, fields={"file": text}, cure=_("Send a smaller file, or several."))
    ending = PurePath(name).suffix.lower()
    if ending not in KINDS:
        text = _("Files of the kind %(ending)s are not taken.") % {"ending": ending or "?"}
        raise AttachmentRefused(text, fields={"file": text})
    content_type, is_sound = KINDS[ending]
    file.seek(0)
    if not is_sound(file.file):
        text = _("%(name)s is not what its ending says.") % {"name": name}
        raise AttachmentRefused(text, fields={"file": text})
    return content_type


def _digest(file: File) -> str:
    file.seek(0)
    digest = hashlib.sha256()
    for block in file.chunks(_BLOCK):
        digest.update(block)
    file.seek(0)
    return digest.hexdigest()


@service(P.APPLY)
def attachment_add(*, actor: Actor, form_uid: UUID, file: File, name: str) -> Attachment:
    """Add a file to the actor's own form, at any stage before it is finished.

    Raises:
        AttachmentRefused: it is too large, of a kind that is not taken, or one too many.
        QuotaExceeded: the tenant's attachments would hold more than `WEIR_ATTACHMENTS_TOTAL_MIB`.
    """
    form = form_lock(actor, form_uid)
    _unfinished_check(form)
    if form.attachments.count() >= FILES_MAX:
        text = _("A form takes %(most)s files.") % {"most": FILES_MAX}
        raise AttachmentRefused(text, fields={"file": text}, cure=_("Put several into one ZIP file."))
    name = name_clean(name)
    row = Attachment(
        form=form, name=name, size=file.size, content_type=_checked(file, name), sha256=_digest(file)
    )
    row.uploader_id = actor.user_id
    _room_check(file.size)
    row.file.save(name, file, save=False)
    try:
        row.save()
    except Exception:
        row.file.storage.delete(row.file.name)
        raise
    act_subject("form", form.uid, no=form.no, file=name, sha256=row.sha256)
    return row


def _room_check(more_bytes: int) -> None:
    limit = settings.WEIR_ATTACHMENTS_TOTAL_BYTES
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", [_ROOM_LOCK, current_schema()])
    held = Attachment.objects.aggregate(sum=Sum("size"))["sum"] or 0
    if held + more_bytes > limit:
        raise QuotaExceeded(
            _(
                "Your tenant's attachments hold %(held)s of %(limit)s MiB: this file of %(more)s MiB has no room."
            )
            % {
                name: f"{size / 2**20:.1f}"
                for name, size in (("held", held), ("limit", limit), ("more", more_bytes))
            },
            cure=_(
                "Take files off drafts that you no longer need, or ask your computing centre for more room."
            ),
        )


def _unfinished_check(form: ApplicationForm) -> None:
    if form.state in FINISHED:
        raise Conflict(_("%(no)s is finished: its files stay as they are.") % {"no": form.no})


@service(P.APPLY)
def attachment_remove(*, actor: Actor, attachment_uid: UUID) -> None:
    """Take a file off the actor's own draft. What was submitted stays with the process."""
    row = Attachment.objects.select_related("form").filter(uid=attachment_uid).first()
    if row is None:
        raise NotFound()
    form = form_lock(actor, row.form.uid)
    if not form.is_draft:
        raise Conflict(_("%(no)s is submitted: its files stay with it.") % {"no": form.no})
    storage, path = row.file.storage, row.file.name
    row.delete()
    transaction.on_commit(lambda: storage.delete(path))
