"""Capacity planning: demand and capacity of each pool, and how demand goes on (ELA-102)."""

from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.console.operations.capacity import Outlook, outlook_get, outlook_list
from apps.identity.api.base import ApiView
from apps.telemetry.permissions import ReportPermission as P


class AheadOut(serializers.Serializer):
    """A day to come, in percent of devices; `low` to `high` holds nine of ten such days."""

    day = serializers.DateField()
    mid = serializers.FloatField()
    low = serializers.FloatField()
    high = serializers.FloatField()


class PastDayOut(serializers.Serializer):
    """A day that was seen, in percent of devices."""

    day = serializers.DateField()
    demand = serializers.FloatField()
    capacity = serializers.FloatField(allow_null=True)


class OutlookOut(serializers.Serializer):
    """`pool` "*": all devices. `full_*`: when demand passes the capacity of now; null: not within the days forecast,
    or not known yet, which `method` null tells."""

    pool = serializers.CharField(source="code")
    name = serializers.CharField()
    capacity_percent = serializers.FloatField(source="capacity_now")
    demand_percent = serializers.FloatField(source="lately", allow_null=True, help_text="Mean of seven days.")
    days_known = serializers.IntegerField()
    days_wanted = serializers.IntegerField()
    method = serializers.ChoiceField(["weeks", "trend"], source="trend.model", allow_null=True, default=None)
    off_by_percent = serializers.FloatField(source="trend.off_by", allow_null=True, default=None)
    full_on = serializers.SerializerMethodField()
    full_from = serializers.SerializerMethodField()
    full_until = serializers.SerializerMethodField()

    @extend_schema_field(serializers.DateField(allow_null=True))
    def get_full_on(self, row: Outlook) -> Any:
        return row.full[0]

    @extend_schema_field(serializers.DateField(allow_null=True))
    def get_full_from(self, row: Outlook) -> Any:
        return row.full[1]

    @extend_schema_field(serializers.DateField(allow_null=True))
    def get_full_until(self, row: Outlook) -> Any:
        return row.full[2]


class OutlookDaysOut(OutlookOut):
    """With every day, past and to come."""

    past = serializers.SerializerMethodField()
    ahead = AheadOut(many=True, source="trend.days", default=list)

    @extend_schema_field(PastDayOut(many=True))
    def get_past(self, row: Outlook) -> Any:
        days = [
            {"day": day, "demand": row.demand[day], "capacity": row.capacity.get(day)}
            for day in sorted(row.demand)
        ]
        return PastDayOut(days, many=True).data


class CapacityView(ApiView):
    plane = "provider"
    permission = P.VIEW
    pagination_class = None

    @extend_schema(responses=OutlookOut(many=True))
    def get(self, request: Request) -> Response:
        """All devices together first, then each resource group."""
        return Response(OutlookOut(outlook_list(), many=True).data)


class PoolCapacityView(ApiView):
    plane = "provider"
    permission = P.VIEW

    @extend_schema(responses=OutlookDaysOut)
    def get(self, request: Request, code: str) -> Response:
        """One pool day by day; "*" is all devices."""
        return Response(OutlookDaysOut(outlook_get(code)).data)
