"""Work tickets. Operators without a tenant address one by its identifier; they list them under `cases`."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.http import FileResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer

from apps.cases.api.base import CaseView
from apps.identity.api.base import ApiView
from apps.kernel.attached_files import file_answer
from apps.tickets.api import serializers as s
from apps.tickets.models import Ticket
from apps.tickets.selectors import TABS, colleagues_of, ticket_file_get, ticket_get, ticket_list
from apps.tickets.services.by_hand import (
    ticket_ask,
    ticket_close,
    ticket_comment,
    ticket_fields_write,
    ticket_file_add,
    ticket_finish,
    ticket_rate,
    ticket_reopen,
    ticket_reply,
    ticket_step_back,
    ticket_submit,
)
from apps.tickets.services.life import ticket_claim, ticket_hand_over, ticket_return

_SHOWN = "a ticket is shown to its submitter, who may claim it, and who follows the order"
_PART = "its submitter and who works on it take part, and nobody else"


class TicketsView(ApiView):
    open_because = _SHOWN

    @extend_schema(
        parameters=[
            OpenApiParameter("tab", str, enum=TABS),
            OpenApiParameter("search", str),
            OpenApiParameter("state", str),
            OpenApiParameter("category", str, description="The path of a category: with all below it."),
        ],
        responses=s.TicketOut(many=True),
    )
    def get(self, request: Request) -> Response:
        query = request.query_params
        rows = ticket_list(
            actor=self.actor,
            tab=query.get("tab", "submitted"),
            **{name: query.get(name, "") for name in ("search", "state", "category")},
        )
        return self.page(rows, s.TicketOut)

    @extend_schema(request=s.TicketIn, responses={201: s.TicketWholeOut})
    def post(self, request: Request) -> Response:
        """Open a ticket: it goes to whom the category's rule names (PLAT-CFG-27)."""
        given = _given(s.TicketIn, request)
        row = ticket_submit(actor=self.actor, category_uid=given.pop("category"), **given)
        return Response(_whole(self, row), status=201)


def _given(kind: type[BaseSerializer[Any]], request: Request) -> dict[str, Any]:
    given = kind(data=request.data)
    given.is_valid(raise_exception=True)
    return dict(given.validated_data)


def _whole(view: ApiView, row: Ticket) -> Mapping[str, Any]:
    return s.TicketWholeOut(ticket_get(actor=view.actor, uid=row.uid), context={"actor": view.actor}).data


class TicketView(CaseView):
    case_kind = "ticket"
    open_because = _SHOWN

    @extend_schema(responses=s.TicketWholeOut)
    def get(self, request: Request, uid: UUID) -> Response:
        return Response(_whole(self, ticket_get(actor=self.actor, uid=uid)))


