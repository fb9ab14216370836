"""Container images and their versions."""

from functools import cached_property
from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.identity.api.base import ApiView
from apps.images.api import serializers as s
from apps.images.permissions import ImagePermission as P
from apps.images.selectors import image_get, image_list, image_uids_kept, version_get, versions_saved
from apps.images.services.images import image_change, image_delete, version_delete, version_publish
from apps.images.services.imports import image_import
from apps.images.services.saves import image_save
from apps.images.states import Owner
from apps.kernel.errors import InvalidInput


class ImagesOwnView(ApiView):
    """What answers with images says of each whether the caller may change it."""

    plane = "both"
    ordering = ("name", "pk")

    @cached_property
    def kept(self) -> set[UUID]:
        return image_uids_kept(self.actor)

    def shown(self, uid: UUID) -> Any:
        return s.ImageOut(image_get(actor=self.actor, uid=uid), context={"view": self}).data


class ImagesView(ImagesOwnView):
    permission = P.VIEW

    @extend_schema(
        parameters=[OpenApiParameter("search", str), OpenApiParameter("owner", str, enum=Owner.values)],
        responses=s.ImageOut(many=True),
    )
    def get(self, request: Request) -> Response:
        """The images that the caller may run; for who manages images all of the tenant, for operators all."""
        query = request.query_params
        owner = query.get("owner", "")
        rows = image_list(
            actor=self.actor, search=query.get("search", ""), owner=owner if owner in Owner.values else ""
        )
        return self.page(rows, s.ImageOut)

    @extend_schema(request=s.ImageImportIn, responses={201: s.ImageVersionOut})
    def post(self, request: Request) -> Response:
        """Take an archive out of a volume as a version of an image; it is checking until a worker has looked at it."""
        self.actor.require(P.USE)
        if self.tenant is None:
            raise InvalidInput(fields={"volume": "an archive lies in a volume of a tenant"})
        given = s.ImageImportIn(data=request.data)
        given.is_valid(raise_exception=True)
        wanted = given.validated_data | {"volume": str(given.validated_data["volume"])}
        row = image_import(actor=self.actor, tenant=self.tenant, **wanted)
        return Response(s.ImageVersionOut(row).data, status=201)


class ImageView(ImagesOwnView):
    permission = P.VIEW

    @extend_schema(responses=s.ImageOut)
    def get(self, request: Request, uid: UUID) -> Response:
        """One image with its versions."""
        return Response(self.shown(uid))

    @extend_schema(request=s.ImageChangeIn, responses=s.ImageOut)
    def patch(self, request: Request, uid: UUID) -> Response:
        """Say what it is, or call it otherwise."""
        given = s.ImageChangeIn(data=request.data)
        given.is_valid(raise_exception=True)
        image_change(actor=self.actor, uid=uid, **given.validated_data)
        return Response(self.shown(uid))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, uid: UUID) -> Response:
        """Delete it with all its versions."""
        image_delete(actor=self.actor, uid=uid)
        return Response(status=204)


class ImageVersionView(ApiView):
    plane = "both"
    permission = P.VIEW

    @extend_schema(responses=s.ImageVersionOut)
    def get(self, request: Request, uid: UUID) -> Response:
        """One version, and how far it has come."""
        return Response(s.ImageVersionOut(version_get(actor=self.actor, uid=uid)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, uid: UUID) -> Response:
        """Delete one version."""
        version_get(actor=self.actor, uid=uid)
        version_delete(actor=self.actor, uid=uid)
        return Response(status=204)


class WorkloadImagesView(ApiView):
    permission = P.VIEW
    pagination_class = None

    @extend_schema(responses=s.ImageVersionOut(many=True))
    def get(self, request: Request, uid: UUID) -> Response:
        """The versions that the caller's work was saved as, the newest first."""
        rows = versions_saved(actor=self.actor, tenant=self.entered, workload_uid=uid)
        return Response(s.ImageVersionOut(rows, many=True).data)

    @extend_schema(request=s.ImageSaveIn, responses={201: s.ImageVersionOut})
    def post(self, request: Request, uid: UUID) -> Response:
        """Save the caller's running work as a version of an image: its image, and what it has changed over that. The
        work holds still while that is read, a minute at most; the version is saving until its node has sent it, and
        checking until a worker has looked at it. Volumes, the work's own folder and temporary files are left out."""
        self.actor.require(P.USE)
        given = s.ImageSaveIn(data=request.data)
        given.is_valid(raise_exception=True)
        row = image_save(actor=self.actor, tenant=self.entered, workload_uid=uid, **given.validated_data)
        return Response(s.ImageVersionOut(row).data, status=201)


class ImagePublicationsView(ApiView):
    plane = "provider"
    permission = P.MANAGE

    @extend_schema(request=None, responses={201: s.ImageVersionOut})
    def post(self, request: Request, uid: UUID) -> Response:
        """Offer a version to everybody, as an image of the centre."""
        row = version_publish(actor=self.actor, uid=uid)
        return Response(s.ImageVersionOut(row).data, status=201)
