"""Who may hold what, and when: validity, default and special specs, resource tickets, limits, queues of groups."""

from collections import defaultdict
from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.identity.api.base import ApiView
from apps.kernel.errors import InvalidInput
from apps.scheduling.api.serializers import entitlements as r
from apps.scheduling.api.work.workloads import read
from apps.scheduling.permissions import TICKETS_OF_ALL, ResourcePermission, SchedulingPermission
from apps.scheduling.selectors.entitlements.limits import limit_lines
from apps.scheduling.selectors.entitlements.resource_tickets import (
    default_spec_get,
    special_get,
    special_list,
    ticket_get,
    ticket_get_across,
    ticket_list,
    ticket_list_across,
    user_find,
    users_find,
    validity_get,
    validity_list,
)
from apps.scheduling.selectors.queues.group_queues import group_lines
from apps.scheduling.services.entitlements.access_rules import (
    default_spec_set,
    special_act,
    special_change,
    specials_make,
    validity_make,
    validity_remove,
)
from apps.scheduling.services.entitlements.resource_tickets import (
    resource_ticket_act,
    resource_ticket_ask,
    resource_ticket_withdraw,
)
from apps.scheduling.states import ResourceTicketState
from apps.tenancy.selectors import tenant_get


class ProviderView(ApiView):
    plane = "provider"
    permission = SchedulingPermission.VIEW


class GroupQueuesView(ProviderView):
    pagination_class = None

    @extend_schema(responses=r.GroupQueueOut(many=True))
    def get(self, request: Request) -> Response:
        """The queue of each resource group, and first `default`, their sum (PLAT-AICFG-23)."""
        lines, total = group_lines()
        return Response(r.GroupQueueOut([total, *lines], many=True).data)


# --- validity ----------------------------------------------------------------------------------------------------


def _rule(body: dict[str, Any]) -> dict[str, Any]:
    periods: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    for each in body.get("periods", ()):
        periods[each["purpose"]].append((each["weekday"], each["from_minute"], each["to_minute"]))
    return {"name": body["name"], "users": users_find(body["users"]), "periods": periods}


class ValidityRulesView(ProviderView):
    @extend_schema(responses=r.ValidityRuleOut(many=True))
    def get(self, request: Request) -> Response:
        """When which users may start work of which purpose (PLAT-AICFG-27)."""
        return self.page(validity_list(), r.ValidityRuleOut)

    @extend_schema(request=r.ValidityRuleIn, responses={201: r.ValidityRuleOut})
    def post(self, request: Request) -> Response:
        """Make a rule (PLAT-AICFG-29)."""
        row = validity_make(actor=self.actor, **_rule(read(r.ValidityRuleIn, request)))
        return Response(r.ValidityRuleOut(validity_get(row.pk)).data, status=201)


class ValidityRulesRemoveView(ProviderView):
    permission = SchedulingPermission.MANAGE

    @extend_schema(request=r.ValidityRemoveIn, responses=r.RemovedOut)
    def post(self, request: Request) -> Response:
        """Remove several at once; their limits end (PLAT-AICFG-33). Those that are gone already are not counted."""
        count = validity_remove(actor=self.actor, pks=read(r.ValidityRemoveIn, request)["ids"])
        return Response({"count": count})


