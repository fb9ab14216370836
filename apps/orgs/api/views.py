"""Organizations, members, roles and business systems of the tenant."""

from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.catalog.selectors.ids import uid_of
from apps.identity.api.base import ApiView
from apps.identity.api.serializers import OrganizationIn, OrganizationsIn, RoleFunctionOut
from apps.identity.rules.role_functions import Side, functions_of
from apps.kernel.planes import current_tenant
from apps.orgs.api import serializers as s
from apps.orgs.selectors.organizations import organization_get, organization_list, organization_tree
from apps.orgs.selectors.people import member_get, member_list, tenant_user_get
from apps.orgs.selectors.roles import role_get, role_list
from apps.orgs.services.organizations import (
    member_add,
    member_remove,
    organization_create,
    organization_delete,
    organization_disable,
    organization_enable,
    organization_quotas_set,
    organization_update,
    organizations_delete,
)
from apps.orgs.services.own_roles import role_delete, role_edit, role_make
from apps.scheduling.selectors.entitlements.quotas import organization_quota_list


class OrganizationsView(ApiView):
    permission = "orgs.view"

    @extend_schema(parameters=[OpenApiParameter("search", str)], responses=s.OrganizationOut(many=True))
    def get(self, request: Request) -> Response:
        rows = organization_list(actor=self.actor, search=request.query_params.get("search", ""))
        return self.page(rows, s.OrganizationOut)

    @extend_schema(request=OrganizationIn, responses={201: s.OrganizationOut})
    def post(self, request: Request) -> Response:
        given = OrganizationIn(data=request.data)
        given.is_valid(raise_exception=True)
        fields = dict(given.validated_data)
        parent_uid = fields.pop("parent")
        parent = organization_get(actor=self.actor, uid=parent_uid) if parent_uid else None
        row = organization_create(actor=self.actor, parent=parent, **fields)
        return Response(s.OrganizationOut(row).data, status=201)


class OrganizationView(ApiView):
    permission = "orgs.view"

    @extend_schema(responses=s.OrganizationOut)
    def get(self, request: Request, uid: UUID) -> Response:
        return Response(s.OrganizationOut(organization_get(actor=self.actor, uid=uid)).data)

    @extend_schema(request=OrganizationIn, responses=s.OrganizationOut)
    def put(self, request: Request, uid: UUID) -> Response:
        given = OrganizationIn(data=request.data)
        given.is_valid(raise_exception=True)
        fields = dict(given.validated_data)
        parent_uid = fields.pop("parent")
        parent = organization_get(actor=self.actor, uid=parent_uid) if parent_uid else None
        row = organization_get(actor=self.actor, uid=uid)
        organization_update(actor=self.actor, organization=row, parent=parent, **fields)
        return Response(s.OrganizationOut(row).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, uid: UUID) -> Response:
        organization_delete(actor=self.actor, organization=organization_get(actor=self.actor, uid=uid))
        return Response(status=204)


