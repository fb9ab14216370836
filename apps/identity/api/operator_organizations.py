"""The centre's own organizations, and which operator is in which (PLAT-TEN-36)."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.identity.api import serializers as s
from apps.identity.api.base import ApiView
from apps.identity.selectors import (
    operator_get,
    operator_organization_get,
    operator_organization_list,
    operator_organization_tree,
)
from apps.identity.services.operator_organizations import (
    operator_move,
    operator_organization_create,
    operator_organization_switch,
    operator_organization_update,
    operator_organizations_delete,
)


class _OrganizationView(ApiView):
    plane = "provider"
    permission = "identity.manage"

    def answer(self, uid: UUID) -> Response:
        row = operator_organization_get(actor=self.actor, uid=uid)
        return Response(s.OperatorOrganizationOut(row).data)

    def placed(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """The body with the row of the organization above."""
        uid = data["parent"]
        parent = operator_organization_get(actor=self.actor, uid=uid) if uid else None
        return {**data, "parent": parent}


class OperatorOrganizationsView(_OrganizationView):
    permission = "identity.view"

    @extend_schema(
        parameters=[OpenApiParameter("search", str)], responses=s.OperatorOrganizationOut(many=True)
    )
    def get(self, request: Request) -> Response:
        """The organizations of the computing centre itself; part of the name narrows."""
        search = request.query_params.get("search", "")
        rows = operator_organization_list(actor=self.actor, search=search)
        return self.page(rows, s.OperatorOrganizationOut)

    @extend_schema(request=s.OrganizationIn, responses={201: s.OperatorOrganizationOut})
    def post(self, request: Request) -> Response:
        given = s.OrganizationIn(data=request.data)
        given.is_valid(raise_exception=True)
        row = operator_organization_create(actor=self.actor, **self.placed(given.validated_data))
        return Response(s.OperatorOrganizationOut(row).data, status=201)


class OperatorOrganizationTreeView(ApiView):
    plane = "provider"
    permission = "identity.view"
    pagination_class = None

    @extend_schema(responses=s.OperatorOrganizationRowOut(many=True))
    def get(self, request: Request) -> Response:
        """The whole tree in reading order; a head count is of the organization and all below it."""
        tree = operator_organization_tree(actor=self.actor)
        return Response(s.OperatorOrganizationRowOut(tree, many=True).data)


class OperatorOrganizationView(_OrganizationView):
    permission = "identity.view"

    @extend_schema(responses=s.OperatorOrganizationOut)
    def get(self, request: Request, uid: UUID) -> Response:
        return self.answer(uid)

    @extend_schema(request=s.OrganizationIn, responses=s.OperatorOrganizationOut)
    def put(self, request: Request, uid: UUID) -> Response:
        """Another name, place or description; without `attributes` those that it has stay."""
        given = s.OrganizationIn(data=request.data)
        given.is_valid(raise_exception=True)
        row = operator_organization_get(actor=self.actor, uid=uid)
        operator_organization_update(actor=self.actor, organization=row, **self.placed(given.validated_data))
        return self.answer(uid)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, uid: UUID) -> Response:
        """Delete an organization that holds nobody and nothing."""
        row = operator_organization_get(actor=self.actor, uid=uid)
        operator_organizations_delete(actor=self.actor, organizations=[row])
        return Response(status=204)


class OperatorOrganizationsDeleteView(_OrganizationView):
    @extend_schema(request=s.OrganizationsIn, responses={204: None})
    def post(self, request: Request) -> Response:
        """Delete several empty organizations, the lower before the upper; all of them or none."""
        given = s.OrganizationsIn(data=request.data)
        given.is_valid(raise_exception=True)
        uids = given.validated_data["organizations"]
        rows = [operator_organization_get(actor=self.actor, uid=uid) for uid in uids]
        operator_organizations_delete(actor=self.actor, organizations=rows)
        return Response(status=204)


class _SwitchView(_OrganizationView):
    def switch(self, uid: UUID, *, is_enabled: bool) -> Response:
        row = operator_organization_get(actor=self.actor, uid=uid)
        operator_organization_switch(actor=self.actor, organization=row, is_enabled=is_enabled)
        return self.answer(uid)


class OperatorOrganizationEnableView(_SwitchView):
    @extend_schema(request=None, responses=s.OperatorOrganizationOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """It takes operators again."""
        return self.switch(uid, is_enabled=True)


class OperatorOrganizationDisableView(_SwitchView):
    @extend_schema(request=None, responses=s.OperatorOrganizationOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """It takes nobody new; who is in it stays."""
        return self.switch(uid, is_enabled=False)


class OperatorPlaceView(ApiView):
    plane = "provider"
    permission = "identity.manage"

    @extend_schema(request=s.OperatorPlaceIn, responses=s.OperatorOut)
    def put(self, request: Request, uid: UUID) -> Response:
        """The operator's one organization from now on; null: he is in none."""
        given = s.OperatorPlaceIn(data=request.data)
        given.is_valid(raise_exception=True)
        place = given.validated_data["organization"]
        organization = operator_organization_get(actor=self.actor, uid=place) if place else None
        operator_move(
            actor=self.actor, user=operator_get(actor=self.actor, uid=uid), organization=organization
        )
        return Response(s.OperatorOut(operator_get(actor=self.actor, uid=uid)).data)
