"""Folders sent along with work: offered by digest, sent in pieces, finished; work names one by its digest."""

from typing import Any
from uuid import UUID

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response

from apps.fleet.models import FolderUpload
from apps.fleet.services.folder_uploads import (
    upload_finish,
    upload_missing,
    upload_offer,
    upload_piece_take,
)
from apps.identity.api.base import ApiView
from apps.identity.api.sound import SoundSerializer
from apps.scheduling.api.work.workloads import read
from apps.scheduling.permissions import ResourcePermission
from node_agent.protocol.folders import PIECE_BYTES


class PieceParser(BaseParser):
    """The body as it is."""

    media_type = "application/octet-stream"

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        return bytes(stream.read(PIECE_BYTES + 1))


class FolderUploadIn(SoundSerializer):
    """A folder's archive: a plain tar."""

    sha256 = serializers.CharField(max_length=64)
    size_bytes = serializers.IntegerField(min_value=1, max_value=2**40)


class FolderUploadOut(serializers.ModelSerializer[FolderUpload]):
    """`missing`: the numbers of the pieces that are still to be sent, each of `piece_bytes` but the last."""

    piece_bytes = serializers.SerializerMethodField()
    missing = serializers.SerializerMethodField()

    class Meta:
        model = FolderUpload
        fields = ["uid", "sha256", "size_bytes", "pieces", "whole_at", "piece_bytes", "missing"]

    def get_piece_bytes(self, _row: FolderUpload) -> int:
        return PIECE_BYTES

    def get_missing(self, row: FolderUpload) -> list[int]:
        return upload_missing(row)


class FolderUploadsView(ApiView):
    permission = ResourcePermission.OPERATE

    @extend_schema(request=FolderUploadIn, responses={201: FolderUploadOut})
    def post(self, request: Request) -> Response:
        """Offer a folder by its digest: of one that is here already nothing is missing."""
        row = upload_offer(actor=self.actor, tenant=self.entered, **read(FolderUploadIn, request))
        return Response(FolderUploadOut(row).data, status=201)


class FolderPieceView(ApiView):
    permission = ResourcePermission.OPERATE
    parser_classes = [PieceParser]

    @extend_schema(request={"application/octet-stream": OpenApiTypes.BINARY}, responses={204: None})
    def put(self, request: Request, uid: UUID, number: int) -> Response:
        """Send one piece of it."""
        piece = request.data if isinstance(request.data, bytes) else b""
        upload_piece_take(actor=self.actor, tenant=self.entered, upload_uid=uid, number=number, piece=piece)
        return Response(status=204)


class FolderFinishView(ApiView):
    permission = ResourcePermission.OPERATE

    @extend_schema(request=None, responses=FolderUploadOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """All of it was sent; it is compared with its digest."""
        row = upload_finish(actor=self.actor, tenant=self.entered, upload_uid=uid)
        return Response(FolderUploadOut(row).data)
