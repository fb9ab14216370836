"""The tenant's posts, and who holds them."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.identity.api import serializers as s
from apps.identity.api.base import ApiView
from apps.identity.rules.posts import post_of
from apps.orgs.api.people_serializers import PersonOut
from apps.orgs.selectors.people import person_get, post_list
from apps.orgs.services.posts import person_post_set, post_create, post_end, post_rename


class PostsView(ApiView):
    permission = "orgs.view"
    ordering = ("name",)

    @extend_schema(responses=s.PostOut(many=True))
    def get(self, request: Request) -> Response:
        """The posts, each with how many people hold it."""
        return self.page(post_list(), s.PostOut)

    @extend_schema(request=s.PostIn, responses={201: s.PostOut})
    def post(self, request: Request) -> Response:
        """Make a post, by which tickets and steps of processes can be routed."""
        given = s.PostIn(data=request.data)
        given.is_valid(raise_exception=True)
        row = post_create(actor=self.actor, **given.validated_data)
        return Response(s.PostOut(post_of(post_list(), row.uid)).data, status=201)


class PostView(ApiView):
    permission = "orgs.manage"

    @extend_schema(request=s.PostIn, responses=s.PostOut)
    def patch(self, request: Request, uid: UUID) -> Response:
        """Another name."""
        given = s.PostIn(data=request.data)
        given.is_valid(raise_exception=True)
        row = post_of(post_list(), uid)
        return Response(s.PostOut(post_rename(actor=self.actor, post=row, **given.validated_data)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, uid: UUID) -> Response:
        """End a post; whoever holds it holds none then."""
        post_end(actor=self.actor, post=post_of(post_list(), uid))
        return Response(status=204)


class PersonPostView(ApiView):
    permission = "orgs.manage"

    @extend_schema(request=s.PostGivenIn, responses=PersonOut)
    def put(self, request: Request, uid: UUID) -> Response:
        """The post that a person holds from now on."""
        given = s.PostGivenIn(data=request.data)
        given.is_valid(raise_exception=True)
        chosen = given.validated_data["post"]
        post = post_of(post_list(), chosen) if chosen else None
        person_post_set(actor=self.actor, user=person_get(actor=self.actor, uid=uid).user, post=post)
        return Response(PersonOut(person_get(actor=self.actor, uid=uid)).data)
