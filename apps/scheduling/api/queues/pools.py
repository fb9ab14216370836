"""Pools: the figures of a resource group, and quotas that are taken away."""

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.identity.api.base import ApiView
from apps.scheduling.permissions import SchedulingPermission
from apps.scheduling.selectors.usage.pool_usage import pool_figures
from apps.scheduling.services.quota.ending import quota_remove
from apps.tenancy.selectors import tenant_get


class PoolQueueOut(serializers.Serializer):
    code = serializers.CharField()
    max_percent = serializers.IntegerField(allow_null=True)
    guaranteed_percent = serializers.IntegerField()


class PoolFiguresOut(serializers.Serializer):
    """In percent of devices; available is total less allocated and reserved. `kind`: the vendor, or "mixed"."""

    code = serializers.CharField()
    name_en = serializers.CharField()
    name_zh = serializers.CharField()
    kind = serializers.CharField()
    devices = serializers.IntegerField()
    total_percent = serializers.IntegerField()
    allocated_percent = serializers.IntegerField()
    reserved_percent = serializers.IntegerField()
    available_percent = serializers.IntegerField()
    utilisation_percent = serializers.IntegerField()
    queues = PoolQueueOut(many=True)


class PoolFiguresView(ApiView):
    plane = "provider"
    permission = SchedulingPermission.VIEW

    @extend_schema(responses=PoolFiguresOut)
    def get(self, request: Request, code: str) -> Response:
        """What the devices of a resource group can give, give and keep now (ELA-311)."""
        return Response(PoolFiguresOut(pool_figures(code)).data)


class TenantQuotaItemView(ApiView):
    plane = "provider"
    permission = SchedulingPermission.MANAGE

    @extend_schema(parameters=[OpenApiParameter("model", str)], responses={204: None})
    def delete(self, request: Request, schema: str, item: str) -> Response:
        """Take the quota of an item away: the tenant is given no more of it, what it holds stays (ELA-306). With a
        `model` the quota on that model: only that of the whole bounds it there then."""
        model = request.query_params.get("model", "")
        quota_remove(actor=self.actor, tenant=tenant_get(schema), item=item, model=model)
        return Response(status=204)
