"""The acceptance test over the API: what it consists of, its runs, their signed reports."""

from uuid import UUID

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.conformance.api import serializers as s
from apps.conformance.catalogue.entries import own, standard
from apps.conformance.permissions import ConformancePermission as P
from apps.conformance.selectors import run_get, run_list
from apps.conformance.services import run_ask, run_stop
from apps.identity.api.base import ApiView
from apps.kernel.errors import NotFound


class TestsView(ApiView):
    plane = "provider"
    permission = P.VIEW

    @extend_schema(responses=s.TestOut(many=True))
    def get(self, request: Request) -> Response:
        """The standard's 27 tests and our own, with steps and expectations."""
        return Response(s.TestOut([*standard().values(), *own().values()], many=True).data)


class RunsView(ApiView):
    """Seen by who may see runs; who may start one, the service demands."""

    plane = "provider"
    permission = P.VIEW
    idempotent = True

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

    @extend_schema(responses=OpenApiTypes.OBJECT)
    def get(self, request: Request, uid: UUID) -> Response:
        """The signed report. 404 while the run goes on."""
        row = run_get(uid)
        if row.report is None:
            raise NotFound()
        return Response(row.report)
