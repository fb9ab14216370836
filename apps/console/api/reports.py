"""Statistics of the pool: resources, tasks, operations, energy (POOL-12.21)."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.console.reports.base import period
from apps.console.reports.table import COLUMNS, REPORTS, report_rows
from apps.identity.api.base import ApiView
from apps.identity.api.sound import MomentField, SoundSerializer
from apps.kernel.errors import NotFound
from apps.telemetry.exports import exported
from apps.telemetry.permissions import ReportPermission as P


class ReportIn(SoundSerializer):
    """From an instant up to another, which is not in it; the last seven days where nothing is said."""

    format = serializers.ChoiceField(["json", "csv"], required=False, default="json")

    def get_fields(self) -> dict[str, Any]:
        return super().get_fields() | {
            "from": MomentField(required=False, source="from_at"),
            "to": MomentField(required=False, source="to_at"),
        }


class ReportOut(serializers.Serializer):
    """`totals` by figure; `sections` by name, each a list of rows with a `name` and figures."""

    report = serializers.CharField()
    totals = serializers.DictField()
    sections = serializers.DictField(child=serializers.ListField(child=serializers.DictField()))

    def get_fields(self) -> dict[str, Any]:
        return super().get_fields() | {
            "from": serializers.DateTimeField(),
            "to": serializers.DateTimeField(),
        }


class ReportView(ApiView):
    plane = "provider"
    permission = P.VIEW

    @extend_schema(
        parameters=[ReportIn],
        responses={
            (200, "application/json"): ReportOut,
            (200, "text/csv"): OpenApiResponse(OpenApiTypes.STR),
        },
    )
    def get(self, request: Request, name: str) -> Any:
        """One of the reports resources, tasks, operations, energy: as JSON, or as CSV with a line for each figure."""
        if name not in REPORTS:
            raise NotFound()
        given = ReportIn(data=request.query_params)
        given.is_valid(raise_exception=True)
        asked = dict(given.validated_data)
        form = asked.pop("format")
        report = REPORTS[name](period(**asked))
        if form == "csv":
            return exported(report_rows(report), COLUMNS, form=form, name=f"report-{name}")
        return Response(report)
