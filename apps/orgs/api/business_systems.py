"""Business systems of the tenant, who takes part in them, and the caller's default."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.identity.api.base import ApiView
from apps.kernel.actor import Actor
from apps.orgs.api import serializers as s
from apps.orgs.models import BusinessSystem
from apps.orgs.selectors.business_systems import (
    business_system_get,
    business_system_list,
    progress_list,
)
from apps.orgs.selectors.organizations import organization_get
from apps.orgs.selectors.people import tenant_user_get
from apps.orgs.services.business_systems import (
    business_system_create,
    business_system_disable,
    business_system_enable,
    business_system_member_add,
    business_system_member_remove,
    business_system_update,
    business_systems_delete,
)
from apps.orgs.services.default_systems import (
    default_system_find,
    default_system_is_usable,
    default_system_set,
    system_named,
)
from apps.orgs.services.progress import progress_report, progress_withdraw


def _named(actor: Actor, data: Mapping[str, Any]) -> dict[str, Any]:
    """What is said of a business system, with the rows that it names."""
    return {
        **data,
        "organization": organization_get(actor=actor, uid=data["organization"]),
        "parent": business_system_get(actor=actor, uid=data["parent"]) if data["parent"] else None,
    }


class BusinessSystemsView(ApiView):
    permission = "orgs.view"

    @extend_schema(responses=s.BusinessSystemOut(many=True))
    def get(self, request: Request) -> Response:
        """Those the caller takes part in; all of them for who manages the tenant's map."""
        return self.page(business_system_list(actor=self.actor), s.BusinessSystemOut)

    @extend_schema(request=s.BusinessSystemIn, responses={201: s.BusinessSystemOut})
    def post(self, request: Request) -> Response:
        given = s.BusinessSystemIn(data=request.data)
        given.is_valid(raise_exception=True)
        row = business_system_create(actor=self.actor, **_named(self.actor, given.validated_data))
        return Response(s.BusinessSystemOut(row).data, status=201)


class BusinessSystemView(ApiView):
    permission = "orgs.view"

    @extend_schema(responses=s.BusinessSystemOut)
    def get(self, request: Request, uid: UUID) -> Response:
        return Response(s.BusinessSystemOut(business_system_get(actor=self.actor, uid=uid)).data)

    @extend_schema(request=s.BusinessSystemIn, responses=s.BusinessSystemOut)
    def put(self, request: Request, uid: UUID) -> Response:
        """Rename it, or move it to another organization or below another business system."""
        given = s.BusinessSystemIn(data=request.data)
        given.is_valid(raise_exception=True)
        row = business_system_get(actor=self.actor, uid=uid)
        named = _named(self.actor, given.validated_data)
        changed = business_system_update(actor=self.actor, business_system=row, **named)
        return Response(s.BusinessSystemOut(changed).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, uid: UUID) -> Response:
        """Delete one that nothing was ever done for."""
        rows = [business_system_get(actor=self.actor, uid=uid)]
        business_systems_delete(actor=self.actor, business_systems=rows)
        return Response(status=204)


