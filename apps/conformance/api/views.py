"""The acceptance test over the API: what it consists of, its runs, their signed reports."""

from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.conformance.api import serializers as s
from apps.conformance.catalogue.entries import own, standard
from apps.conformance.permissions import ConformancePermission as P
from apps.conformance.report.forms import FORMS, render
from apps.conformance.selectors import run_get, run_list, verdict_of
from apps.conformance.services import run_ask, run_stop
from apps.identity.api.base import ApiView
from apps.kernel.errors import NotFound


class TestsView(ApiView):
    plane = "provider"
    permission = P.VIEW
    pagination_class = None

    @extend_schema(responses=s.TestOut(many=True))
    def get(self, request: Request) -> Response:
        """The standard's 27 tests and our own, with steps and expectations."""
        return Response(s.TestOut([*standard().values(), *own().values()], many=True).data)


class RunsView(ApiView):
    """Seen by who may see runs; who may start one, the service demands."""

    plane = "provider"
    permission = P.VIEW

    @extend_schema(responses=s.RunRowOut(many=True))
    def get(self, request: Request) -> Response:
        """The runs, newest first."""
        return self.page(run_list(), s.RunRowOut)

    @extend_schema(request=s.RunIn, responses={201: s.RunRowOut})
    def post(self, request: Request) -> Response:
        """Examine the pool; a worker begins at once."""
        given = s.RunIn(data=request.data)
        given.is_valid(raise_exception=True)
        asked = given.validated_data
        row = run_ask(
            actor=self.actor, numbers=asked["tests"], level=asked["level"], is_clauses=asked["clauses"]
        )
        return Response(s.RunRowOut(row).data, status=201)


class RunView(ApiView):
    plane = "provider"
    permission = P.VIEW

    @extend_schema(responses=s.RunOut)
    def get(self, request: Request, uid: UUID) -> Response:
        """One run as far as it has come."""
        return Response(s.RunOut(run_get(uid)).data)


class RunStopView(ApiView):
    plane = "provider"
    permission = P.RUN

    @extend_schema(request=None, responses=s.RunRowOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """Interrupt it; what it made is taken back first."""
        run_stop(actor=self.actor, run=run_get(uid))
        return Response(s.RunRowOut(run_get(uid)).data)


class ReportView(ApiView):
    plane = "provider"
    permission = P.VIEW

    @extend_schema(
        parameters=[s.ReportFilter],
        responses={
            (200, "application/json"): OpenApiResponse(OpenApiTypes.OBJECT),
            (200, "application/pdf"): OpenApiResponse(OpenApiTypes.BINARY),
            (200, "application/xml"): OpenApiResponse(OpenApiTypes.STR),
            (200, "text/plain"): OpenApiResponse(OpenApiTypes.STR),
        },
    )
    def get(self, request: Request, uid: UUID) -> HttpResponse:
        """The signed report, or rendered from it. 404 while the run goes on."""
        given = s.ReportFilter(data=request.query_params)
        given.is_valid(raise_exception=True)
        row, form = run_get(uid), given.validated_data["format"]
        if row.report is None:
            raise NotFound()
        return HttpResponse(render(row.report, form), content_type=FORMS[form][0])


class VerifyView(ApiView):
    no_key_because = "it changes nothing"
    plane = "provider"
    permission = P.VIEW

    @extend_schema(request=OpenApiTypes.OBJECT, responses=s.VerdictOut)
    def post(self, request: Request) -> Response:
        """Whether a report is as it was signed, and by this portal. Nothing is kept."""
        return Response(s.VerdictOut(verdict_of(request.data)).data)
