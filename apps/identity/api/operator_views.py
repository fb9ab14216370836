"""The centre's own people and their roles."""

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.identity.api import serializers as s
from apps.identity.api.base import ApiView
from apps.identity.api.people_files import FILES, file_sent, form_asked, imported
from apps.identity.pages.people import file_response
from apps.identity.permissions import IdentityPermission as P
from apps.identity.rules.role_functions import Side, functions_of
from apps.identity.selectors import (
    operator_get,
    operator_list,
    operator_organization_get,
    operator_role_get,
    operator_role_list,
    operator_roles_named,
    sign_in_way,
)
from apps.identity.services.operator_files import (
    operators_export,
    operators_import,
    operators_import_try,
    operators_template,
)
from apps.identity.services.operator_roles import operator_role_delete, operator_role_edit, operator_role_make
from apps.identity.services.operators import (
    operator_disable,
    operator_edit,
    operator_enable,
    operator_make,
    operator_password_reset,
    operator_remove,
    operator_roles_set,
)
from apps.kernel.errors import InvalidInput


class OperatorsView(ApiView):
    shows_secret = True
    plane = "provider"
    permission = "identity.view"
    ordering = ("username",)

    @extend_schema(
        parameters=[OpenApiParameter(name, str) for name in ("search", "role", "organization")],
        responses=s.OperatorOut(many=True),
    )
    def get(self, request: Request) -> Response:
        """The centre's own people; an organization's with those of all below."""
        return self.page(operator_list(actor=self.actor, **_asked(self, request)), s.OperatorOut)

    @extend_schema(request=s.OperatorIn, responses={201: s.OperatorMadeOut})
    def post(self, request: Request) -> Response:
        """Make an operator's account; the first password is shown this once."""
        given = s.OperatorIn(data=request.data)
        given.is_valid(raise_exception=True)
        fields = dict(given.validated_data)
        roles = operator_roles_named(fields.pop("roles"))
        user, password = operator_make(actor=self.actor, roles=roles, **fields)
        return Response(s.OperatorMadeOut({"operator": user, "password": password}).data, status=201)


def _asked(view: ApiView, request: Request) -> dict[str, Any]:
    """What the query narrows the operators to."""
    query = request.query_params
    uid = query.get("organization", "")
    organization = operator_organization_get(actor=view.actor, uid=_uid(uid)) if uid else None
    return {"search": query.get("search", ""), "role": query.get("role", ""), "organization": organization}


def _uid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as error:
        raise InvalidInput(fields={"organization": _("This is not an identifier.")}) from error


class OperatorsExportView(ApiView):
    plane = "provider"
    permission = "identity.manage"

    @extend_schema(
        parameters=[
            *(OpenApiParameter(name, str) for name in ("search", "role", "organization")),
            s.FileFormIn,
        ],
        responses=FILES,
    )
    def get(self, request: Request) -> HttpResponse:
        """The operators whom a search finds, as a file that an import takes back."""
        return file_response(
            operators_export(actor=self.actor, form=form_asked(request), **_asked(self, request))
        )


class OperatorsTemplateView(ApiView):
    plane = "provider"
    permission = "identity.manage"

    @extend_schema(parameters=[s.FileFormIn], responses=FILES)
    def get(self, request: Request) -> HttpResponse:
        """A file to begin an import with; as a workbook it lists the roles that may stand in it."""
        return file_response(operators_template(actor=self.actor, form=form_asked(request)))


class OperatorsImportView(ApiView):
    shows_secret = True
    plane = "provider"
    permission = "identity.manage"

    @extend_schema(request={"multipart/form-data": s.PeopleImportIn}, responses=s.PeopleImportOut)
    def post(self, request: Request) -> Response:
        """Operators from a file, at most 100: all of its rows are taken, or none. Who is an operator is changed;
        others get an account."""
        given = s.PeopleImportIn(data=request.data)
        given.is_valid(raise_exception=True)
        data, is_dry = file_sent(given.validated_data), given.validated_data["dry_run"]
        outcomes = (operators_import_try if is_dry else operators_import)(actor=self.actor, data=data)
        return imported(outcomes, is_done=not is_dry)


class OperatorRolesListView(ApiView):
    plane = "provider"
    permission = "identity.view"
    ordering = ("code",)

    @extend_schema(responses=s.OperatorRoleOut(many=True))
    def get(self, request: Request) -> Response:
        """The roles that operators can hold: built-in ones and their own."""
        return self.page(operator_role_list(), s.OperatorRoleOut)

    @extend_schema(request=s.RoleIn, responses={201: s.OperatorRoleOut})
    def post(self, request: Request) -> Response:
        """Make a role of the operators' own."""
        given = s.RoleIn(data=request.data)
        given.is_valid(raise_exception=True)
        role = operator_role_make(actor=self.actor, draft=given.draft())
        return Response(s.OperatorRoleOut(role).data, status=201)