class BusinessSystemEnableView(ApiView):
    permission = "orgs.manage"

    @extend_schema(request=None, responses=s.BusinessSystemOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """It may be named again by what is asked for and sent."""
        business_system_enable(
            actor=self.actor, business_system=business_system_get(actor=self.actor, uid=uid)
        )
        return Response(s.BusinessSystemOut(business_system_get(actor=self.actor, uid=uid)).data)


class BusinessSystemDisableView(ApiView):
    permission = "orgs.manage"

    @extend_schema(request=None, responses=s.BusinessSystemOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """Nothing new is asked for or sent for it; what runs and what it cost stay."""
        business_system_disable(
            actor=self.actor, business_system=business_system_get(actor=self.actor, uid=uid)
        )
        return Response(s.BusinessSystemOut(business_system_get(actor=self.actor, uid=uid)).data)


class BusinessSystemsDeleteView(ApiView):
    permission = "orgs.manage"

    @extend_schema(request=s.BusinessSystemsIn, responses={204: None})
    def post(self, request: Request) -> Response:
        """Delete several that nothing was ever done for, parts before the whole; all of them or none."""
        given = s.BusinessSystemsIn(data=request.data)
        given.is_valid(raise_exception=True)
        uids = given.validated_data["business_systems"]
        rows = [business_system_get(actor=self.actor, uid=uid) for uid in uids]
        business_systems_delete(actor=self.actor, business_systems=rows)
        return Response(status=204)


class ProgressView(ApiView):
    permission = "orgs.view"

    @extend_schema(responses=s.ProgressReportOut(many=True))
    def get(self, request: Request, uid: UUID) -> Response:
        """What was reported of how far it is, newest first."""
        row = business_system_get(actor=self.actor, uid=uid)
        return self.page(progress_list(actor=self.actor, business_system=row), s.ProgressReportOut)

    @extend_schema(request=s.ProgressReportIn, responses={201: s.ProgressReportOut})
    def post(self, request: Request, uid: UUID) -> Response:
        """Say how far it is; confirmed by who decides, it stands there."""
        given = s.ProgressReportIn(data=request.data)
        given.is_valid(raise_exception=True)
        row = business_system_get(actor=self.actor, uid=uid)
        made = progress_report(actor=self.actor, business_system=row, **given.validated_data)
        return Response(s.ProgressReportOut(made).data, status=201)


class ProgressWithdrawView(ApiView):
    permission = "orgs.view"

    @extend_schema(request=None, responses=s.ProgressReportOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """Take your own report back, before anybody has decided on it."""
        return Response(s.ProgressReportOut(progress_withdraw(actor=self.actor, uid=uid)).data)


class DefaultSystemView(ApiView):
    permission = "orgs.view"

    @extend_schema(responses=s.DefaultSystemOut)
    def get(self, request: Request) -> Response:
        """The business system that your work and applications are for where they name none."""
        return self._shown(default_system_find(self.actor))

    @extend_schema(request=s.DefaultSystemIn, responses=s.DefaultSystemOut)
    def put(self, request: Request) -> Response:
        """Choose it, of those that you take part in."""
        given = s.DefaultSystemIn(data=request.data)
        given.is_valid(raise_exception=True)
        row = system_named(self.actor, given.validated_data["business_system"])
        default_system_set(actor=self.actor, business_system=row)
        return self._shown(row)

    @extend_schema(responses={204: None})
    def delete(self, request: Request) -> Response:
        """Have none."""
        default_system_set(actor=self.actor, business_system=None)
        return Response(status=204)

    def _shown(self, row: BusinessSystem | None) -> Response:
        is_usable = row is not None and default_system_is_usable(self.actor, row)
        return Response(s.DefaultSystemOut({"business_system": row, "is_usable": is_usable}).data)


class BusinessSystemMembersView(ApiView):
    permission = "orgs.manage"

    @extend_schema(request=s.UsernameIn, responses={204: None})
    def post(self, request: Request, uid: UUID) -> Response:
        """Let a user of the tenant take part."""
        given = s.UsernameIn(data=request.data)
        given.is_valid(raise_exception=True)
        user = tenant_user_get(actor=self.actor, username=given.validated_data["username"])
        row = business_system_get(actor=self.actor, uid=uid)
        business_system_member_add(actor=self.actor, business_system=row, user=user)
        return Response(status=204)


class BusinessSystemMemberView(ApiView):
    permission = "orgs.manage"

    @extend_schema(responses={204: None})
    def delete(self, request: Request, uid: UUID, username: str) -> Response:
        user = tenant_user_get(actor=self.actor, username=username)
        row = business_system_get(actor=self.actor, uid=uid)
        business_system_member_remove(actor=self.actor, business_system=row, user=user)
        return Response(status=204)
