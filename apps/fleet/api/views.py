"""The operators' nodes and devices."""

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.fleet.api.serializers import DeviceOut, NodeDetailOut, NodeOut, OversubscribeIn
from apps.fleet.models import Device
from apps.fleet.permissions import FleetPermission as P
from apps.fleet.selectors import device_list, node_get, node_list
from apps.fleet.services.nodes.devices import (
    device_disable,
    device_enable,
    device_memory_accept,
    device_oversubscribe,
    device_remove,
    device_slicing_set,
)
from apps.fleet.services.nodes.membership import node_drain, node_remove, node_undrain
from apps.identity.api.base import ApiView
from apps.identity.api.row_action import ActView
from apps.kernel.actor import Actor


class NodesView(ApiView):
    plane = "provider"
    permission = P.VIEW

    @extend_schema(responses=NodeOut(many=True))
    def get(self, request: Request) -> Response:
        """The nodes of the pool, newest first."""
        return self.page(node_list(), NodeOut)


class NodeView(ApiView):
    plane = "provider"
    permission = P.VIEW

    @extend_schema(responses=NodeDetailOut)
    def get(self, request: Request, uid: str) -> Response:
        """A node: address, state, versions of its components, devices, and the tasks on it (POOL-12.17)."""
        return Response(NodeDetailOut(node_get(uid)).data)


@extend_schema(request=None, responses=NodeOut)
class NodeActView(ActView):
    """One thing done to a node; which, the route says."""

    permission = P.MANAGE
    takes, shows = "node_uid", NodeOut


class NodeDrainView(NodeActView):
    act = staticmethod(node_drain)


class NodeUndrainView(NodeActView):
    act = staticmethod(node_undrain)


class NodeRemoveView(NodeActView):
    act = staticmethod(node_remove)


class DevicesView(ApiView):
    plane = "provider"
    permission = P.VIEW

    @extend_schema(parameters=[OpenApiParameter("node", str)], responses=DeviceOut(many=True))
    def get(self, request: Request) -> Response:
        """The devices with what is held of them; `node` is a node's uid."""
        rows = device_list()
        node_uid = request.query_params.get("node", "")
        return self.page(rows.filter(node__uid=node_uid) if node_uid else rows, DeviceOut)


@extend_schema(request=None, responses=DeviceOut)
class DeviceActView(ActView):
    """One thing done to a device; which, the route says."""

    permission = P.MANAGE
    takes, shows = "device_uid", DeviceOut


class DeviceEnableView(DeviceActView):
    act = staticmethod(device_enable)


class DeviceDisableView(DeviceActView):
    act = staticmethod(device_disable)


class DeviceMemoryAcceptView(DeviceActView):
    act = staticmethod(device_memory_accept)


class DeviceSliceView(DeviceActView):
    @staticmethod
    def act(*, actor: Actor, device_uid: str) -> Device:
        return device_slicing_set(actor=actor, device_uid=device_uid, is_sliced=True)


class DeviceUnsliceView(DeviceActView):
    @staticmethod
    def act(*, actor: Actor, device_uid: str) -> Device:
        return device_slicing_set(actor=actor, device_uid=device_uid, is_sliced=False)


class DeviceRemoveView(DeviceActView):
    act = staticmethod(device_remove)


class DeviceOversubscribeView(ApiView):
    plane = "provider"
    permission = P.MANAGE

    @extend_schema(request=OversubscribeIn, responses=DeviceOut)
    def post(self, request: Request, uid: str) -> Response:
        """How often each percent and MiB of it may be held, in permille: 1000 is once (POOL-12.5)."""
        given = OversubscribeIn(data=request.data)
        given.is_valid(raise_exception=True)
        row = device_oversubscribe(actor=self.actor, device_uid=uid, **given.validated_data)
        return Response(DeviceOut(row).data)
