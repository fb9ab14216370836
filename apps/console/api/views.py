"""Tenants, their quota and money, and the operators' overview."""

from collections import Counter
from functools import partial
from typing import Any

from django.http import FileResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.cases.permissions import INBOX
from apps.cases.selectors import case_inbox
from apps.cases.types import CaseKind
from apps.console.api import serializers as s
from apps.console.centre.checklist import lacks
from apps.console.operations import selectors as read
from apps.console.tenants.overview import tenant_lasting
from apps.console.tenants.services import quotas_set, tenant_archive_take, tenant_end, tenant_open
from apps.fleet.selectors import node_list
from apps.identity.api.base import ApiView
from apps.kernel.actor import Actor
from apps.orgs.addresses import mail_portal
from apps.scheduling.api.serializers.workloads import QuotaOut
from apps.scheduling.selectors.workloads import quota_get
from apps.tenancy.models import Tenant
from apps.tenancy.selectors import tenant_get, tenant_list, tenant_shown
from apps.tenancy.services import tenant_change, tenant_delete, tenant_resume, tenant_suspend

COUNTED = (CaseKind.FORM, CaseKind.ORDER, CaseKind.TICKET)


class TenantsView(ApiView):
    plane = "provider"
    permission = "tenancy.view"
    shows_secret = True

    @extend_schema(responses=s.TenantRowOut(many=True))
    def get(self, request: Request) -> Response:
        """All tenants, closed ones too."""
        return self.page(tenant_list(), s.TenantRowOut)

    @extend_schema(request=s.TenantIn, responses={201: s.TenantMadeOut})
    def post(self, request: Request) -> Response:
        """Make a tenant with its first administrator and what it begins with, all or nothing."""
        self.actor.require("tenancy.manage")
        given = s.TenantIn(data=request.data)
        given.is_valid(raise_exception=True)
        made = tenant_open(actor=self.actor, **given.opening(partial(mail_portal, request._request)))
        row, way_in = s.TenantRowOut(made.tenant).data, s.WayInOut(made).data
        return Response({**row, "host": made.host, "administrator": way_in}, status=201)


class TenantView(ApiView):
    plane = "provider"
    permission = "tenancy.view"

    @extend_schema(responses=s.TenantDetailOut)
    def get(self, request: Request, schema: str) -> Response:
        """One tenant, ended ones too, and what must be at an end before it can be closed."""
        return self._shown(tenant_shown(schema))

    @extend_schema(request=s.TenantNameIn, responses=s.TenantDetailOut)
    def patch(self, request: Request, schema: str) -> Response:
        """Another name or time zone; what is not named stays."""
        self.actor.require("tenancy.manage")
        row = tenant_shown(schema)
        given = s.TenantNameIn(data=request.data)
        given.is_valid(raise_exception=True)
        new = {"name": row.name, "timezone": row.timezone} | given.validated_data
        return self._shown(tenant_change(actor=self.actor, tenant=row, **new))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, schema: str) -> Response:
        """Delete a closed tenant's own data for good; its bills and records stay."""
        self.actor.require("tenancy.manage")
        tenant_delete(actor=self.actor, tenant=tenant_shown(schema))
        return Response(status=204)

    @staticmethod
    def _shown(row: Tenant) -> Response:
        return Response(s.TenantDetailOut(row, context={"lasting": tenant_lasting(row)}).data)


class TenantArchiveView(ApiView):
    plane = "provider"
    permission = "tenancy.manage"
    pagination_class = None

    @extend_schema(responses={(200, "application/zip"): OpenApiTypes.BINARY})
    def get(self, request: Request, schema: str) -> FileResponse:
        """All that is kept of a tenant, ended ones too, as a ZIP archive of CSV files."""
        row = tenant_shown(schema)
        archive = tenant_archive_take(actor=self.actor, tenant=row)
        return FileResponse(archive, as_attachment=True, filename=f"{row.schema_name}.zip")


class TenantCloseView(ApiView):
    plane = "provider"
    permission = "tenancy.manage"

    @extend_schema(request=None, responses=s.TenantRowOut)
    def post(self, request: Request, schema: str) -> Response:
        """Close a suspended tenant for good, once nothing of it runs and its money is settled."""
        return Response(s.TenantRowOut(tenant_end(actor=self.actor, tenant=tenant_shown(schema))).data)


class TenantSuspendView(ApiView):
    plane = "provider"
    permission = "tenancy.manage"

    @extend_schema(request=s.ReasonIn, responses=s.TenantRowOut)
    def post(self, request: Request, schema: str) -> Response:
        """Shut the tenant out; what runs goes on."""
        given = s.ReasonIn(data=request.data)
        given.is_valid(raise_exception=True)
        tenant = tenant_suspend(actor=self.actor, tenant=tenant_get(schema), **given.validated_data)
        return Response(s.TenantRowOut(tenant).data)


class TenantResumeView(ApiView):
    plane = "provider"
    permission = "tenancy.manage"

    @extend_schema(request=None, responses=s.TenantRowOut)
    def post(self, request: Request, schema: str) -> Response:
        tenant = tenant_resume(actor=self.actor, tenant=tenant_get(schema))
        return Response(s.TenantRowOut(tenant).data)


class TenantQuotaView(ApiView):
    plane = "provider"
    permission = "scheduling.view"
    pagination_class = None

    @extend_schema(responses=QuotaOut(many=True))
    def get(self, request: Request, schema: str) -> Response:
        """The five figures of each item."""
        return self._figures(schema)

    @extend_schema(request=s.TenantQuotaIn, responses=QuotaOut(many=True))
    def put(self, request: Request, schema: str) -> Response:
        """Set the totals that are named, all or none."""
        given = s.TenantQuotaIn(data=request.data)
        given.is_valid(raise_exception=True)
        quotas_set(actor=self.actor, tenant=tenant_get(schema), totals=given.validated_data)
        return self._figures(schema)

    @staticmethod
    def _figures(schema: str) -> Response:
        return Response([figures.as_json() for figures in quota_get(tenant_get(schema)).values()])


class OverviewView(ApiView):
    plane = "provider"
    permission = "tenancy.view"

    @extend_schema(responses=s.OverviewOut)
    def get(self, request: Request) -> Response:
        """What the operator pages show, as far as the active role may see it."""
        return Response(s.OverviewOut(_overview(self.actor)).data)


def _overview(actor: Actor) -> dict[str, Any]:
    found: dict[str, Any] = dict.fromkeys(s.OverviewOut().fields)
    found["tenants"] = tenant_list().count()
    found["lacks"] = lacks()
    if actor.may("alarms.view"):
        found["alarms"] = [{"level": code, "count": count} for code, _label, count in read.alarm_counts()]
    if actor.may("fleet.view"):
        uses = read.pool_use(list(node_list()))
        states = Counter(use.node.state for use in uses)
        found["nodes"] = [{"state": state, "count": count} for state, count in sorted(states.items())]
        for name in ("held_percent", "limit_percent", "held_mib", "limit_mib"):
            found[name] = sum(getattr(use, name) for use in uses)
    if actor.may("resources.view"):
        found["waiting_workloads"] = read.waiting_list().count()
    if actor.may_any(*INBOX):
        found["my_approvals"] = case_inbox(actor=actor).count()
    if actor.may("cases.view"):
        found["cases"] = [row for rows in read.case_counts(actor, COUNTED).values() for row in rows]
    if actor.may("billing.view"):
        found["revenue_month"] = read.revenue_days()[1]
    return found
