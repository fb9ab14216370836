"""The operators' resource groups, specs, slices and sessions."""

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer

from apps.fleet.api import serializers as s
from apps.fleet.permissions import FleetPermission as P
from apps.fleet.selectors import group_get, group_list, session_list, slice_get, slice_open_list, spec_list
from apps.fleet.services.groups import group_devices_set, group_grant, group_make, group_remove, group_revoke
from apps.fleet.services.slices.moves import slice_move_begin, slice_move_cancel
from apps.fleet.services.specs import spec_disable, spec_enable, spec_make
from apps.identity.api.base import ApiView
from apps.kernel.errors import InvalidInput
from apps.tenancy.selectors import tenant_get, tenant_list


def _given(kind: type[Serializer], request: Request) -> dict[str, Any]:
    form = kind(data=request.data)
    form.is_valid(raise_exception=True)
    return form.validated_data


class PoolView(ApiView):
    """Reading wants `fleet.view`, everything else `fleet.manage`."""

    plane = "provider"
    permission = P.VIEW


# --- resource groups -------------------------------------------------------------------------------------------


def _group(code: str, status: int = 200) -> Response:
    return Response(s.ResourceGroupOut(group_list().get(code=code)).data, status=status)


class GroupsView(PoolView):
    @extend_schema(responses=s.ResourceGroupOut(many=True))
    def get(self, request: Request) -> Response:
        """The resource groups with their devices and grants, newest first (POOL-12.13)."""
        return self.page(group_list(), s.ResourceGroupOut)

    @extend_schema(request=s.NameIn, responses={201: s.ResourceGroupOut})
    def post(self, request: Request) -> Response:
        """A new group, without devices and granted to nobody."""
        row = group_make(actor=self.actor, **_given(s.NameIn, request))
        return _group(row.code, status=201)


class GroupView(PoolView):
    @extend_schema(responses=s.ResourceGroupOut)
    def get(self, request: Request, code: str) -> Response:
        """One group."""
        return _group(group_get(code).code)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, code: str) -> Response:
        """End a group of which nothing is held."""
        group_remove(actor=self.actor, code=code)
        return Response(status=204)


class GroupDevicesView(PoolView):
    permission = P.MANAGE

    @extend_schema(request=s.DevicesIn, responses=s.ResourceGroupOut)
    def put(self, request: Request, code: str) -> Response:
        """Make these the group's devices; those left out are everybody's again."""
        group_devices_set(actor=self.actor, code=code, **_given(s.DevicesIn, request))
        return _group(code)


class GroupGrantsView(PoolView):
    pagination_class = None

    @extend_schema(responses=s.GrantOut(many=True))
    def get(self, request: Request, code: str) -> Response:
        """Whom the group is granted to."""
        row = group_list().get(pk=group_get(code).pk)
        return Response(s.GrantOut(row.grants.all(), many=True).data)

    @extend_schema(request=s.GrantIn, responses={201: s.ResourceGroupOut})
    def post(self, request: Request, code: str) -> Response:
        """Grant it to a tenant: to all its members, or to those named. Granting again replaces that."""
        given = _given(s.GrantIn, request)
        tenant = tenant_list().filter(schema_name=given["tenant"]).first()
        if tenant is None:
            raise InvalidInput(fields={"tenant": given["tenant"]})
        group_grant(actor=self.actor, code=code, tenant=tenant, members=given["members"])
        return _group(code, status=201)


class GroupGrantView(PoolView):
    permission = P.MANAGE

    @extend_schema(responses={204: None})
    def delete(self, request: Request, code: str, tenant: str) -> Response:
        """Take a grant back; what runs goes on."""
        group_revoke(actor=self.actor, code=code, tenant=tenant_get(tenant))
        return Response(status=204)


# --- specs -----------------------------------------------------------------------------------------------------


class SpecsView(PoolView):
    @extend_schema(responses=s.SpecOut(many=True))
    def get(self, request: Request) -> Response:
        """The named shares, newest first (POOL-12.14)."""
        return self.page(spec_list(), s.SpecOut)

    @extend_schema(request=s.SpecIn, responses={201: s.SpecOut})
    def post(self, request: Request) -> Response:
        """Offer a share under a name. It never changes: another share is another spec."""
        row = spec_make(actor=self.actor, **_given(s.SpecIn, request))
        return Response(s.SpecOut(row).data, status=201)


class SpecDisableView(PoolView):
    permission = P.MANAGE

    @extend_schema(request=None, responses=s.SpecOut)
    def post(self, request: Request, code: str) -> Response:
        """Offer it no more; what runs by it goes on."""
        return Response(s.SpecOut(spec_disable(actor=self.actor, code=code)).data)


class SpecEnableView(PoolView):
    permission = P.MANAGE

    @extend_schema(request=None, responses=s.SpecOut)
    def post(self, request: Request, code: str) -> Response:
        """Offer it again."""
        return Response(s.SpecOut(spec_enable(actor=self.actor, code=code)).data)


# --- slices and sessions ---------------------------------------------------------------------------------------


class SlicesView(PoolView):
    @extend_schema(
        parameters=[OpenApiParameter("node", str), OpenApiParameter("device", str)],
        responses=s.SliceOut(many=True),
    )
    def get(self, request: Request) -> Response:
        """The slices that hold a share now, across tenants; `node` and `device` are uids."""
        query = request.query_params
        rows = slice_open_list(node_uid=query.get("node", ""), device_uid=query.get("device", ""))
        return self.page(rows, s.SliceOut)


class SessionsView(PoolView):
    @extend_schema(responses=s.SessionOut(many=True))
    def get(self, request: Request) -> Response:
        """The sessions across tenants, with transport and what is measured of it."""
        return self.page(session_list(), s.SessionOut)


class SessionMoveView(PoolView):
    permission = P.MANAGE

    @extend_schema(request=s.MoveIn, responses={202: s.SessionOut})
    def post(self, request: Request, uid: str) -> Response:
        """Move a running session to another device; the answer is the slice made there (POOL-12.23)."""
        device = _given(s.MoveIn, request)["device"]
        row = slice_move_begin(actor=self.actor, slice_uid=slice_get(uid).uid, device_uid=device)
        return Response(s.SessionOut(slice_get(row.uid)).data, status=202)


class SessionStayView(PoolView):
    permission = P.MANAGE

    @extend_schema(request=None, responses=s.SessionOut)
    def post(self, request: Request, uid: str) -> Response:
        """Call its move off."""
        row = slice_move_cancel(actor=self.actor, slice_uid=slice_get(uid).uid)
        return Response(s.SessionOut(slice_get(row.uid)).data)
