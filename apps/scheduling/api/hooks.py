"""The calls of a site's hooks that were not made (ELA-1102, ELA-1103)."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.identity.api.base import ApiView
from apps.scheduling.models import HookCall
from apps.scheduling.permissions import SchedulingPermission
from apps.scheduling.selectors.workloads import hook_call_list
from apps.scheduling.services.hooks import hook_call_retry


class HookCallOut(serializers.ModelSerializer):
    class Meta:
        model = HookCall
        fields = [
            "uid",
            "hook",
            "kind",
            "schema",
            "workload_uid",
            "at",
            "state",
            "tries",
            "error",
            "next_try_at",
        ]


class HookCallsView(ApiView):
    plane = "provider"
    permission = SchedulingPermission.VIEW

    @extend_schema(responses=HookCallOut(many=True))
    def get(self, request: Request) -> Response:
        """The calls that were not made yet, given up or still tried, newest first."""
        return self.page(hook_call_list(), HookCallOut)


class HookCallRetryView(ApiView):
    plane = "provider"
    permission = SchedulingPermission.MANAGE

    @extend_schema(request=None, responses=HookCallOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """Try a call again that was given up."""
        return Response(HookCallOut(hook_call_retry(actor=self.actor, uid=uid)).data)
