"""The operators' nodes and devices."""

from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.fleet.api.serializers import DeviceOut, NodeDetailOut, NodeOut
from apps.fleet.permissions import FleetPermission as P
from apps.fleet.selectors import device_list, node_get, node_list
from apps.fleet.services.devices import device_disable, device_enable, device_memory_accept
from apps.fleet.services.nodes import node_drain, node_remove, node_undrain
from apps.identity.api.base import ApiView


class NodesView(ApiView):
    plane = "provider"
    permission = P.VIEW

    @extend_schema(responses=NodeOut(many=True))
    def get(self, request: Request) -> Response:
        """The nodes that were not removed, newest first."""
        return self.page(node_list(), NodeOut)


class NodeView(ApiView):
    plane = "provider"
    permission = P.VIEW

    @extend_schema(responses=NodeDetailOut)
    def get(self, request: Request, uid: str) -> Response:
        """A node with its devices."""
        return Response(NodeDetailOut(node_get(uid)).data)


class NodeActView(ApiView):
    """One thing done to a node; which, the route says."""

    plane = "provider"
    permission = P.MANAGE
    act: ClassVar[Any] = None

    @extend_schema(request=None, responses=NodeOut)
    def post(self, request: Request, uid: str) -> Response:
        return Response(NodeOut(type(self).act(actor=self.actor, node_uid=uid)).data)


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


class DeviceActView(ApiView):
    """One thing done to a device; which, the route says."""

    plane = "provider"
    permission = P.MANAGE
    act: ClassVar[Any] = None

    @extend_schema(request=None, responses=DeviceOut)
    def post(self, request: Request, uid: str) -> Response:
        return Response(DeviceOut(type(self).act(actor=self.actor, device_uid=uid)).data)


class DeviceEnableView(DeviceActView):
    act = staticmethod(device_enable)


class DeviceDisableView(DeviceActView):
    act = staticmethod(device_disable)


class DeviceMemoryAcceptView(DeviceActView):
    act = staticmethod(device_memory_accept)
