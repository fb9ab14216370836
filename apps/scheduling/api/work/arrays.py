"""Arrays: work that was submitted as one for a row of numbers."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.identity.api.base import ApiView
from apps.scheduling.api.serializers import workloads as s
from apps.scheduling.api.serializers.arrays import ArrayOut
from apps.scheduling.api.work.workloads import read
from apps.scheduling.permissions import ResourcePermission
from apps.scheduling.selectors.arrays import array_get, array_list
from apps.scheduling.services.workloads.arrays import array_stop


class ArraysView(ApiView):
    permission = ResourcePermission.VIEW

    @extend_schema(responses=ArrayOut(many=True))
    def get(self, request: Request) -> Response:
        """The tenant's arrays with how far each is, newest first; `GET /workloads?array=` has the tasks of one."""
        return self.page(array_list(self.entered, actor=self.actor), ArrayOut)


class ArrayView(ApiView):
    permission = ResourcePermission.VIEW

    @extend_schema(responses=ArrayOut)
    def get(self, request: Request, uid: UUID) -> Response:
        """One array with how far it is."""
        return Response(ArrayOut(array_get(self.entered, uid, actor=self.actor)).data)


class ArrayStopView(ApiView):
    permission = ResourcePermission.OPERATE

    @extend_schema(request=s.StopIn, responses=ArrayOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """End an array as one: nothing of it starts any more, and what waits or runs ends. Twice changes nothing."""
        reason = read(s.StopIn, request)["reason"]
        row = array_stop(actor=self.actor, tenant=self.entered, array_uid=uid, reason=reason)
        return Response(ArrayOut(row).data)
