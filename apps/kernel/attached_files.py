"""Files that people attach to something: taken only when they are what their name says, bounded in size and number,
kept under a name of their own, and served so that nothing in them runs."""

import hashlib
import json
import re
import shutil
import unicodedata
import uuid
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path, PurePath
from typing import IO, Any

from django.conf import settings
from django.core.files.base import File
from django.db import connection, models
from django.db.models import Sum
from django.http import FileResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.kernel.errors import InvalidInput, QuotaExceeded
from apps.kernel.planes import SharedForeignKey, current_schema

FILES_MAX = 20
NAME_MAX = 120
VIEWABLE = ("application/pdf", "image/png", "image/jpeg", "text/plain", "text/csv", "text/markdown")
_BLOCK = 64 * 1024
# With the tenant: of several files at once each sees those before it.
_ROOM_LOCK = 0x57656979


def _begins(*marks: bytes) -> Callable[[IO[Any]], bool]:
    return lambda file: file.read(16).startswith(marks)


def _is_text(file: IO[Any]) -> bool:
    """UTF-8 without control characters other than those of lines and tabs."""
    try:
        text = file.read().decode("utf-8")
    except UnicodeDecodeError:
        return False
    return not re.search(r"[\x00-\x08\x0b\x0e-\x1f\x7f]", text)


def _is_notebook(file: IO[Any]) -> bool:
    try:
        book = json.loads(file.read())
    except (ValueError, RecursionError):
        return False
    return isinstance(book, dict) and isinstance(book.get("cells"), list)


def _is_office(folder: str) -> Callable[[IO[Any]], bool]:
    def check(file: IO[Any]) -> bool:
        try:
            names = zipfile.ZipFile(file).namelist()
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
            return False
        return "[Content_Types].xml" in names and any(name.startswith(folder) for name in names)

    return check


_OFFICE = "application/vnd.openxmlformats-officedocument"
KINDS: dict[str, tuple[str, Callable[[IO[Any]], bool]]] = {
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


def file_checked(file: "File[Any]", name: str) -> str:
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
    if file.file is None or not is_sound(file.file):
        text = _("%(name)s is not what its ending says.") % {"name": name}
        raise AttachmentRefused(text, fields={"file": text})
    return content_type


def file_digest(file: "File[Any]") -> str:
    file.seek(0)
    digest = hashlib.sha256()
    for block in file.chunks(_BLOCK):
        digest.update(block)
    file.seek(0)
    return digest.hexdigest()


class AttachmentRefused(InvalidInput):
    """The file is too large, of a kind that is not taken, not what its name says, or one too many."""

    code = "attachment_refused"
    default_cure = gettext_lazy(
        "Send a PDF, PNG, JPEG, text, Markdown, CSV, DOCX, XLSX, ZIP, Python or notebook file."
    )


def attachment_path(attachment: "AttachedFile", name: str) -> str:
    """`<schema>/attachments/<uid><ending>`: never the name that was sent."""
    return f"{current_schema()}/attachments/{attachment.uid}{PurePath(name).suffix.lower()}"


class AttachedFile(models.Model):
    """A file that goes with something of a tenant's. `size` in bytes."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    file = models.FileField(upload_to=attachment_path)
    name = models.CharField(gettext_lazy("file name"), max_length=NAME_MAX)
    size = models.PositiveBigIntegerField(gettext_lazy("size"))
    content_type = models.CharField(max_length=120)
    sha256 = models.CharField(max_length=64)
    uploader = SharedForeignKey("identity.User", verbose_name=gettext_lazy("added by"))
    created_at = models.DateTimeField(gettext_lazy("added at"), auto_now_add=True)

    class Meta:
        abstract = True
        verbose_name = gettext_lazy("attachment")
        verbose_name_plural = gettext_lazy("attachments")
        ordering = ["pk"]

    def __str__(self) -> str:
        return self.name


def file_keep(row: AttachedFile, file: "File[Any]", name: str, *, present: int) -> None:
    """Check a sent file and keep it as `row`, which says what it goes with and who sent it.

    Args:
        present: how many files that has already.

    Raises:
        AttachmentRefused: it is too large, of a kind that is not taken, or one too many.
        QuotaExceeded: the tenant's files would hold more than `WEIR_ATTACHMENTS_TOTAL_MIB`.
    """
    if present >= FILES_MAX:
        text = _("At most %(most)s files go with it.") % {"most": FILES_MAX}
        raise AttachmentRefused(text, fields={"file": text}, cure=_("Put several into one ZIP file."))
    row.name, row.size = name_clean(name), file.size
    row.content_type, row.sha256 = file_checked(file, row.name), file_digest(file)
    _room_check(file.size)
    row.file.save(row.name, file, save=False)
    try:
        row.save()
    except Exception:
        row.file.storage.delete(row.file.name or "")
        raise


def tenant_files_remove(schema: str) -> None:
    """Delete all that a tenant's people have attached to anything; what cannot be deleted now is tried again."""
    folder = Path(settings.MEDIA_ROOT) / schema
    with suppress(FileNotFoundError):
        shutil.rmtree(folder)


def _room_check(more_bytes: int) -> None:
    """QuotaExceeded where the tenant's files, of whatever they are attached to, would hold more than they may."""
    limit = settings.WEIR_ATTACHMENTS_TOTAL_BYTES
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", [_ROOM_LOCK, current_schema()])
    kinds = (kind for kind in AttachedFile.__subclasses__() if not kind._meta.abstract)
    held = sum(kind._base_manager.aggregate(sum=Sum("size"))["sum"] or 0 for kind in kinds)
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


def file_answer(row: AttachedFile, *, is_inline: bool = False) -> FileResponse:
    """The file as a download, or for `is_inline` to be looked at where a browser can without running anything."""
    plain = row.content_type.partition(";")[0]
    is_shown = is_inline and plain in VIEWABLE
    kind = "text/plain; charset=utf-8" if is_shown and plain.startswith("text/") else row.content_type
    answer = FileResponse(
        row.file.open("rb"), as_attachment=not is_shown, filename=row.name, content_type=kind
    )
    # What people send in is shown, never run.
    answer["Content-Security-Policy"] = "sandbox; default-src 'none'; style-src 'unsafe-inline'"
    answer["X-Content-Type-Options"] = "nosniff"
    return answer
