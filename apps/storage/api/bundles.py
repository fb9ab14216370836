"""Many small files by one request, into a volume and out of it."""

import base64
import hashlib
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.parsers import BaseParser, JSONParser
from rest_framework.request import Request
from rest_framework.response import Response

from apps.kernel.errors import InvalidInput
from apps.storage.api import serializers as s
from apps.storage.api.uploads import checksum_of
from apps.storage.api.views import StorageView
from apps.storage.errors import ChecksumMismatch
from apps.storage.permissions import StoragePermission as P
from apps.storage.services.bundles import bundle_give, bundle_take
from apps.storage.services.uploads import piece_bytes
from weir_wire.bundle import MEDIA_TYPE, BundleFault, bundle_pack, bundle_unpack


class BundleParser(BaseParser):
    """A bundle, as it is."""

    media_type = MEDIA_TYPE

    def parse(
        self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        body = stream.body if isinstance(stream, HttpRequest) else stream.read()
        return bytes(body)


class VolumeBundleView(StorageView):
    permission = P.USE
    parser_classes = [BundleParser]
    no_key_because = "taken again, the same files come to stand in the same places"

    @extend_schema(
        parameters=[
            OpenApiParameter(
                "Upload-Checksum",
                str,
                OpenApiParameter.HEADER,
                description="sha256 or sha1, a space, and Base64.",
            )
        ],
        request={MEDIA_TYPE: OpenApiTypes.BINARY},
        responses={200: s.BundleTakenOut},
    )
    def post(self, request: Request, uid: UUID) -> Response:
        """Put small files in their places, in the place of those that are there; what is refused is named, the others
        are taken. The body: four bytes, big end first, that say how long the list behind them is; a JSON list of
        `[path, size, modified]`, the time in nanoseconds since 1970; the bytes of the files, one behind the other."""
        body = request.data if isinstance(request.data, bytes) else b""
        told = checksum_of(request)
        if told is not None and hashlib.new(told[0], body).digest() != told[1]:
            raise ChecksumMismatch()
        try:
            files = bundle_unpack(body)
        except BundleFault as error:
            raise InvalidInput(_("This is no bundle of files: %(why)s.") % {"why": error}) from error
        done = bundle_take(actor=self.actor, volume_uid=uid, files=files)
        return Response(s.BundleTakenOut(done).data)


class VolumeBundleReadView(StorageView):
    permission = P.VIEW
    parser_classes = [JSONParser]
    no_key_because = "it reads"

    @extend_schema(request=s.BundleReadIn, responses={(200, MEDIA_TYPE): OpenApiTypes.BINARY})
    def post(self, request: Request, uid: UUID) -> HttpResponse:
        """The small files at these paths, as a bundle; what is larger than 1 MiB, not there or does not fit is left
        out. The header Repr-Digest has its SHA-256."""
        given = s.BundleReadIn(data=request.data)
        given.is_valid(raise_exception=True)
        paths = given.validated_data["paths"]
        files = bundle_give(actor=self.actor, volume_uid=uid, paths=paths, most_bytes=piece_bytes())
        body = bundle_pack(files)
        digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
        headers = {"Repr-Digest": f"sha-256=:{digest}:", "Cache-Control": "no-store"}
        return HttpResponse(body, content_type=MEDIA_TYPE, headers=headers)
