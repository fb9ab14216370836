"""The operators' settings: queues, the scheduling policy, tenants' quotas."""

from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.catalog.models import Commodity
from apps.catalog.selectors.commodities import commodity_all
from apps.identity.api.base import ApiView
from apps.kernel.errors import InvalidInput
from apps.scheduling.api.serializers import queues as d
from apps.scheduling.api.serializers import workloads as s
from apps.scheduling.api.work.workloads import read
from apps.scheduling.permissions import SchedulingPermission
from apps.scheduling.selectors.entitlements.resource_tickets import user_groups_find
from apps.scheduling.selectors.queues.queue_tree import queue_tree
from apps.scheduling.selectors.usage.model_usage import quota_list
from apps.scheduling.selectors.workloads import policy_get, queue_get, queue_list
from apps.scheduling.services.queues.queue_settings import (
    direct_commodity_set,
    policy_set,
    queue_change,
    queue_make,
    queue_remove,
)
from apps.scheduling.services.quota.quotas import quota_set
from apps.tenancy.selectors import tenant_get


class QueuesView(ApiView):
    plane = "provider"
    permission = SchedulingPermission.VIEW
    pagination_class = None

    @extend_schema(responses=d.QueueOut(many=True))
    def get(self, request: Request) -> Response:
        """The queues in the order in which they are served."""
        return Response(d.QueueOut(queue_list().prefetch_related("windows", "user_groups"), many=True).data)

    @extend_schema(request=d.QueueIn, responses={201: d.QueueOut})
    def post(self, request: Request) -> Response:
        """Make a queue."""
        body = read(d.QueueIn, request)
        named = {name: body.pop(name) for name in ("code", "name_en", "name_zh")}
        row = queue_make(actor=self.actor, **named, **_settings(body))
        return Response(d.QueueOut(queue_get(row.code)).data, status=201)


class QueueTreeView(ApiView):
    plane = "provider"
    permission = SchedulingPermission.VIEW
    pagination_class = None

    @extend_schema(responses=d.BranchOut(many=True))
    def get(self, request: Request) -> Response:
        """The queues as a tree, each before its branches, with use, guarantee, borrowed and waiting (ELA-1101)."""
        return Response(d.BranchOut(queue_tree(), many=True).data)


class QueueView(ApiView):
    plane = "provider"
    permission = SchedulingPermission.VIEW

    @extend_schema(responses=d.QueueOut)
    def get(self, request: Request, code: str) -> Response:
        return Response(d.QueueOut(queue_get(code)).data)

    @extend_schema(request=d.QueueChangeIn, responses=d.QueueOut)
    def patch(self, request: Request, code: str) -> Response:
        """Change state, place in the tree, limits, order or admitted tenants; the next cycle follows."""
        body = read(d.QueueChangeIn, request)
        queue_change(actor=self.actor, queue=queue_get(code), **_settings(body))
        return Response(d.QueueOut(queue_get(code)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, code: str) -> Response:
        """Remove it; refused while work waits or runs in it, or queues are below it (ELA-609)."""
        queue_remove(actor=self.actor, queue=queue_get(code))
        return Response(status=204)


def _settings(body: dict[str, Any]) -> dict[str, Any]:
    """What the queue services take, of a body."""
    schemas, windows = body.pop("tenants", None), body.pop("windows", None)
    groups = body.pop("user_groups", None)
    if body.get("parent") is not None:
        body["parent"] = queue_get(body["parent"])
    return {
        "changes": body,
        "user_groups": None if groups is None else user_groups_find(groups),
        "tenants": None if schemas is None else [tenant_get(schema) for schema in schemas],
        "windows": None
        if windows is None
        else [(each["weekday"], each["from_minute"], each["to_minute"]) for each in windows],
    }


class SchedulingPolicyView(ApiView):
    plane = "provider"
    permission = SchedulingPermission.VIEW

    @extend_schema(responses=d.PolicyOut)
    def get(self, request: Request) -> Response:
        """How work is placed and in which order it is judged, where neither it nor its queue says otherwise."""
        return Response(d.PolicyOut(policy_get()).data)

    @extend_schema(request=d.PolicyIn, responses=d.PolicyOut)
    def patch(self, request: Request) -> Response:
        """Change the global policy (POOL-12.27); the next cycle follows it."""
        changes = dict(read(d.PolicyIn, request))
        with transaction.atomic():
            if "direct_commodity" in changes:
                commodity = _commodity_numbered(changes.pop("direct_commodity"))
                direct_commodity_set(actor=self.actor, commodity=commodity)
            row = policy_set(actor=self.actor, changes=changes) if changes else policy_get()
        return Response(d.PolicyOut(row).data)


def _commodity_numbered(number: str | None) -> Commodity | None:
    if number is None:
        return None
    found = commodity_all().filter(number=number).first()
    if found is None:
        raise InvalidInput(
            fields={"direct_commodity": _("There is no commodity %(number)s.") % {"number": number}}
        )
    return found


class TenantQuotaView(ApiView):
    plane = "provider"
    permission = SchedulingPermission.VIEW
    pagination_class = None

    @extend_schema(responses=s.QuotaOut(many=True))
    def get(self, request: Request, schema: str) -> Response:
        """A tenant's quotas with what is used and in process of each."""
        return Response([figures.as_json() for figures in quota_list(tenant_get(schema))])

    @extend_schema(request=s.QuotaIn, responses=s.QuotaOut(many=True))
    def put(self, request: Request, schema: str) -> Response:
        """Set the most the tenant may hold of one item (POOL-12.6), or of it on devices of one model (ELA-308). What it
        holds beyond it stays."""
        tenant, body = tenant_get(schema), read(s.QuotaIn, request)
        quota_set(actor=self.actor, tenant=tenant, **body)
        return Response([figures.as_json() for figures in quota_list(tenant)])
