"""Uploads by tus 1.0: creation, creation with upload, expiration, checksum, termination (https://tus.io).

A piece is received whole before a thread is taken for it (`portal.serving.bodies`), so it is bounded: a client sends
pieces of at most `piece_bytes` of the volume.
"""

import base64
import binascii
from collections.abc import Mapping
from datetime import timedelta
from email.utils import format_datetime
from typing import Any
from uuid import UUID

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response

from apps.kernel.control_characters import control_fault
from apps.kernel.errors import InvalidInput
from apps.storage.api import serializers as s
from apps.storage.api.views import StorageView
from apps.storage.errors import TusVersionRefused
from apps.storage.models import Upload
from apps.storage.permissions import StoragePermission as P
from apps.storage.selectors import upload_get, upload_list, volume_open
from apps.storage.services.uploads import (
    CHECKSUMS,
    KEPT_DAYS,
    SIZE_MAX_BYTES,
    upload_finish,
    upload_make,
    upload_remove,
    upload_take,
)
from weir_wire.bundle import MODIFIED_NS_MOST

_TUS = "1.0.0"
_PIECE = "application/offset+octet-stream"
_ABILITIES = {
    "Tus-Version": _TUS,
    "Tus-Resumable": _TUS,
    "Tus-Extension": "creation,creation-with-upload,expiration,checksum,termination",
    "Tus-Checksum-Algorithm": ",".join(CHECKSUMS),
    "Tus-Max-Size": str(SIZE_MAX_BYTES),
}
_VERSION = OpenApiParameter("Tus-Resumable", str, OpenApiParameter.HEADER, enum=[_TUS], required=True)
_LENGTH = OpenApiParameter("Upload-Length", int, OpenApiParameter.HEADER, required=True)
_OFFSET = OpenApiParameter("Upload-Offset", int, OpenApiParameter.HEADER, required=True)
_CHECKSUM = OpenApiParameter(
    "Upload-Checksum", str, OpenApiParameter.HEADER, description="sha256 or sha1, a space, and Base64."
)
_METADATA = OpenApiParameter(
    "Upload-Metadata",
    str,
    OpenApiParameter.HEADER,
    required=True,
    description="Pairs of a key and its value in Base64, with commas between: `path` below the volume's top folder;"
    " `replace` (yes) where a file there may be replaced; `fingerprint`, the sender's word for the file; `modified`,"
    " when it was last changed, in nanoseconds since 1970.",
)


