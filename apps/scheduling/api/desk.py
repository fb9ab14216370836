"""The operators' settings: queues, the scheduling policy, tenants' quotas."""

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.identity.api.base import ApiView
from apps.scheduling.api import serializers as s
from apps.scheduling.api.work import read
from apps.scheduling.permissions import SchedulingPermission
from apps.scheduling.selectors import policy_get, queue_get, queue_list, quota_get
from apps.scheduling.services.queues import policy_set, queue_change, queue_make
from apps.scheduling.services.quota import quota_set
from apps.tenancy.models import Tenant
from apps.tenancy.selectors import tenant_get


class QueuesView(ApiView):
    plane = "provider"
    permission = SchedulingPermission.VIEW
    idempotent = True

    @extend_schema(responses=s.QueueOut(many=True))
    def get(self, request: Request) -> Response:
        """The queues in the order in which they are served."""
        return Response(s.QueueOut(queue_list(), many=True).data)

    @extend_schema(request=s.QueueIn, responses={201: s.QueueOut})
    def post(self, request: Request) -> Response:
        """Make a queue."""
        body = read(s.QueueIn, request)
        named = {name: body.pop(name) for name in ("code", "name_en", "name_zh")}
        tenants = _tenants(body)
        row = queue_make(actor=self.actor, **named, changes=body, tenants=tenants)
        return Response(s.QueueOut(queue_get(row.code)).data, status=201)


class QueueView(ApiView):
    plane = "provider"
    permission = SchedulingPermission.VIEW

    @extend_schema(responses=s.QueueOut)
    def get(self, request: Request, code: str) -> Response:
        return Response(s.QueueOut(queue_get(code)).data)

    @extend_schema(request=s.QueueChangeIn, responses=s.QueueOut)
    def patch(self, request: Request, code: str) -> Response:
        """Change state, priority, ordering, placing, group, limits or admitted tenants; the next cycle follows."""
        body = read(s.QueueChangeIn, request)
        tenants = _tenants(body)
        queue_change(actor=self.actor, queue=queue_get(code), changes=body, tenants=tenants)
        return Response(s.QueueOut(queue_get(code)).data)


def _tenants(body: dict[str, Any]) -> list[Tenant] | None:
    schemas = body.pop("tenants", None)
    return None if schemas is None else [tenant_get(schema) for schema in schemas]


class SchedulingPolicyView(ApiView):
    plane = "provider"
    permission = SchedulingPermission.VIEW

    @extend_schema(responses=s.PolicyOut)
    def get(self, request: Request) -> Response:
        """How work is placed and in which order it is judged, where neither it nor its queue says otherwise."""
        return Response(s.PolicyOut(policy_get()).data)

    @extend_schema(request=s.PolicyIn, responses=s.PolicyOut)
    def patch(self, request: Request) -> Response:
        """Change the global policy (POOL-12.27); the next cycle follows it."""
        changes: Mapping[str, Any] = read(s.PolicyIn, request)
        return Response(s.PolicyOut(policy_set(actor=self.actor, changes=changes)).data)


class TenantQuotaView(ApiView):
    plane = "provider"
    permission = SchedulingPermission.VIEW

    @extend_schema(responses=s.QuotaOut(many=True))
    def get(self, request: Request, schema: str) -> Response:
        """A tenant's quotas with what is used and in process of each."""
        return Response([figures.as_json() for figures in quota_get(tenant_get(schema)).values()])

    @extend_schema(request=s.QuotaIn, responses=s.QuotaOut(many=True))
    def put(self, request: Request, schema: str) -> Response:
        """Set the most the tenant may hold of one item (POOL-12.6). What it holds beyond it stays."""
        tenant, body = tenant_get(schema), read(s.QuotaIn, request)
        quota_set(actor=self.actor, tenant=tenant, item=body["item"], total=body["total"])
        return Response([figures.as_json() for figures in quota_get(tenant).values()])