class OrganizationEnableView(ApiView):
    permission = "orgs.manage"

    @extend_schema(request=None, responses=s.OrganizationOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """It takes new members and business systems again."""
        organization_enable(actor=self.actor, organization=organization_get(actor=self.actor, uid=uid))
        return Response(s.OrganizationOut(organization_get(actor=self.actor, uid=uid)).data)


class OrganizationDisableView(ApiView):
    permission = "orgs.manage"

    @extend_schema(request=None, responses=s.OrganizationOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """It takes no new members and business systems; those it has stay."""
        organization_disable(actor=self.actor, organization=organization_get(actor=self.actor, uid=uid))
        return Response(s.OrganizationOut(organization_get(actor=self.actor, uid=uid)).data)


class OrganizationsDeleteView(ApiView):
    permission = "orgs.manage"

    @extend_schema(request=OrganizationsIn, responses={204: None})
    def post(self, request: Request) -> Response:
        """Delete several empty organizations, the lower before the upper; all of them or none."""
        given = OrganizationsIn(data=request.data)
        given.is_valid(raise_exception=True)
        uids = given.validated_data["organizations"]
        rows = [organization_get(actor=self.actor, uid=uid) for uid in uids]
        organizations_delete(actor=self.actor, organizations=rows)
        return Response(status=204)


class OrganizationQuotaView(ApiView):
    permission = "orgs.view"
    pagination_class = None

    @extend_schema(responses=s.OrganizationQuotaOut(many=True))
    def get(self, request: Request, uid: UUID) -> Response:
        """The five figures of each item, of the organization with all below it."""
        return self._figures(uid)

    @extend_schema(request=s.OrganizationQuotaIn, responses=s.OrganizationQuotaOut(many=True))
    def put(self, request: Request, uid: UUID) -> Response:
        """Set the totals that are named, all or none; they are given out of what is above."""
        given = s.OrganizationQuotaIn(data=request.data)
        given.is_valid(raise_exception=True)
        row = organization_get(actor=self.actor, uid=uid)
        organization_quotas_set(actor=self.actor, organization=row, totals=given.validated_data)
        return self._figures(uid)

    def _figures(self, uid: UUID) -> Response:
        row = organization_get(actor=self.actor, uid=uid)
        lines = organization_quota_list(current_tenant(), row.uid)
        return Response(s.OrganizationQuotaOut(lines, many=True).data)


class OrganizationTreeView(ApiView):
    permission = "orgs.view"
    pagination_class = None

    @extend_schema(responses=s.OrganizationRowOut(many=True))
    def get(self, request: Request) -> Response:
        """The whole tree in reading order with head counts; not paged."""
        return Response(s.OrganizationRowOut(organization_tree(actor=self.actor), many=True).data)


class MembersView(ApiView):
    permission = "orgs.view"

    @extend_schema(
        parameters=[OpenApiParameter("search", str), OpenApiParameter("organization", str)],
        responses=s.MemberOut(many=True),
    )
    def get(self, request: Request) -> Response:
        wanted = request.query_params.get("organization", "")
        organization = organization_get(actor=self.actor, uid=uid_of(wanted)) if wanted else None
        search = request.query_params.get("search", "")
        return self.page(member_list(actor=self.actor, organization=organization, search=search), s.MemberOut)

    @extend_schema(request=s.MemberIn, responses={201: s.MemberOut})
    def post(self, request: Request) -> Response:
        given = s.MemberIn(data=request.data)
        given.is_valid(raise_exception=True)
        user = tenant_user_get(actor=self.actor, username=given.validated_data["username"])
        organization = organization_get(actor=self.actor, uid=given.validated_data["organization"])
        row = member_add(actor=self.actor, user=user, organization=organization)
        return Response(s.MemberOut(row).data, status=201)


class MemberView(ApiView):
    permission = "orgs.view"

    @extend_schema(responses=s.MemberOut)
    def get(self, request: Request, uid: UUID) -> Response:
        return Response(s.MemberOut(member_get(actor=self.actor, uid=uid)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, uid: UUID) -> Response:
        member_remove(actor=self.actor, member=member_get(actor=self.actor, uid=uid))
        return Response(status=204)


class RolesView(ApiView):
    permission = "orgs.view"
    ordering = ("code",)

    @extend_schema(responses=s.TenantRoleOut(many=True))
    def get(self, request: Request) -> Response:
        """The roles that people of the tenant can hold: built-in ones and its own."""
        return self.page(role_list(), s.TenantRoleOut)

    @extend_schema(request=s.TenantRoleIn, responses={201: s.TenantRoleOut})
    def post(self, request: Request) -> Response:
        """Make a role of the tenant's own."""
        given = s.TenantRoleIn(data=request.data)
        given.is_valid(raise_exception=True)
        role = role_make(actor=self.actor, draft=given.draft())
        return Response(s.TenantRoleOut(role).data, status=201)


class RoleView(ApiView):
    permission = "orgs.view"

    @extend_schema(responses=s.TenantRoleOut)
    def get(self, request: Request, code: str) -> Response:
        return Response(s.TenantRoleOut(role_get(code)).data)

    @extend_schema(request=s.TenantRoleIn, responses=s.TenantRoleOut)
    def put(self, request: Request, code: str) -> Response:
        """Change a role of the tenant's own; whoever holds it may do what it says from the next request on."""
        given = s.TenantRoleIn(data=request.data)
        given.is_valid(raise_exception=True)
        role = role_edit(actor=self.actor, role=role_get(code), draft=given.draft())
        return Response(s.TenantRoleOut(role).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, code: str) -> Response:
        """Delete a role of the tenant's own that nobody holds."""
        role_delete(actor=self.actor, role=role_get(code))
        return Response(status=204)


class RoleFunctionsView(ApiView):
    permission = "orgs.view"
    pagination_class = None

    @extend_schema(responses=RoleFunctionOut(many=True))
    def get(self, request: Request) -> Response:
        """What a tenant's roles are made of, in the reader's language."""
        return Response(RoleFunctionOut(functions_of(Side.TENANT), many=True).data)
