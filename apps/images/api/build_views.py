"""Images built from a Containerfile."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.identity.api.base import ApiView
from apps.images.api import build_serializers as s
from apps.images.permissions import ImagePermission as P
from apps.images.selectors import build_get, build_list
from apps.images.services.builds import BuildRequest, build_cancel, image_build


class ImageBuildsView(ApiView):
    permission = P.VIEW
    ordering = ("-created_at", "-pk")

    @extend_schema(responses=s.ImageBuildOut(many=True))
    def get(self, request: Request) -> Response:
        """The caller's builds, the newest first; for who manages images those of all whose images he keeps."""
        return self.page(build_list(actor=self.actor, tenant=self.entered), s.ImageBuildOut)

    @extend_schema(request=s.ImageBuildIn, responses={201: s.ImageBuildOut})
    def post(self, request: Request) -> Response:
        """Build a version of an image: work of the tenant runs each step of the Containerfile in the image that it
        begins with, and is saved as the version. What cannot be done is refused, by its line, before anything runs."""
        self.actor.require(P.USE)
        given = s.ImageBuildIn(data=request.data)
        given.is_valid(raise_exception=True)
        row = image_build(actor=self.actor, tenant=self.entered, asked=BuildRequest(**given.validated_data))
        return Response(self._shown(row.uid), status=201)

    def _shown(self, uid: UUID) -> object:
        return s.ImageBuildOut(build_get(actor=self.actor, tenant=self.entered, uid=uid)).data


class ImageBuildView(ApiView):
    permission = P.VIEW

    @extend_schema(responses=s.ImageBuildOut)
    def get(self, request: Request, uid: UUID) -> Response:
        """One build, and how far it is."""
        return Response(s.ImageBuildOut(build_get(actor=self.actor, tenant=self.entered, uid=uid)).data)


class ImageBuildCancelView(ApiView):
    permission = P.USE

    @extend_schema(request=None, responses=s.ImageBuildOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """End a build: its work stops, and its version says why there is none."""
        build_cancel(actor=self.actor, tenant=self.entered, uid=uid)
        return Response(s.ImageBuildOut(build_get(actor=self.actor, tenant=self.entered, uid=uid)).data)
