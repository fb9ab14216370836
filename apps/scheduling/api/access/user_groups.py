"""Groups of users, by which queues are theirs (PLAT-CLU-61)."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.identity.api.base import ApiView
from apps.identity.api.sound import SoundSerializer
from apps.scheduling.api.work.workloads import read
from apps.scheduling.models import UserGroup
from apps.scheduling.permissions import SchedulingPermission
from apps.scheduling.selectors.entitlements.resource_tickets import (
    user_group_get,
    user_group_list,
    users_find,
)
from apps.scheduling.services.entitlements.user_groups import (
    user_group_change,
    user_group_make,
    user_group_remove,
)


class UserGroupOut(serializers.ModelSerializer):
    users = serializers.SlugRelatedField(slug_field="username", many=True, read_only=True)
    queues = serializers.SlugRelatedField(slug_field="code", many=True, read_only=True)

    class Meta:
        model = UserGroup
        fields = ["code", "name_en", "name_zh", "users", "queues"]


class UserGroupChangeIn(SoundSerializer):
    """`users` are login accounts, of any tenants: all of the group."""

    name_en = serializers.CharField(max_length=80)
    name_zh = serializers.CharField(max_length=80)
    users = serializers.ListField(
        child=serializers.CharField(max_length=150), max_length=10_000, default=list
    )


class UserGroupIn(UserGroupChangeIn):
    code = serializers.SlugField(max_length=48)


class UserGroupsView(ApiView):
    plane = "provider"
    permission = SchedulingPermission.VIEW

    @extend_schema(responses=UserGroupOut(many=True))
    def get(self, request: Request) -> Response:
        """The groups with their users, and the queues that are for them."""
        return self.page(user_group_list(), UserGroupOut)

    @extend_schema(request=UserGroupIn, responses={201: UserGroupOut})
    def post(self, request: Request) -> Response:
        """Make a group."""
        row = user_group_make(actor=self.actor, **_given(read(UserGroupIn, request)))
        return Response(UserGroupOut(user_group_get(row.code)).data, status=201)


class UserGroupView(ApiView):
    plane = "provider"
    permission = SchedulingPermission.VIEW

    @extend_schema(responses=UserGroupOut)
    def get(self, request: Request, code: str) -> Response:
        return Response(UserGroupOut(user_group_get(code)).data)

    @extend_schema(request=UserGroupChangeIn, responses=UserGroupOut)
    def put(self, request: Request, code: str) -> Response:
        """Other names, other users; the next submission follows it."""
        given = _given(read(UserGroupChangeIn, request))
        user_group_change(actor=self.actor, group=user_group_get(code), **given)
        return Response(UserGroupOut(user_group_get(code)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, code: str) -> Response:
        """Remove it; refused while a queue is for it."""
        user_group_remove(actor=self.actor, group=user_group_get(code))
        return Response(status=204)


def _given(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "users": users_find(body["users"])}
