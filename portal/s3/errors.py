"""What S3 calls the refusals of this house, and those that only it knows."""

from __future__ import annotations

from django.utils.translation import gettext as _

from apps.kernel.errors import Busy, Conflict, Forbidden, InvalidInput, NotFound, QuotaExceeded, WeirError
from apps.storage.errors import (
    AlreadyThere,
    NoSuchFile,
    NoSuchParts,
    PartsRefused,
    PathRefused,
    StorageFull,
    UploadBusy,
    VolumeEnded,
    VolumeFull,
)


class S3Error(Exception):
    """An answer of S3's own: its code, status and a sentence."""

    def __init__(self, code: str, status: int, message: str, *, retry_after_s: int = 0) -> None:
        super().__init__(message)
        self.code, self.status, self.message, self.retry_after_s = code, status, message, retry_after_s


_CODES: tuple[tuple[type[WeirError], str, int], ...] = (
    (NoSuchParts, "NoSuchUpload", 404),
    (PartsRefused, "InvalidPart", 400),
    (NoSuchFile, "NoSuchKey", 404),
    (PathRefused, "InvalidArgument", 400),
    (AlreadyThere, "ExistingObjectIsDirectory", 409),
    (VolumeFull, "QuotaExceeded", 403),
    (VolumeEnded, "AccessDenied", 403),
    (StorageFull, "InsufficientStorage", 507),
    (UploadBusy, "SlowDown", 503),
    (QuotaExceeded, "QuotaExceeded", 403),
    (Forbidden, "AccessDenied", 403),
    (NotFound, "NoSuchBucket", 404),
    (Busy, "SlowDown", 503),
    (Conflict, "OperationAborted", 409),
    (InvalidInput, "InvalidArgument", 400),
)


def of_refusal(error: WeirError) -> S3Error:
    """A refusal of the storage app as S3's clients read it: the sentence, and what to do."""
    code, status = next(
        ((code, status) for kind, code, status in _CODES if isinstance(error, kind)),
        ("InvalidRequest", error.status),
    )
    fields = "; ".join(f"{name}: {text}" for name, text in error.fields.items() if isinstance(text, str))
    told = " ".join(part for part in (str(error.message), fields, str(error.cure)) if part)
    waits = error.retry_after_s if isinstance(error, Busy) else 0
    return S3Error(code, status, told, retry_after_s=waits)


def not_taken(what: str) -> S3Error:
    return S3Error(
        "NotImplemented",
        501,
        _("%(what)s is not taken here: the address reads and writes the files of volumes.") % {"what": what},
    )


def malformed(message: str) -> S3Error:
    return S3Error("InvalidRequest", 400, message)


def incomplete() -> S3Error:
    return S3Error("IncompleteBody", 400, _("The body ended before all of it was here; nothing was kept."))