class TicketClaimView(CaseView):
    case_kind = "ticket"
    permission = "tickets.work"

    @extend_schema(request=None, responses=s.TicketOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """Take a waiting ticket; of several who try, one gets it."""
        return Response(s.TicketOut(ticket_claim(actor=self.actor, ticket_uid=uid)).data)


class TicketReturnView(CaseView):
    case_kind = "ticket"
    permission = "tickets.work"

    @extend_schema(request=None, responses=s.TicketOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """Give a claimed ticket back."""
        return Response(s.TicketOut(ticket_return(actor=self.actor, ticket_uid=uid)).data)


class TicketColleaguesView(CaseView):
    case_kind = "ticket"
    permission = "tickets.work"
    pagination_class = None

    @extend_schema(responses=s.ColleagueOut(many=True))
    def get(self, request: Request, uid: UUID) -> Response:
        """To whom it can be handed over."""
        rows = colleagues_of(ticket_get(actor=self.actor, uid=uid))
        return Response(s.ColleagueOut(rows, many=True).data)


class TicketHandOverView(CaseView):
    case_kind = "ticket"
    permission = "tickets.work"

    @extend_schema(request=s.TicketHandOverIn, responses=s.TicketOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """Give a claimed ticket to a colleague."""
        given = _given(s.TicketHandOverIn, request)
        row = ticket_hand_over(actor=self.actor, ticket_uid=uid, user_uid=given["user"], text=given["text"])
        return Response(s.TicketOut(row).data)


class TicketAskView(CaseView):
    case_kind = "ticket"
    permission = "tickets.work"

    @extend_schema(request=s.TicketTextIn, responses=s.TicketWholeOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """Ask its submitter something: until the answer the clock of the solution stands."""
        row = ticket_ask(actor=self.actor, ticket_uid=uid, **_given(s.TicketTextIn, request))
        return Response(_whole(self, row))


class TicketFieldsView(CaseView):
    case_kind = "ticket"
    permission = "tickets.work"

    @extend_schema(request=s.TicketDataIn, responses=s.TicketWholeOut)
    def put(self, request: Request, uid: UUID) -> Response:
        """Write into the fields of its form that are for who works on it (PLAT-CFG-26)."""
        row = ticket_fields_write(actor=self.actor, ticket_uid=uid, **_given(s.TicketDataIn, request))
        return Response(_whole(self, row))


class TicketFinishView(CaseView):
    case_kind = "ticket"
    permission = "tickets.work"

    @extend_schema(request=s.TicketAnswerIn, responses=s.TicketWholeOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """The work is done, with what came of it; at a step before the last the ticket goes on to those of the next
        (PLAT-CFG-25). A delivery ticket is executed instead."""
        row = ticket_finish(actor=self.actor, ticket_uid=uid, **_given(s.TicketAnswerIn, request))
        return Response(_whole(self, row))


class TicketStepBackView(CaseView):
    case_kind = "ticket"
    permission = "tickets.work"

    @extend_schema(request=s.TicketTextIn, responses=s.TicketWholeOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """Send it back to the step before, with what is missing."""
        row = ticket_step_back(actor=self.actor, ticket_uid=uid, **_given(s.TicketTextIn, request))
        return Response(_whole(self, row))


class TicketReplyView(CaseView):
    case_kind = "ticket"
    permission = "tickets.open"

    @extend_schema(request=s.TicketAnswerIn, responses=s.TicketWholeOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """Answer what was asked."""
        row = ticket_reply(actor=self.actor, ticket_uid=uid, **_given(s.TicketAnswerIn, request))
        return Response(_whole(self, row))


class TicketCommentView(CaseView):
    case_kind = "ticket"
    open_because = _PART

    @extend_schema(request=s.TicketTextIn, responses=s.TicketWholeOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """Say something to the other side."""
        row = ticket_comment(actor=self.actor, ticket_uid=uid, **_given(s.TicketTextIn, request))
        return Response(_whole(self, row))


class TicketCloseView(CaseView):
    case_kind = "ticket"
    permission = "tickets.open"

    @extend_schema(request=None, responses=s.TicketOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """Its submitter is content, or needs it no more."""
        return Response(s.TicketOut(ticket_close(actor=self.actor, ticket_uid=uid)).data)


class TicketReopenView(CaseView):
    case_kind = "ticket"
    permission = "tickets.open"

    @extend_schema(request=s.TicketTextIn, responses=s.TicketOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """What was done is not it: it waits again."""
        row = ticket_reopen(actor=self.actor, ticket_uid=uid, **_given(s.TicketTextIn, request))
        return Response(s.TicketOut(row).data)


class TicketRateView(CaseView):
    case_kind = "ticket"
    open_because = "its submitter rates it, once, whatever else the role allows"

    @extend_schema(request=s.TicketRateIn, responses=s.TicketOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """Say once how it was handled (PLAT-TODO-13)."""
        row = ticket_rate(actor=self.actor, ticket_uid=uid, **_given(s.TicketRateIn, request))
        return Response(s.TicketOut(row).data)


class TicketFilesView(CaseView):
    case_kind = "ticket"
    parser_classes = [MultiPartParser]
    open_because = _PART

    @extend_schema(request={"multipart/form-data": s.TicketFileIn}, responses={201: s.TicketFileOut})
    def post(self, request: Request, uid: UUID) -> Response:
        """Add a file to a ticket that is not closed."""
        row = ticket_file_add(actor=self.actor, ticket_uid=uid, **_given(s.TicketFileIn, request))
        return Response(s.TicketFileOut(row).data, status=201)


class TicketFileView(ApiView):
    open_because = _SHOWN

    @extend_schema(responses={(200, "application/octet-stream"): OpenApiTypes.BINARY})
    def get(self, request: Request, uid: UUID) -> FileResponse:
        """Download; never shown by the browser itself."""
        return file_answer(ticket_file_get(actor=self.actor, uid=uid))
