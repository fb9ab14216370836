from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.audit.api import serializers as s
from apps.audit.permissions import AuditPermission as P
from apps.audit.selectors import record_list
from apps.identity.api.base import ApiView


class ActsView(ApiView):
    plane = "provider"
    permission = P.VIEW
    ordering = ("-at", "-pk")

    @extend_schema(parameters=[s.RecordFilter], responses=s.RecordOut(many=True))
    def get(self, request: Request) -> Response:
        """Who did what, newest first."""
        given = s.RecordFilter(data=request.query_params)
        given.is_valid(raise_exception=True)
        return self.page(record_list(**given.validated_data), s.RecordOut)
