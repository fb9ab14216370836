"""A service: its address and its health, and the keys by which programs reach it."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.identity.api.base import ApiView
from apps.kernel.errors import NotFound
from apps.scheduling.addresses import web_origin
from apps.scheduling.api.serializers.workloads import KnownFields
from apps.scheduling.api.work.workloads import read
from apps.scheduling.models import ServiceKey, Workload
from apps.scheduling.permissions import ResourcePermission
from apps.scheduling.selectors.web_pages import ServiceSeen, service_keys, service_seen
from apps.scheduling.selectors.workloads import workload_get
from apps.scheduling.services.service_keys import service_key_make, service_key_revoke


class ServiceOut(serializers.Serializer[Any]):
    """Where a service is reached, and how it is with it. `health` is "" while it does not run; `waiting`: its program
    has ended and is being started again. `failure` is in its node's words."""

    address = serializers.CharField()
    health = serializers.ChoiceField(
        choices=["", "starting", "healthy", "unhealthy", "waiting"], allow_blank=True
    )
    restarts = serializers.IntegerField()
    failure_code = serializers.CharField(allow_blank=True)
    failure = serializers.CharField(allow_blank=True)
    failed_at = serializers.DateTimeField(allow_null=True)
    port = serializers.IntegerField(allow_null=True)
    health_path = serializers.CharField()
    interval_s = serializers.IntegerField()


class ServiceKeyOut(serializers.ModelSerializer[ServiceKey]):
    made_by = serializers.CharField(source="made_by.username")

    class Meta:
        model = ServiceKey
        fields = ["uid", "name", "made_by", "created_at", "used_at"]


class ServiceKeyMadeOut(ServiceKeyOut):
    """A new key with what programs send, `Authorization: Bearer …`; no other answer shows it."""

    key = serializers.SerializerMethodField(help_text="Shown once.")

    class Meta(ServiceKeyOut.Meta):
        fields = [*ServiceKeyOut.Meta.fields, "key"]

    def get_key(self, row: ServiceKey) -> str:
        return str(self.context["key"])


class ServiceKeyIn(KnownFields):
    name = serializers.CharField(max_length=80)


class _ServiceView(ApiView):
    def service(self, uid: UUID) -> tuple[Workload, ServiceSeen]:
        row = workload_get(self.entered, uid, actor=self.actor)
        seen = service_seen(row)
        if seen is None:
            raise NotFound()
        return row, seen


class WorkloadServiceView(_ServiceView):
    permission = ResourcePermission.VIEW

    @extend_schema(responses=ServiceOut)
    def get(self, request: Request, uid: UUID) -> Response:
        """A service's address, health and restarts."""
        row, seen = self.service(uid)
        names = set(ServiceOut().fields) - {"address"}
        told = {name: getattr(seen, name) for name in names}
        return Response(ServiceOut({**told, "address": web_origin(request, row.uid)}).data)


class ServiceKeysView(_ServiceView):
    permission = ResourcePermission.OPERATE
    pagination_class = None
    shows_secret = True

    @extend_schema(responses=ServiceKeyOut(many=True))
    def get(self, request: Request, uid: UUID) -> Response:
        """The keys that open a service, newest first, without what is in them."""
        row, _seen = self.service(uid)
        return Response(ServiceKeyOut(service_keys(row), many=True).data)

    @extend_schema(request=ServiceKeyIn, responses={201: ServiceKeyMadeOut})
    def post(self, request: Request, uid: UUID) -> Response:
        """Make a key for programs; only for who ordered the service."""
        name = read(ServiceKeyIn, request)["name"]
        row, secret = service_key_make(actor=self.actor, tenant=self.entered, workload_uid=uid, name=name)
        told = ServiceKeyMadeOut(row, context={"key": secret}).data
        return Response(told, status=201, headers={"Cache-Control": "no-store"})


class ServiceKeyView(ApiView):
    permission = ResourcePermission.OPERATE

    @extend_schema(responses={204: None})
    def delete(self, request: Request, uid: UUID, key: UUID) -> Response:
        """Revoke a key: it opens nothing any more."""
        service_key_revoke(actor=self.actor, tenant=self.entered, workload_uid=uid, key_uid=key)
        return Response(status=204)
