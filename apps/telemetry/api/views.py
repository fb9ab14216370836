"""The operators' alarms."""

from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.identity.api.base import ApiView
from apps.telemetry.api.serializers import AlarmOut
from apps.telemetry.permissions import AlarmPermission as P
from apps.telemetry.selectors import alarm_list
from apps.telemetry.services.alarms import alarm_acknowledge


class AlarmsView(ApiView):
    plane = "provider"
    permission = P.VIEW

    @extend_schema(
        parameters=[
            OpenApiParameter("state", str, enum=["firing", "acknowledged", "resolved", "open"]),
            OpenApiParameter("level", str, enum=["critical", "major", "minor", "notice"]),
        ],
        responses=AlarmOut(many=True),
    )
    def get(self, request: Request) -> Response:
        """The alarms, newest first."""
        asked = request.query_params
        return self.page(alarm_list(state=asked.get("state", ""), level=asked.get("level", "")), AlarmOut)


class AlarmAcknowledgeView(ApiView):
    plane = "provider"
    permission = P.MANAGE

    @extend_schema(request=None, responses=AlarmOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """Say that you look after it."""
        return Response(AlarmOut(alarm_acknowledge(actor=self.actor, alarm_uid=uid)).data)
