"""What operators keep of the pool for a tenant or a queue (ELA-305)."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.identity.api.base import ApiView
from apps.identity.api.sound import MomentField, SoundSerializer
from apps.scheduling.api.work.workloads import read
from apps.scheduling.models import Reservation
from apps.scheduling.permissions import SchedulingPermission
from apps.scheduling.selectors.workloads import queue_get, reservation_list
from apps.scheduling.services.queues.reservations import reservation_cancel, reservation_make
from apps.tenancy.selectors import tenant_get


class ReservationIn(SoundSerializer):
    """Named devices, which it keeps whole, or a number of devices with so much of each."""

    name = serializers.CharField(max_length=80)
    tenant = serializers.CharField(max_length=63, default="", allow_blank=True)
    queue = serializers.CharField(max_length=48, default="", allow_blank=True)
    device_uids = serializers.ListField(
        child=serializers.CharField(max_length=100), max_length=4096, default=list
    )
    count = serializers.IntegerField(min_value=0, max_value=1_000_000, default=0)
    compute_percent = serializers.IntegerField(min_value=1, max_value=100, default=100)
    memory_mib = serializers.IntegerField(min_value=0, max_value=2**31 - 1, default=0)
    model = serializers.CharField(max_length=200, default="", allow_blank=True)
    from_at = MomentField()
    to_at = MomentField()


class ReservationOut(serializers.ModelSerializer):
    tenant = serializers.CharField(source="tenant.schema_name", default="")
    queue = serializers.CharField(source="queue.code", default="")

    class Meta:
        model = Reservation
        fields = [
            "uid", "name", "tenant", "queue", "device_uids", "count", "compute_percent", "memory_mib", "model",
            "from_at", "to_at", "cancelled_at", "created_at",
        ]  # fmt: skip


class ReservationsView(ApiView):
    plane = "provider"
    permission = SchedulingPermission.VIEW

    @extend_schema(responses=ReservationOut(many=True))
    def get(self, request: Request) -> Response:
        """What is reserved now or later, the next first."""
        return self.page(reservation_list(), ReservationOut)

    @extend_schema(request=ReservationIn, responses={201: ReservationOut})
    def post(self, request: Request) -> Response:
        """Keep a part of the pool for a tenant or a queue; what runs there is not stopped."""
        body = read(ReservationIn, request)
        body["tenant"] = tenant_get(body["tenant"]) if body["tenant"] else None
        body["queue"] = queue_get(body["queue"]) if body["queue"] else None
        return Response(ReservationOut(reservation_make(actor=self.actor, **body)).data, status=201)


class ReservationView(ApiView):
    plane = "provider"
    permission = SchedulingPermission.MANAGE

    @extend_schema(responses={204: None})
    def delete(self, request: Request, uid: UUID) -> Response:
        """Give it back; what runs there goes on."""
        reservation_cancel(actor=self.actor, uid=uid)
        return Response(status=204)
