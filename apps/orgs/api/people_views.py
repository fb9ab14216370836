"""The tenant's people: who belongs to it, their roles, and invitations."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.catalog.selectors.ids import uid_of
from apps.identity.api.base import ApiView, OpenView
from apps.identity.api.people_files import FILES, file_sent, form_asked, imported
from apps.identity.api.serializers import (
    FileFormIn,
    PeopleImportOut,
    PersonEditIn,
    ResetLinkOut,
    SignInWayOut,
)
from apps.identity.pages.addresses import address_of
from apps.identity.pages.people import file_response
from apps.identity.selectors import sign_in_way
from apps.identity.services.password_sign_in import sign_in_check
from apps.kernel.actor import ANONYMOUS
from apps.kernel.errors import NotFound
from apps.kernel.planes import in_tenant
from apps.orgs.addresses import mail_portal
from apps.orgs.api import people_serializers as s
from apps.orgs.permissions import OrgsPermission as P
from apps.orgs.selectors.business_systems import business_systems_of
from apps.orgs.selectors.organizations import organization_get
from apps.orgs.selectors.people import Person, invitation_get, invitation_list, person_get, person_list
from apps.orgs.selectors.roles import roles_named
from apps.orgs.services import invitations, people, people_files
from apps.orgs.services.invitation_mails import MailPortal, invitation_send
from apps.tenancy.selectors import tenant_active_list


class PeopleView(ApiView):
    shows_secret = True
    permission = "orgs.view"
    ordering = ("pk",)

    @extend_schema(
        parameters=[OpenApiParameter(name, str) for name in ("search", "organization", "role")],
        responses=s.PersonRowOut(many=True),
    )
    def get(self, request: Request) -> Response:
        """Who belongs to the tenant: disabled people too; an organization's with those of all below."""
        return self.page(person_list(actor=self.actor, **_asked(self, request)), s.PersonRowOut)

    @extend_schema(request=s.PersonIn, responses={201: s.PersonMadeOut})
    def post(self, request: Request) -> Response:
        """Make an account in this tenant; its first password is shown this once."""
        given = s.PersonIn(data=request.data)
        given.is_valid(raise_exception=True)
        user, password = people.person_make(actor=self.actor, **_placed(self, given.validated_data))
        person = person_get(actor=self.actor, uid=user.uid)
        return Response(s.PersonMadeOut({"person": person, "password": password}).data, status=201)


def _asked(view: ApiView, request: Request) -> dict[str, Any]:
    """What the query narrows the people to."""
    query = request.query_params
    wanted = query.get("organization", "")
    organization = organization_get(actor=view.actor, uid=uid_of(wanted)) if wanted else None
    return {"search": query.get("search", ""), "organization": organization, "role": query.get("role", "")}


def _placed(view: ApiView, data: Mapping[str, Any]) -> dict[str, Any]:
    """The body with rows in place of the organization's uid and the roles' codes."""
    fields = dict(data)
    uid, codes = fields.pop("organization"), fields.pop("roles")
    organization = organization_get(actor=view.actor, uid=uid) if uid else None
    return {**fields, "organization": organization, "roles": roles_named(codes)}


def _mail_asked(view: ApiView, by_mail: bool) -> MailPortal | None:
    return mail_portal(view.request._request, view.entered) if by_mail else None


class PeopleExportView(ApiView):
    permission = "orgs.manage"

    @extend_schema(
        parameters=[
            *(OpenApiParameter(name, str) for name in ("search", "organization", "role")),
            FileFormIn,
        ],
        responses=FILES,
    )
    def get(self, request: Request) -> HttpResponse:
        """The people whom a search finds, as a file that an import takes back."""
        return file_response(
            people_files.people_export(actor=self.actor, form=form_asked(request), **_asked(self, request))
        )


class PeopleTemplateView(ApiView):
    permission = "orgs.manage"

    @extend_schema(parameters=[FileFormIn], responses=FILES)
    def get(self, request: Request) -> HttpResponse:
        """A file to begin an import with; as a workbook it lists the organizations and roles that may stand in it."""
        return file_response(people_files.people_template(actor=self.actor, form=form_asked(request)))


