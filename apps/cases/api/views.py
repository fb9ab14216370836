"""The operators' list over all tenants."""

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.cases.api.serializers import CaseOut
from apps.cases.selectors import FILTERS, case_list
from apps.identity.api.base import ApiView


class CasesView(ApiView):
    plane = "provider"
    permission = "cases.view"

    @extend_schema(parameters=[OpenApiParameter(name, str) for name in FILTERS], responses=CaseOut(many=True))
    def get(self, request: Request) -> Response:
        """Forms, orders, tickets and approval tasks of all tenants; every filter alone or together."""
        filters = {name: request.query_params.get(name, "") for name in FILTERS}
        return self.page(case_list(actor=self.actor, filters=filters), CaseOut)
