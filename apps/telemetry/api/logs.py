"""The pool's log: searched, one line read, exported (POOL-12.18)."""

from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.identity.api.base import ApiView
from apps.telemetry.api import serializers as s
from apps.telemetry.exports import exported
from apps.telemetry.permissions import LogPermission as P
from apps.telemetry.selectors import LOG_COLUMNS, log_get, log_list, log_rows


class LogsView(ApiView):
    plane = "provider"
    permission = P.VIEW
    ordering = ("-at", "-pk")

    @extend_schema(parameters=[s.LogFilter], responses=s.LogOut(many=True))
    def get(self, request: Request) -> Response:
        """The log's lines that meet all conditions, newest first: how grave, and of which task's priority."""
        given = s.LogFilter(data=request.query_params)
        given.is_valid(raise_exception=True)
        return self.page(log_list(**given.validated_data), s.LogOut)


class LogsExportView(ApiView):
    plane = "provider"
    permission = P.VIEW

    @extend_schema(
        parameters=[s.ExportFilter],
        responses={
            (200, "text/csv"): OpenApiResponse(OpenApiTypes.STR),
            (200, "application/x-ndjson"): OpenApiResponse(OpenApiTypes.STR),
        },
    )
    def get(self, request: Request) -> StreamingHttpResponse:
        """Exactly the lines that meet the conditions, as CSV or JSON lines."""
        given = s.ExportFilter(data=request.query_params)
        given.is_valid(raise_exception=True)
        asked = dict(given.validated_data)
        form = asked.pop("format")
        return exported(log_rows(log_list(**asked)), LOG_COLUMNS, form=form, name="log")


class LogView(ApiView):
    plane = "provider"
    permission = P.VIEW

    @extend_schema(responses=s.LogOut)
    def get(self, request: Request, pk: int) -> Response:
        """One line of the log."""
        return Response(s.LogOut(log_get(pk)).data)
