"""Assets, their versions, and the files of these."""

from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

from django.http import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer

from apps.assets.api import serializers as s
from apps.assets.selectors import asset_get, asset_list, version_file, version_get, version_list
from apps.assets.services.assets import asset_change, asset_delete, asset_make
from apps.assets.services.versions import version_delete, version_publish
from apps.assets.states import AssetKind, Reach
from apps.identity.api.base import ApiView
from apps.kernel.errors import InvalidInput
from apps.storage.file_answers import file_answer
from apps.storage.permissions import StoragePermission as P


def _read(serializer: type[BaseSerializer[Any]], request: Request) -> dict[str, Any]:
    given = serializer(data=request.data)
    given.is_valid(raise_exception=True)
    found: dict[str, Any] = given.validated_data
    return found


class AssetsView(ApiView):
    permission = P.VIEW
    ordering = ("name", "pk")

    @extend_schema(
        parameters=[
            OpenApiParameter("kind", str, enum=AssetKind.values),
            OpenApiParameter("search", str, description="Part of a name or of an introduction."),
            OpenApiParameter("reach", str, enum=Reach.values),
            OpenApiParameter("tag", str),
        ],
        responses=s.AssetOut(many=True),
    )
    def get(self, request: Request) -> Response:
        """The caller's assets, and those that are shared with him."""
        query = request.query_params
        chosen = {name: query.get(name, "") for name in ("kind", "search", "reach", "tag")}
        for name, values in (("kind", AssetKind.values), ("reach", Reach.values)):
            if chosen[name] and chosen[name] not in values:
                raise InvalidInput(fields={name: ", ".join(values)})
        return self.page(asset_list(actor=self.actor, **chosen), s.AssetOut)

    @extend_schema(request=s.AssetIn, responses={201: s.AssetOut})
    def post(self, request: Request) -> Response:
        """Make an asset, which has no version yet."""
        row = asset_make(actor=self.actor, **_read(s.AssetIn, request))
        return Response(s.AssetOut(asset_get(actor=self.actor, uid=row.uid)).data, status=201)


class AssetView(ApiView):
    permission = P.VIEW

    @extend_schema(responses=s.AssetOut)
    def get(self, request: Request, uid: UUID) -> Response:
        return Response(s.AssetOut(asset_get(actor=self.actor, uid=uid)).data)

    @extend_schema(request=s.AssetChangeIn, responses=s.AssetOut)
    def patch(self, request: Request, uid: UUID) -> Response:
        """Change its introduction, its tags, or whom it is shared with."""
        asset_change(actor=self.actor, uid=uid, **_read(s.AssetChangeIn, request))
        return Response(s.AssetOut(asset_get(actor=self.actor, uid=uid)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, uid: UUID) -> Response:
        """Delete it with all its versions."""
        asset_delete(actor=self.actor, uid=uid)
        return Response(status=204)


class AssetVersionsView(ApiView):
    permission = P.VIEW
    ordering = ("-number",)

    @extend_schema(responses=s.AssetVersionOut(many=True))
    def get(self, request: Request, uid: UUID) -> Response:
        """Its versions, newest first."""
        row = asset_get(actor=self.actor, uid=uid)
        return self.page(version_list(actor=self.actor, asset=row), s.AssetVersionOut)

    @extend_schema(request=s.AssetVersionIn, responses={201: s.AssetVersionOut})
    def post(self, request: Request, uid: UUID) -> Response:
        """Publish what is in a folder of a volume as its next version."""
        given = _read(s.AssetVersionIn, request)
        row = version_publish(
            actor=self.actor,
            asset_uid=uid,
            volume_uid=given["volume"],
            path=given["path"],
            note=given["note"],
        )
        return Response(s.AssetVersionOut(row).data, status=201)


class AssetVersionView(ApiView):
    permission = P.VIEW

    @extend_schema(responses={204: None})
    def delete(self, request: Request, uid: UUID, number: int) -> Response:
        """Delete a version with its files."""
        version_delete(actor=self.actor, asset_uid=uid, number=number)
        return Response(status=204)


class AssetFilesView(ApiView):
    permission = P.VIEW
    pagination_class = None

    @extend_schema(responses=s.AssetFileOut(many=True))
    def get(self, request: Request, uid: UUID, number: int) -> Response:
        """All files of a version, with their checksums."""
        row = asset_get(actor=self.actor, uid=uid)
        version = version_get(actor=self.actor, asset=row, number=number)
        names = ("path", "size_bytes", "sha256")
        found = [dict(zip(names, line, strict=True)) for line in version.manifest]
        return Response(s.AssetFileOut(found, many=True).data)


class AssetContentView(ApiView):
    permission = P.VIEW

    @extend_schema(
        parameters=[OpenApiParameter("path", str, description="Below the version's top folder.")],
        responses={(200, "application/octet-stream"): OpenApiTypes.BINARY},
    )
    def get(self, request: Request, uid: UUID, number: int) -> HttpResponseBase:
        """A file of a version; with the header Range a part of it."""
        path = request.query_params.get("path", "")
        row = asset_get(actor=self.actor, uid=uid)
        version = version_get(actor=self.actor, asset=row, number=number)
        file = version_file(actor=self.actor, version=version, path=path)
        return file_answer(request._request, file, name=PurePosixPath(path).name)