class ValidityRuleView(ProviderView):
    @extend_schema(responses=r.ValidityRuleOut)
    def get(self, request: Request, pk: int) -> Response:
        return Response(r.ValidityRuleOut(validity_get(pk)).data)

    @extend_schema(request=r.ValidityRuleIn, responses=r.ValidityRuleOut)
    def put(self, request: Request, pk: int) -> Response:
        """Another name, other users, other periods; the next start follows it (PLAT-AICFG-32)."""
        given = _rule(read(r.ValidityRuleIn, request))
        row = validity_make(actor=self.actor, rule=validity_get(pk), **given)
        return Response(r.ValidityRuleOut(validity_get(row.pk)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, pk: int) -> Response:
        validity_remove(actor=self.actor, pks=[validity_get(pk).pk])
        return Response(status=204)


# --- the three tiers -----------------------------------------------------------------------------------------------


class DefaultSpecView(ProviderView):
    @extend_schema(responses=r.AmountsSerializer)
    def get(self, request: Request) -> Response:
        """What every user may hold who has nothing else (PLAT-CLU-33)."""
        return Response(r.AmountsSerializer(default_spec_get()).data)

    @extend_schema(request=r.AmountsSerializer, responses=r.AmountsSerializer)
    def put(self, request: Request) -> Response:
        """Set it; it holds at once (PLAT-CLU-34)."""
        row = default_spec_set(actor=self.actor, **read(r.AmountsSerializer, request))
        return Response(r.AmountsSerializer(row).data)


class SpecialSpecsView(ProviderView):
    @extend_schema(responses=r.SpecialSpecOut(many=True))
    def get(self, request: Request) -> Response:
        """The special specifications of all tenants, newest first (PLAT-CLU-36)."""
        return self.page(special_list(), r.SpecialSpecOut)

    @extend_schema(request=r.SpecialSpecIn, responses={201: r.SpecialSpecOut(many=True)})
    def post(self, request: Request) -> Response:
        """A rule for each of the users named, or one for each user of the tenant (PLAT-CLU-37)."""
        body = read(r.SpecialSpecIn, request)
        tenant, users = tenant_get(body.pop("tenant")), users_find(body.pop("users"))
        rows = specials_make(actor=self.actor, tenant=tenant, users=users, given=body)
        return Response(r.SpecialSpecOut(rows, many=True).data, status=201)


class SpecialSpecView(ProviderView):
    @extend_schema(responses=r.SpecialSpecOut)
    def get(self, request: Request, pk: int) -> Response:
        return Response(r.SpecialSpecOut(special_get(pk)).data)

    @extend_schema(request=r.SpecialSpecChangeIn, responses=r.SpecialSpecOut)
    def put(self, request: Request, pk: int) -> Response:
        """Other amounts or another period; it holds at once (PLAT-CLU-40)."""
        special_change(actor=self.actor, pk=pk, **read(r.SpecialSpecChangeIn, request))
        return Response(r.SpecialSpecOut(special_get(pk)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, pk: int) -> Response:
        """Delete it: the next tier holds at once (PLAT-CLU-38)."""
        special_act(actor=self.actor, pk=pk, act="delete")
        return Response(status=204)


class SpecialSpecSwitchView(ProviderView):
    permission = SchedulingPermission.MANAGE
    act = "disable"

    @extend_schema(request=None, responses=r.SpecialSpecOut)
    def post(self, request: Request, pk: int) -> Response:
        """It stops applying, or applies again; it stays in the list (PLAT-CLU-39)."""
        special_act(actor=self.actor, pk=pk, act=self.act)
        return Response(r.SpecialSpecOut(special_get(pk)).data)


class SpecialSpecEnableView(SpecialSpecSwitchView):
    act = "enable"


# --- resource tickets ----------------------------------------------------------------------------------------------


class ResourceTicketsView(ApiView):
    plane = "both"
    permission = ResourcePermission.VIEW

    @extend_schema(
        parameters=[OpenApiParameter("state", str, enum=ResourceTicketState.values)],
        responses=r.ResourceTicketOut(many=True),
    )
    def get(self, request: Request) -> Response:
        """One's own tickets, newest first; without a tenant, for operators, all tenants' (PLAT-CLU-42)."""
        if self.tenant is None:
            self.actor.require_any(*TICKETS_OF_ALL)
            rows = ticket_list_across()
        else:
            rows = ticket_list(self.tenant, self.actor)
        state = request.query_params.get("state", "")
        return self.page(rows.filter(state=state) if state else rows, r.ResourceTicketOut)

    @extend_schema(request=r.ResourceTicketIn, responses={201: r.ResourceTicketOut})
    def post(self, request: Request) -> Response:
        """Ask to hold more for a time; nothing changes before it is approved (PLAT-CLU-32)."""
        body = read(r.ResourceTicketIn, request)
        if self.tenant is None:
            raise InvalidInput(_("This belongs to a tenant, and none is chosen."))
        row = resource_ticket_ask(actor=self.actor, tenant=self.tenant, **body)
        return Response(r.ResourceTicketOut(row).data, status=201)


class ResourceTicketView(ApiView):
    plane = "both"
    permission = ResourcePermission.VIEW

    @extend_schema(responses=r.ResourceTicketOut)
    def get(self, request: Request, uid: UUID) -> Response:
        """One ticket with its decision (PLAT-CLU-45)."""
        if self.tenant is not None:
            return Response(r.ResourceTicketOut(ticket_get(self.tenant, self.actor, uid)).data)
        self.actor.require_any(*TICKETS_OF_ALL)
        return Response(r.ResourceTicketOut(ticket_get_across(uid)).data)


class ResourceTicketWithdrawView(ApiView):
    permission = ResourcePermission.VIEW

    @extend_schema(request=None, responses=r.ResourceTicketOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """Take one's own ticket back before it is decided."""
        row = resource_ticket_withdraw(actor=self.actor, tenant=self.tenant, uid=uid)
        return Response(r.ResourceTicketOut(row).data)


class ResourceTicketActView(ProviderView):
    permission = SchedulingPermission.MANAGE

    def carry_out(self, uid: UUID, act: str) -> Response:
        resource_ticket_act(actor=self.actor, uid=uid, act=act)
        return Response(r.ResourceTicketOut(ticket_get_across(uid)).data)


class ResourceTicketDisableView(ResourceTicketActView):
    @extend_schema(request=None, responses=r.ResourceTicketOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """What it gave ends at once; what runs goes on (PLAT-CLU-44)."""
        return self.carry_out(uid, "disable")


class ResourceTicketEnableView(ResourceTicketActView):
    @extend_schema(request=None, responses=r.ResourceTicketOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """It holds again within its period."""
        return self.carry_out(uid, "enable")


class ResourceTicketDeleteView(ResourceTicketActView):
    @extend_schema(request=None, responses=r.ResourceTicketOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """What it gave ends at once, for good; it stays on record (PLAT-CLU-43)."""
        return self.carry_out(uid, "delete")


class LimitsView(ApiView):
    permission = ResourcePermission.VIEW
    pagination_class = None

    @extend_schema(responses=r.LimitOut(many=True))
    def get(self, request: Request) -> Response:
        """What one holds and may hold, and which tier says so until when (PLAT-CLU-31)."""
        return Response(_limits(self.tenant, self.actor.user_id))


class UserLimitsView(ProviderView):
    pagination_class = None

    @extend_schema(responses=r.LimitOut(many=True))
    def get(self, request: Request, schema: str, username: str) -> Response:
        """What a tenant's user holds and may hold, and which tier says so until when (PLAT-CLU-31)."""
        return Response(_limits(tenant_get(schema), user_find(username).pk))


def _limits(tenant: Any, user_id: int) -> Any:
    return r.LimitOut(limit_lines(tenant, user_id, timezone.now()), many=True).data