class PeopleImportView(ApiView):
    shows_secret = True
    permission = "orgs.manage"

    @extend_schema(request={"multipart/form-data": s.TenantPeopleImportIn}, responses=PeopleImportOut)
    def post(self, request: Request) -> Response:
        """People from a file, at most 1000: all of its rows are taken, or none. Who is here is changed; others are
        invited."""
        given = s.TenantPeopleImportIn(data=request.data)
        given.is_valid(raise_exception=True)
        data, is_dry = file_sent(given.validated_data), given.validated_data["dry_run"]
        by_mail = _mail_asked(self, given.validated_data["by_mail"])
        take = people_files.people_import_try if is_dry else people_files.people_import
        outcomes = take(actor=self.actor, data=data, days=given.validated_data["days"], by_mail=by_mail)
        return imported(outcomes, is_done=not is_dry)


class PeopleAddView(ApiView):
    permission = "orgs.manage"

    @extend_schema(request=s.PersonAddIn, responses={201: s.PersonOut})
    def post(self, request: Request) -> Response:
        """Let somebody who has an account belong to the tenant; other than operators only who was here before."""
        given = s.PersonAddIn(data=request.data)
        given.is_valid(raise_exception=True)
        user = people.person_add(actor=self.actor, **_placed(self, given.validated_data))
        return Response(s.PersonOut(person_get(actor=self.actor, uid=user.uid)).data, status=201)


class _PersonView(ApiView):
    permission = "orgs.manage"

    def person(self, uid: UUID) -> Person:
        return person_get(actor=self.actor, uid=uid)

    def answer(self, uid: UUID) -> Response:
        return Response(s.PersonOut(self.person(uid)).data)


class PersonView(_PersonView):
    permission = "orgs.view"

    @extend_schema(responses=s.PersonDetailOut)
    def get(self, request: Request, uid: UUID) -> Response:
        """With the business systems he takes part in and, for who manages people, how he signs in."""
        person = self.person(uid)
        systems = business_systems_of(actor=self.actor, user_id=person.user.pk)
        way = sign_in_way(person.user, self.tenant) if self.actor.may(P.MANAGE) else None
        more = {
            "business_systems": s.PersonSystemOut(systems, many=True).data,
            "sign_in": SignInWayOut(way).data if way else None,
        }
        return Response({**s.PersonOut(person).data, **more})

    @extend_schema(request=PersonEditIn, responses=s.PersonOut)
    def put(self, request: Request, uid: UUID) -> Response:
        """Another name or e-mail."""
        given = PersonEditIn(data=request.data)
        given.is_valid(raise_exception=True)
        people.person_edit(actor=self.actor, user=self.person(uid).user, **given.validated_data)
        return self.answer(uid)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, uid: UUID) -> Response:
        """Take a person out of the tenant with all roles in it; the account stays."""
        people.person_remove(actor=self.actor, user=self.person(uid).user)
        return Response(status=204)


class PersonRolesView(_PersonView):
    @extend_schema(request=s.PersonRolesIn, responses=s.PersonOut)
    def put(self, request: Request, uid: UUID) -> Response:
        """The roles held from now on, by their codes: those not named are taken."""
        given = s.PersonRolesIn(data=request.data)
        given.is_valid(raise_exception=True)
        roles = roles_named(given.validated_data["roles"])
        people.person_roles_set(actor=self.actor, user=self.person(uid).user, roles=roles)
        return self.answer(uid)


class PersonOrganizationView(_PersonView):
    @extend_schema(request=s.PersonMoveIn, responses=s.PersonOut)
    def put(self, request: Request, uid: UUID) -> Response:
        """The person's one organization from now on."""
        given = s.PersonMoveIn(data=request.data)
        given.is_valid(raise_exception=True)
        organization = organization_get(actor=self.actor, uid=given.validated_data["organization"])
        people.person_move(actor=self.actor, user=self.person(uid).user, organization=organization)
        return self.answer(uid)