class OperatorRoleView(ApiView):
    plane = "provider"
    permission = "identity.view"

    @extend_schema(responses=s.OperatorRoleOut)
    def get(self, request: Request, code: str) -> Response:
        return Response(s.OperatorRoleOut(operator_role_get(code)).data)

    @extend_schema(request=s.RoleIn, responses=s.OperatorRoleOut)
    def put(self, request: Request, code: str) -> Response:
        """Change a role of the operators' own; whoever holds it may do what it says from the next request on."""
        given = s.RoleIn(data=request.data)
        given.is_valid(raise_exception=True)
        role = operator_role_edit(actor=self.actor, role=operator_role_get(code), draft=given.draft())
        return Response(s.OperatorRoleOut(role).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, code: str) -> Response:
        """Delete a role of the operators' own that nobody holds."""
        operator_role_delete(actor=self.actor, role=operator_role_get(code))
        return Response(status=204)


class OperatorRoleFunctionsView(ApiView):
    plane = "provider"
    permission = "identity.view"
    pagination_class = None

    @extend_schema(responses=s.RoleFunctionOut(many=True))
    def get(self, request: Request) -> Response:
        """What operators' roles are made of, in the reader's language."""
        return Response(s.RoleFunctionOut(functions_of(Side.OPERATOR), many=True).data)


class OperatorView(ApiView):
    plane = "provider"
    permission = "identity.view"

    @extend_schema(responses=s.OperatorDetailOut)
    def get(self, request: Request, uid: UUID) -> Response:
        user = operator_get(actor=self.actor, uid=uid)
        user.sign_in = sign_in_way(user) if self.actor.may(P.MANAGE) else None  # type: ignore[attr-defined]
        return Response(s.OperatorDetailOut(user).data)

    @extend_schema(request=s.PersonEditIn, responses=s.OperatorOut)
    def put(self, request: Request, uid: UUID) -> Response:
        """Another name or e-mail."""
        given = s.PersonEditIn(data=request.data)
        given.is_valid(raise_exception=True)
        operator_edit(actor=self.actor, user=operator_get(actor=self.actor, uid=uid), **given.validated_data)
        return Response(s.OperatorOut(operator_get(actor=self.actor, uid=uid)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, uid: UUID) -> Response:
        """Take somebody off the operators' side, with all roles there."""
        operator_remove(actor=self.actor, user=operator_get(actor=self.actor, uid=uid))
        return Response(status=204)


class OperatorRolesView(ApiView):
    plane = "provider"
    permission = "identity.manage"

    @extend_schema(request=s.OperatorRolesIn, responses=s.OperatorOut)
    def put(self, request: Request, uid: UUID) -> Response:
        """The roles held from now on, by their codes: those not named are taken."""
        given = s.OperatorRolesIn(data=request.data)
        given.is_valid(raise_exception=True)
        user = operator_get(actor=self.actor, uid=uid)
        operator_roles_set(
            actor=self.actor, user=user, roles=operator_roles_named(given.validated_data["roles"])
        )
        return Response(s.OperatorOut(operator_get(actor=self.actor, uid=uid)).data)


class OperatorDisableView(ApiView):
    plane = "provider"
    permission = "identity.manage"

    @extend_schema(request=None, responses=s.OperatorOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """Signs in no more; open sessions and tokens end at once."""
        operator_disable(actor=self.actor, user=operator_get(actor=self.actor, uid=uid))
        return Response(s.OperatorOut(operator_get(actor=self.actor, uid=uid)).data)


class OperatorEnableView(ApiView):
    plane = "provider"
    permission = "identity.manage"

    @extend_schema(request=None, responses=s.OperatorOut)
    def post(self, request: Request, uid: UUID) -> Response:
        operator_enable(actor=self.actor, user=operator_get(actor=self.actor, uid=uid))
        return Response(s.OperatorOut(operator_get(actor=self.actor, uid=uid)).data)


class OperatorPasswordView(ApiView):
    shows_secret = True
    plane = "provider"
    permission = "identity.manage"

    @extend_schema(request=None, responses=s.ResetLinkOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """End the password and make a link, shown this once, with which the operator chooses a new one."""
        user = operator_get(actor=self.actor, uid=uid)
        return Response(s.ResetLinkOut(operator_password_reset(actor=self.actor, user=user)).data)