class PieceParser(BaseParser):
    """A piece of a file, as it is."""

    media_type = _PIECE

    def parse(
        self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        body = stream.body if isinstance(stream, HttpRequest) else stream.read()
        return bytes(body)


class TusView(StorageView):
    """Answers name the version; requests that change something must."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if request.method in ("POST", "PATCH", "DELETE") and "uid" in kwargs:
            self.see(kwargs["uid"])
            if request.headers.get("Tus-Resumable") != _TUS:
                raise TusVersionRefused()

    def see(self, uid: UUID) -> None:
        """NotFound for what the caller does not see, before anything else is said."""
        raise NotImplementedError

    def finalize_response(self, *args: Any, **kwargs: Any) -> Any:
        response = super().finalize_response(*args, **kwargs)
        response.headers.setdefault("Tus-Resumable", _TUS)
        response.headers.setdefault("Tus-Version", _TUS)
        return response

    @extend_schema(exclude=True)
    def options(self, request: Any, *args: Any, **kwargs: Any) -> Response:
        return Response(status=204, headers=_ABILITIES)


class VolumeUploadsView(TusView):
    permission = P.USE
    parser_classes = [PieceParser]
    ordering = ("-created_at", "-pk")
    no_key_because = "one that was begun twice and is not gone on with ends by itself"

    def see(self, uid: UUID) -> None:
        volume_open(actor=self.actor, uid=uid)

    @extend_schema(responses=s.UploadOut(many=True))
    def get(self, request: Request, uid: UUID) -> Response:
        """The caller's own unfinished uploads into this volume."""
        volume = volume_open(actor=self.actor, uid=uid)
        return self.page(upload_list(actor=self.actor, volume=volume), s.UploadOut)

    @extend_schema(
        parameters=[_VERSION, _LENGTH, _METADATA, _CHECKSUM],
        request={_PIECE: OpenApiTypes.BINARY},
        responses={201: s.UploadOut},
    )
    def post(self, request: Request, uid: UUID) -> Response:
        """Begin an upload, with the first piece if there is a body. Its address is in `Location`."""
        told = _metadata(request)
        row = upload_make(
            actor=self.actor,
            volume_uid=uid,
            path=told.get("path", ""),
            size_bytes=_number(request, "Upload-Length"),
            replaces=told.get("replace", "") == "yes",
            fingerprint=told.get("fingerprint", ""),
            modified_ns=_modified_ns(told),
        )
        row = _take(self, request, row, 0)
        return Response(
            s.UploadOut(row).data, status=201, headers=_headers(row) | {"Location": _address(row)}
        )


class UploadView(TusView):
    permission = P.USE
    parser_classes = [PieceParser]

    def see(self, uid: UUID) -> None:
        upload_get(actor=self.actor, uid=uid)

    @extend_schema(responses=s.UploadOut)
    def get(self, request: Request, uid: UUID) -> Response:
        """How far it is: the headers of tus, and the same as JSON. Asked for by HEAD, the headers alone."""
        row = _placed(self, upload_get(actor=self.actor, uid=uid))
        return Response(s.UploadOut(row).data, headers=_headers(row) | {"Cache-Control": "no-store"})

    @extend_schema(
        parameters=[_VERSION, _OFFSET, _CHECKSUM],
        request={_PIECE: OpenApiTypes.BINARY},
        responses={204: None},
    )
    def patch(self, request: Request, uid: UUID) -> Response:
        """Go on with it: the next piece, from the byte on at which it ends."""
        offset = _number(request, "Upload-Offset")
        row = _take(self, request, upload_get(actor=self.actor, uid=uid), offset)
        return Response(status=204, headers=_headers(row))

    @extend_schema(parameters=[_VERSION], responses={204: None})
    def delete(self, request: Request, uid: UUID) -> Response:
        """End it; what was received of it is deleted."""
        upload_remove(actor=self.actor, uid=uid)
        return Response(status=204)


def _take(view: TusView, request: Request, row: Upload, offset: int) -> Upload:
    piece = request.data if isinstance(request.data, bytes) else b""
    if piece or offset:
        row = upload_take(
            actor=view.actor, uid=row.uid, offset=offset, piece=piece, checksum=checksum_of(request)
        )
    return _placed(view, row)


def _placed(view: TusView, row: Upload) -> Upload:
    """In its place, once it is whole: also where whoever sent the last piece did not hear that it came."""
    is_due = row.finished_at is None and row.received_bytes == row.size_bytes
    return upload_finish(actor=view.actor, uid=row.uid) if is_due else row


def _address(row: Upload) -> str:
    # Below the tenant's part of the provider's host, where that is where it was asked for.
    return reverse("upload", args=[row.uid])


def _headers(row: Upload) -> dict[str, str]:
    ends = row.moved_at + timedelta(days=KEPT_DAYS)
    expires = {} if row.finished_at else {"Upload-Expires": format_datetime(ends, usegmt=True)}
    return {"Upload-Offset": str(row.received_bytes), "Upload-Length": str(row.size_bytes), **expires}


def _number(request: Request, header: str) -> int:
    given = request.headers.get(header, "")
    if not (given.isascii() and given.isdigit() and len(given) <= 18):
        raise InvalidInput(fields={header: _("a whole number of bytes")})
    return int(given)


def _metadata(request: Request) -> dict[str, str]:
    found = {}
    for pair in request.headers.get("Upload-Metadata", "").split(","):
        name, _space, value = pair.strip().partition(" ")
        try:
            text = base64.b64decode(value, validate=True).decode()
        except (binascii.Error, ValueError) as error:
            raise InvalidInput(fields={"Upload-Metadata": _("keys with values in Base64")}) from error
        if fault := control_fault(text):
            raise InvalidInput(fields={"Upload-Metadata": fault})
        found[name] = text
    return found


def _modified_ns(metadata: Mapping[str, str]) -> int | None:
    given = metadata.get("modified", "")
    if not given:
        return None
    if not (given.isascii() and given.isdigit() and len(given) <= 19 and int(given) <= MODIFIED_NS_MOST):
        raise InvalidInput(fields={"Upload-Metadata": _("modified: nanoseconds since 1970")})
    return int(given)


def checksum_of(request: Request) -> tuple[str, bytes] | None:
    kind, space, value = request.headers.get("Upload-Checksum", "").partition(" ")
    if not kind:
        return None
    try:
        known = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        known = b""
    if kind not in CHECKSUMS or not known or not space:
        raise InvalidInput(
            fields={"Upload-Checksum": _("one of %(names)s and a value") % {"names": ", ".join(CHECKSUMS)}}
        )
    return kind, known
