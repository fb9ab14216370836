"""Volumes, and the folders and files in them."""

from functools import cached_property
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

from django.http import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.identity.api.base import ApiView
from apps.storage.api import serializers as s
from apps.storage.file_answers import file_answer
from apps.storage.models import Volume
from apps.storage.permissions import StoragePermission as P
from apps.storage.selectors import (
    file_open,
    folder_list,
    kept_uids,
    opened_uids,
    output_list,
    volume_get,
    volume_list,
    volume_open,
)
from apps.storage.services.files import file_move, file_remove, folder_make
from apps.storage.services.volumes import volume_change, volume_delete, volume_make
from apps.storage.states import Owner

_PATH = OpenApiParameter("path", str, description="Below the volume's top folder: data/train.csv.")


class StorageView(ApiView):
    """What answers with volumes says of each what the caller may do with it."""

    ordering = ("name", "pk")

    @cached_property
    def opened(self) -> set[UUID]:
        return opened_uids(self.actor)

    @cached_property
    def kept(self) -> set[UUID]:
        return kept_uids(self.actor)

    def shown(self, row: Volume) -> Any:
        return s.VolumeOut(row, context={"view": self}).data


class VolumesView(StorageView):
    permission = P.VIEW

    @extend_schema(
        parameters=[
            OpenApiParameter("search", str, description="Part of a name."),
            OpenApiParameter("owner", str, enum=Owner.values),
        ],
        responses=s.VolumeOut(many=True),
    )
    def get(self, request: Request) -> Response:
        """The volumes that the caller may open; who manages storage finds all of the tenant."""
        query = request.query_params
        rows = volume_list(actor=self.actor, search=query.get("search", ""), owner=query.get("owner", ""))
        return self.page(rows, s.VolumeOut)

    @extend_schema(request=s.VolumeIn, responses={201: s.VolumeOut})
    def post(self, request: Request) -> Response:
        """Make an empty volume; its size is held of the quota of storage."""
        given = s.VolumeIn(data=request.data)
        given.is_valid(raise_exception=True)
        row = volume_make(actor=self.actor, **given.validated_data)
        return Response(self.shown(row), status=201)


class VolumeView(StorageView):
    permission = P.VIEW

    @extend_schema(responses=s.VolumeOut)
    def get(self, request: Request, uid: UUID) -> Response:
        return Response(self.shown(volume_get(actor=self.actor, uid=uid)))

    @extend_schema(request=s.VolumeChangeIn, responses=s.VolumeOut)
    def patch(self, request: Request, uid: UUID) -> Response:
        """Rename it, or give it another size."""
        given = s.VolumeChangeIn(data=request.data)
        given.is_valid(raise_exception=True)
        volume_change(actor=self.actor, uid=uid, **given.validated_data)
        return Response(self.shown(volume_get(actor=self.actor, uid=uid)))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, uid: UUID) -> Response:
        """Delete it with all that is in it."""
        volume_delete(actor=self.actor, uid=uid)
        return Response(status=204)


class VolumeFilesView(StorageView):
    permission = P.VIEW
    pagination_class = None

    @extend_schema(parameters=[_PATH, OpenApiParameter("after", str)], responses=s.ListingOut)
    def get(self, request: Request, uid: UUID) -> Response:
        """What is in a folder."""
        query = request.query_params
        listing = folder_list(
            actor=self.actor,
            volume=volume_open(actor=self.actor, uid=uid),
            path=query.get("path", ""),
            after=query.get("after", ""),
        )
        return Response(s.ListingOut(listing).data)

    @extend_schema(parameters=[_PATH], responses={204: None})
    def delete(self, request: Request, uid: UUID) -> Response:
        """Remove a file, or a folder with all that is in it."""
        file_remove(actor=self.actor, volume_uid=uid, path=request.query_params.get("path", ""))
        return Response(status=204)


class VolumeContentView(StorageView):
    permission = P.VIEW

    @extend_schema(parameters=[_PATH], responses={(200, "application/octet-stream"): OpenApiTypes.BINARY})
    def get(self, request: Request, uid: UUID) -> HttpResponseBase:
        """A file; with the header Range a part of it."""
        path = request.query_params.get("path", "")
        volume = volume_open(actor=self.actor, uid=uid)
        file = file_open(actor=self.actor, volume=volume, path=path)
        return file_answer(request._request, file, name=PurePosixPath(path).name)


class VolumeFoldersView(StorageView):
    permission = P.USE

    @extend_schema(request=s.FolderIn, responses={204: None})
    def post(self, request: Request, uid: UUID) -> Response:
        """Make a folder, and those above it that are missing."""
        given = s.FolderIn(data=request.data)
        given.is_valid(raise_exception=True)
        folder_make(actor=self.actor, volume_uid=uid, **given.validated_data)
        return Response(status=204)


class VolumeMovesView(StorageView):
    permission = P.USE

    @extend_schema(request=s.FileMoveIn, responses={204: None})
    def post(self, request: Request, uid: UUID) -> Response:
        """Move or rename a file or folder within the volume; nothing is replaced."""
        given = s.FileMoveIn(data=request.data)
        given.is_valid(raise_exception=True)
        file_move(actor=self.actor, volume_uid=uid, **given.validated_data)
        return Response(status=204)


class WorkloadOutputsView(StorageView):
    permission = P.VIEW
    ordering = ("share", "pk")

    @extend_schema(responses=s.OutputOut(many=True))
    def get(self, request: Request, uid: UUID) -> Response:
        """What the shares of a workload left as its outputs; none while it has not ended, or keeps none."""
        return self.page(output_list(actor=self.actor, workload_uid=uid), s.OutputOut)
