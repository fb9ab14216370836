"""The operators' alarms: records, rules, routes, and who was told (POOL-12.19)."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer

from apps.identity.api.base import ApiView
from apps.telemetry import selectors as read
from apps.telemetry.api import serializers as s
from apps.telemetry.permissions import AlarmPermission as P
from apps.telemetry.services.alarms import alarm_acknowledge
from apps.telemetry.services.routes import route_edit, route_make, route_remove, route_try
from apps.telemetry.services.rules import rule_delete, rule_edit, rule_make


def _given(kind: type[Serializer], data: Any) -> dict[str, Any]:
    given = kind(data=data)
    given.is_valid(raise_exception=True)
    return dict(given.validated_data)


class _AlarmsView(ApiView):
    """Read by who may see alarms, changed by who manages them: the services demand that."""

    plane = "provider"
    permission = P.VIEW


class AlarmsView(_AlarmsView):
    @extend_schema(parameters=[s.AlarmFilter], responses=s.AlarmOut(many=True))
    def get(self, request: Request) -> Response:
        """The alarms that meet all conditions, newest first."""
        return self.page(read.alarm_list(**_given(s.AlarmFilter, request.query_params)), s.AlarmOut)


class AlarmView(_AlarmsView):
    @extend_schema(responses=s.AlarmDetailOut)
    def get(self, request: Request, uid: UUID) -> Response:
        """One alarm, with whom it was told."""
        return Response(s.AlarmDetailOut(read.alarm_get(uid)).data)


class AlarmAcknowledgeView(ApiView):
    plane = "provider"
    permission = P.ACKNOWLEDGE

    @extend_schema(request=None, responses=s.AlarmOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """Say that you look after it."""
        return Response(s.AlarmOut(alarm_acknowledge(actor=self.actor, alarm_uid=uid)).data)


class RulesView(_AlarmsView):
    ordering = ("metric", "threshold", "code")

    @extend_schema(responses=s.RuleOut(many=True))
    def get(self, request: Request) -> Response:
        """When alarms are raised."""
        return self.page(read.rule_list(), s.RuleOut)

    @extend_schema(request=s.RuleIn, responses={201: s.RuleOut})
    def post(self, request: Request) -> Response:
        """Watch a metric from now on."""
        row = rule_make(actor=self.actor, **_given(s.RuleIn, request.data))
        return Response(s.RuleOut(row).data, status=201)


class RuleView(_AlarmsView):
    @extend_schema(responses=s.RuleOut)
    def get(self, request: Request, code: str) -> Response:
        """One rule."""
        return Response(s.RuleOut(read.rule_get(code)).data)

    @extend_schema(request=s.RuleEditIn, responses=s.RuleOut)
    def patch(self, request: Request, code: str) -> Response:
        """Change what is named; it holds at once. A disabled rule is silent and its open alarms end."""
        row = rule_edit(actor=self.actor, code=code, changes=_given(s.RuleEditIn, request.data))
        return Response(s.RuleOut(row).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, code: str) -> Response:
        """Take a rule away; its open alarms end. One that grades what happens is disabled instead."""
        rule_delete(actor=self.actor, code=code)
        return Response(status=204)


class RoutesView(_AlarmsView):
    ordering = ("created_at", "pk")

    @extend_schema(responses=s.RouteOut(many=True))
    def get(self, request: Request) -> Response:
        """Who is told of alarms."""
        return self.page(read.route_list(), s.RouteOut)

    @extend_schema(request=s.RouteIn, responses={201: s.RouteOut})
    def post(self, request: Request) -> Response:
        """Tell people of alarms from now on."""
        row = route_make(actor=self.actor, **_given(s.RouteIn, request.data))
        return Response(s.RouteOut(row).data, status=201)


class RouteView(_AlarmsView):
    @extend_schema(responses=s.RouteOut)
    def get(self, request: Request, uid: UUID) -> Response:
        """One route."""
        return Response(s.RouteOut(read.route_get(uid)).data)

    @extend_schema(request=s.RouteEditIn, responses=s.RouteOut)
    def patch(self, request: Request, uid: UUID) -> Response:
        """Change what is named."""
        row = route_edit(actor=self.actor, route_uid=uid, changes=_given(s.RouteEditIn, request.data))
        return Response(s.RouteOut(row).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, uid: UUID) -> Response:
        """Tell nobody over it any more."""
        route_remove(actor=self.actor, route_uid=uid)
        return Response(status=204)


class RouteTryView(_AlarmsView):
    @extend_schema(request=None, responses={204: None})
    def post(self, request: Request, uid: UUID) -> Response:
        """Send a test message over it; refused with the server's own word."""
        route_try(actor=self.actor, route_uid=uid)
        return Response(status=204)


class DeliveriesView(_AlarmsView):
    @extend_schema(parameters=[s.DeliveryFilter], responses=s.DeliveryOut(many=True))
    def get(self, request: Request) -> Response:
        """Who was told of which alarm, newest first."""
        return self.page(read.delivery_list(**_given(s.DeliveryFilter, request.query_params)), s.DeliveryOut)
