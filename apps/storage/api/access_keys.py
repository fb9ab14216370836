"""Keys by which clients of S3 reach the files of volumes."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.identity.api.base import ApiView
from apps.identity.pages.requests import inside
from apps.storage.addresses import object_origin
from apps.storage.api import serializers as s
from apps.storage.permissions import StoragePermission as P
from apps.storage.selectors import access_key_list
from apps.storage.services.access_keys import access_key_make, access_key_revoke


class AccessKeysView(ApiView):
    permission = P.VIEW
    shows_secret = True
    ordering = ("-created_at", "-pk")

    @extend_schema(responses=s.AccessKeyOut(many=True))
    def get(self, request: Request) -> Response:
        """One's own access keys, newest first, without their secrets."""
        return self.page(access_key_list(actor=self.actor), s.AccessKeyOut)

    @extend_schema(request=s.AccessKeyIn, responses={201: s.AccessKeyMadeOut})
    def post(self, request: Request) -> Response:
        """Make an access key of one's own, for clients of S3: it reaches the files that one may open. One that is
        asked for with an API token expires with it at the latest."""
        given = s.AccessKeyIn(data=request.data)
        given.is_valid(raise_exception=True)
        inner = inside(request._request)
        row, secret = access_key_make(actor=self.actor, until=inner.token_expires_at, **given.validated_data)
        told = s.AccessKeyMadeOut(row, context={"secret": secret, "address": object_origin(inner)}).data
        return Response(told, status=201, headers={"Cache-Control": "no-store"})


class AccessKeyView(ApiView):
    permission = P.VIEW

    @extend_schema(responses={204: None})
    def delete(self, request: Request, uid: UUID) -> Response:
        """Revoke an access key: what it signs is refused."""
        access_key_revoke(actor=self.actor, uid=uid)
        return Response(status=204)
