"""The centre's own posts, and who holds them."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.identity.api import serializers as s
from apps.identity.api.base import ApiView
from apps.identity.rules.posts import post_of
from apps.identity.selectors import operator_get, operator_post_list
from apps.identity.services.operator_posts import (
    operator_post_create,
    operator_post_end,
    operator_post_rename,
    operator_post_set,
)


class OperatorPostsView(ApiView):
    plane = "provider"
    permission = "identity.view"
    ordering = ("name",)

    @extend_schema(responses=s.PostOut(many=True))
    def get(self, request: Request) -> Response:
        """The posts, each with how many people hold it."""
        return self.page(operator_post_list(), s.PostOut)

    @extend_schema(request=s.PostIn, responses={201: s.PostOut})
    def post(self, request: Request) -> Response:
        """Make a post, by which tickets can be routed."""
        given = s.PostIn(data=request.data)
        given.is_valid(raise_exception=True)
        row = operator_post_create(actor=self.actor, **given.validated_data)
        return Response(s.PostOut(post_of(operator_post_list(), row.uid)).data, status=201)


class OperatorPostView(ApiView):
    plane = "provider"
    permission = "identity.manage"

    @extend_schema(request=s.PostIn, responses=s.PostOut)
    def patch(self, request: Request, uid: UUID) -> Response:
        """Another name."""
        given = s.PostIn(data=request.data)
        given.is_valid(raise_exception=True)
        row = post_of(operator_post_list(), uid)
        return Response(
            s.PostOut(operator_post_rename(actor=self.actor, post=row, **given.validated_data)).data
        )

    @extend_schema(responses={204: None})
    def delete(self, request: Request, uid: UUID) -> Response:
        """End a post; whoever holds it holds none then."""
        operator_post_end(actor=self.actor, post=post_of(operator_post_list(), uid))
        return Response(status=204)


class OperatorPostGivenView(ApiView):
    plane = "provider"
    permission = "identity.manage"

    @extend_schema(request=s.PostGivenIn, responses=s.OperatorOut)
    def put(self, request: Request, uid: UUID) -> Response:
        """The post that an operator holds from now on."""
        given = s.PostGivenIn(data=request.data)
        given.is_valid(raise_exception=True)
        chosen = given.validated_data["post"]
        post = post_of(operator_post_list(), chosen) if chosen else None
        operator_post_set(actor=self.actor, user=operator_get(actor=self.actor, uid=uid), post=post)
        return Response(s.OperatorOut(operator_get(actor=self.actor, uid=uid)).data)