class PersonDisableView(_PersonView):
    @extend_schema(request=None, responses=s.PersonOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """Enters the tenant no more; open sessions, and tokens for it, end at once. Roles are kept."""
        people.person_disable(actor=self.actor, user=self.person(uid).user)
        return self.answer(uid)


class PersonEnableView(_PersonView):
    @extend_schema(request=None, responses=s.PersonOut)
    def post(self, request: Request, uid: UUID) -> Response:
        people.person_enable(actor=self.actor, user=self.person(uid).user)
        return self.answer(uid)


class PersonPasswordView(_PersonView):
    shows_secret = True

    @extend_schema(request=None, responses=ResetLinkOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """End the password and what was open with it, and make a link, shown this once, to choose a new one by."""
        link = people.person_password_reset(actor=self.actor, user=self.person(uid).user)
        return Response(ResetLinkOut(link).data)


class InvitationsView(ApiView):
    shows_secret = True
    permission = "orgs.manage"

    @extend_schema(responses=s.InvitationOut(many=True))
    def get(self, request: Request) -> Response:
        """Invitations that nobody has used or withdrawn."""
        return self.page(invitation_list(actor=self.actor), s.InvitationOut)

    @extend_schema(request=s.InvitationIn, responses={201: s.InvitationMadeOut})
    def post(self, request: Request) -> Response:
        """Invite one person; the link's secret is shown this once, or the link is sent by mail."""
        given = s.InvitationIn(data=request.data)
        given.is_valid(raise_exception=True)
        fields = _placed(self, given.validated_data)
        by_mail = _mail_asked(self, fields.pop("by_mail"))
        row, secret = invitations.invitation_make(actor=self.actor, by_mail=by_mail, **fields)
        row.secret = secret
        return Response(s.InvitationMadeOut(row).data, status=201)


class InvitationSendView(ApiView):
    permission = "orgs.manage"

    @extend_schema(request=None, responses={202: s.InvitationOut})
    def post(self, request: Request, uid: UUID) -> Response:
        """Send an open invitation by mail, or once more: with a new link, which ends the one before."""
        portal = mail_portal(request._request, self.entered)
        row = invitation_get(actor=self.actor, uid=uid)
        invitation_send(actor=self.actor, invitation=row, portal=portal)
        return Response(s.InvitationOut(invitation_get(actor=self.actor, uid=uid)).data, status=202)


class InvitationWithdrawView(ApiView):
    permission = "orgs.manage"

    @extend_schema(request=None, responses={204: None})
    def post(self, request: Request, uid: UUID) -> Response:
        invitations.invitation_withdraw(
            actor=self.actor, invitation=invitation_get(actor=self.actor, uid=uid)
        )
        return Response(status=204)


class InvitationAcceptView(OpenView):
    no_key_because = "the invitation is spent once: a repeat finds it used"
    open_because = "the invitation's secret is what lets one in"

    @extend_schema(request=s.InvitationAcceptIn, responses={201: s.JoinedOut}, auth=[])
    def post(self, request: Request) -> Response:
        """Join the tenant: with a new account, or with the account and password one has."""
        given = s.InvitationAcceptIn(data=request.data)
        given.is_valid(raise_exception=True)
        data = given.validated_data
        if not tenant_active_list().filter(schema_name=data["tenant"]).exists():
            raise NotFound()
        with in_tenant(data["tenant"]):
            user = _joined(data, address_of(request._request))
        return Response(s.JoinedOut({"tenant": data["tenant"], "username": user.username}).data, status=201)


def _joined(data: Mapping[str, Any], address: str | None) -> Any:
    if data["display_name"]:
        fields = {name: data[name] for name in ("secret", "username", "display_name", "password")}
        return invitations.invitation_accept_new(actor=ANONYMOUS, **fields)
    invitations.invitation_find(data["secret"])
    user = sign_in_check(username=data["username"], password=data["password"], schema=None, address=address)
    return invitations.invitation_accept(actor=ANONYMOUS, secret=data["secret"], user=user)
