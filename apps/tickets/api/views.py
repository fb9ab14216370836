"""Work tickets. Operators without a tenant address one by its identifier; they list them under `cases`."""

from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.cases.api.base import CaseView
from apps.identity.api.base import ApiView
from apps.tickets.api.serializers import TicketOut
from apps.tickets.selectors import TABS, ticket_get, ticket_list
from apps.tickets.services import ticket_claim, ticket_return


class TicketsView(ApiView):
    open_because = "a ticket is shown to its submitter, who may claim it, and who follows the order"

    @extend_schema(
        parameters=[
            OpenApiParameter("tab", str, enum=TABS),
            OpenApiParameter("search", str),
            OpenApiParameter("state", str),
        ],
        responses=TicketOut(many=True),
    )
    def get(self, request: Request) -> Response:
        query = request.query_params
        rows = ticket_list(
            actor=self.actor,
            tab=query.get("tab", "submitted"),
            search=query.get("search", ""),
            state=query.get("state", ""),
        )
        return self.page(rows, TicketOut)


class TicketView(CaseView):
    case_kind = "ticket"
    open_because = "a ticket is shown to its submitter, who may claim it, and who follows the order"

    @extend_schema(responses=TicketOut)
    def get(self, request: Request, uid: UUID) -> Response:
        return Response(TicketOut(ticket_get(actor=self.actor, uid=uid)).data)


class TicketClaimView(CaseView):
    case_kind = "ticket"
    permission = "tickets.work"

    @extend_schema(request=None, responses=TicketOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """Take a waiting ticket; of several who try, one gets it."""
        return Response(TicketOut(ticket_claim(actor=self.actor, ticket_uid=uid)).data)


class TicketReturnView(CaseView):
    case_kind = "ticket"
    permission = "tickets.work"

    @extend_schema(request=None, responses=TicketOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """Give a claimed ticket back."""
        return Response(TicketOut(ticket_return(actor=self.actor, ticket_uid=uid)).data)
