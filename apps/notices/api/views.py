from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.identity.api.base import ApiView
from apps.notices.api import serializers as s
from apps.notices.selectors import message_get, message_list
from apps.notices.services import message_delete, message_read, message_read_all


class MessagesView(ApiView):
    plane = "both"
    open_because = "a person's own messages"

    @extend_schema(parameters=[s.MessageFilter], responses=s.MessageOut(many=True))
    def get(self, request: Request) -> Response:
        """The caller's messages, newest first."""
        given = s.MessageFilter(data=request.query_params)
        given.is_valid(raise_exception=True)
        return self.page(message_list(actor=self.actor, **given.validated_data), s.MessageOut)


class MessageView(ApiView):
    plane = "both"
    open_because = "a person's own messages"

    @extend_schema(responses=s.MessageOut)
    def get(self, request: Request, uid: UUID) -> Response:
        return Response(s.MessageOut(message_get(actor=self.actor, uid=uid)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, uid: UUID) -> Response:
        message_delete(actor=self.actor, uids=[uid])
        return Response(status=204)


class MessageReadView(ApiView):
    plane = "both"
    open_because = "a person's own messages"

    @extend_schema(request=None, responses=s.MessageOut)
    def post(self, request: Request, uid: UUID) -> Response:
        message_read(actor=self.actor, uids=[uid])
        return Response(s.MessageOut(message_get(actor=self.actor, uid=uid)).data)


class MessagesReadAllView(ApiView):
    plane = "both"
    open_because = "a person's own messages"

    @extend_schema(request=None, responses=s.CountOut)
    def post(self, request: Request) -> Response:
        """Mark every message of the caller read; answers how many were not."""
        return Response({"count": message_read_all(actor=self.actor)})
