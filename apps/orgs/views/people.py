"""The tenant's people: the list, one person with roles, organization and account, and the ways in (PLAT-TEN-24)."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from apps.centre.selectors import mail_way
from apps.identity.forms import MoveForm, PersonEditForm
from apps.identity.pages.access import cleaned, filter_query, go, page, show
from apps.identity.pages.addresses import portal_address
from apps.identity.pages.lists.declared import Column, PageList
from apps.identity.pages.lists.pages import show_list
from apps.identity.pages.requests import TenantRequest
from apps.identity.rules.role_functions import Side, data_permission_lines, functions_by_role
from apps.identity.selectors import sign_in_way
from apps.identity.services.accounts import may_keep_account
from apps.kernel.actor import Actor
from apps.kernel.translatable import localized
from apps.orgs.addresses import mail_portal
from apps.orgs.forms import (
    InviteForm,
    PeopleFilterForm,
    PersonAddForm,
    PersonForm,
    RolesForm,
)
from apps.orgs.models import Invitation
from apps.orgs.permissions import OrgsPermission as P
from apps.orgs.selectors.business_systems import business_systems_of
from apps.orgs.selectors.organizations import organization_get, organization_tree
from apps.orgs.selectors.people import (
    Person,
    invitation_get,
    invitation_list,
    people_of,
    person_get,
    person_list,
    post_list,
)
from apps.orgs.selectors.roles import role_list, roles_named
from apps.orgs.services import invitation_mails, invitations
from apps.orgs.services import people as services
from apps.orgs.services.roles import may_give

MANAGE = "orgs.manage"
# The ways in that the page for a new person offers; the last to operators, who may add any account.
INVITE, ACCOUNT, KNOWN = "invite", "account", "known"


PEOPLE = PageList(
    Column("name", pgettext_lazy("person", "Name"), sort="user__display_name", value="user.display_name"),
    Column("account", gettext_lazy("Login account"), sort="user__username", value="user.username"),
    Column("email", gettext_lazy("E-mail"), sort="user__email", value="user.email", is_extra=True),
    Column("organization", gettext_lazy("Organization"), value="member.organization.name"),
    Column("post", gettext_lazy("Post"), value="member.post.name", is_extra=True),
    Column(
        "roles",
        gettext_lazy("Roles"),
        value=lambda row: ", ".join(localized(role.name_zh, role.name_en) for role in row.roles),
    ),
    Column("state", gettext_lazy("State"), sort=("user__is_active", "is_active"), value="state_text"),
    order="name",
)


@page("orgs.view")
def people(request: TenantRequest) -> HttpResponseBase:
    """Who belongs to the tenant, with organization and roles (PLAT-TEN-25)."""
    chosen = cleaned(PeopleFilterForm(request.GET))
    actor = request.actor
    organization = (
        organization_get(actor=actor, uid=chosen["organization"]) if chosen["organization"] else None
    )
    found = person_list(actor=actor, search=chosen["search"], organization=organization, role=chosen["role"])
    context = {
        "chosen": chosen,
        "filtered": filter_query(chosen),
        "roles": role_list(),
        "tree": organization_tree(actor=actor),
        "invitations": invitation_list(actor=actor) if actor.may(P.MANAGE) else [],
        "has_mail": mail_way() is not None,
    }
    return show_list(request, "orgs/people", PEOPLE, found, context, prepare=people_of)


@never_cache
@require_http_methods(["GET", "POST"])
@page(MANAGE)
def new(request: TenantRequest) -> HttpResponse:
    """A new person: an invitation, an account with a first password, or somebody who has an account."""
    ways = {INVITE: _invite, ACCOUNT: _account_make, KNOWN: _account_add}
    how = request.POST.get("how") or request.GET.get("how") or INVITE
    how = how if how in ways else INVITE
    context = {
        "how": how,
        "roles": _boxes(request.actor, frozenset()),
        "tree": organization_tree(actor=request.actor),
        "days": invitations.MAX_DAYS,
        "has_mail": mail_way() is not None,
    }
    if request.method == "POST":
        return ways[how](request, context)
    return show(request, "orgs/person_new", context)


def _invite(request: TenantRequest, context: dict[str, Any]) -> HttpResponse:
    given = _placed(request.actor, cleaned(InviteForm(request.POST)))
    is_mailed = given.pop("by_mail")
    by_mail = mail_portal(request, request.entered_tenant) if is_mailed else None
    row, secret = invitations.invitation_make(actor=request.actor, by_mail=by_mail, **given)
    if is_mailed:
        return _goes_by_mail(request, row)
    context |= {"invited": row, "link": f"{portal_address(request, request.entered_tenant)}join/{secret}/"}
    return show(request, "orgs/person_new", context)


def _goes_by_mail(request: TenantRequest, row: Invitation) -> HttpResponse:
    told = _("The invitation of %(name)s goes to %(email)s by mail.") % {"name": row, "email": row.email}
    messages.success(request, told)
    return go(request, "people:people")


def _account_make(request: TenantRequest, context: dict[str, Any]) -> HttpResponse:
    given = _placed(request.actor, cleaned(PersonForm(request.POST)))
    user, password = services.person_make(actor=request.actor, **given)
    context |= {
        "made": user,
        "password": password,
        "address": portal_address(request, request.entered_tenant),
    }
    return show(request, "orgs/person_new", context)


def _account_add(request: TenantRequest, context: dict[str, Any]) -> HttpResponse:
    given = _placed(request.actor, cleaned(PersonAddForm(request.POST)))
    user = services.person_add(actor=request.actor, **given)
    messages.success(request, _("%(name)s belongs to this tenant now.") % {"name": user})
    return go(request, "people:person", user.uid)


def _placed(actor: Actor, given: dict[str, Any]) -> dict[str, Any]:
    """The form's values with rows in place of the organization's uid and the roles' codes."""
    uid = given.pop("organization")
    organization = organization_get(actor=actor, uid=uid) if uid else None
    return {**given, "organization": organization, "roles": roles_named(given["roles"])}


def _boxes(actor: Actor, held: frozenset[str]) -> list[dict[str, Any]]:
    """A check box for each role: whether it is held, and whether the actor may give and take it."""
    return [
        {"role": role, "is_held": role.code in held, "is_open": may_give(actor, role)} for role in role_list()
    ]


@page("orgs.view")
def person(request: TenantRequest, uid: UUID) -> HttpResponse:
    """One person: roles, organization, account, business systems."""
    return _person_page(request, person_get(actor=request.actor, uid=uid), {})


def _person_page(request: TenantRequest, found: Person, more: dict[str, Any]) -> HttpResponse:
    actor = request.actor
    held = frozenset(role.code for role in found.roles)
    context = {
        "person": found,
        "roles": _boxes(actor, held),
        "may_act": actor.may(P.MANAGE) and all(may_give(actor, role) for role in found.roles),
        "may_manage": actor.may(P.MANAGE),
        "may_keep_account": may_keep_account(actor, found.user, request.entered_tenant),
        "is_self": actor.user_id == found.user.pk,
        "way": sign_in_way(found.user, request.entered_tenant) if actor.may(P.MANAGE) else None,
        "tree": organization_tree(actor=actor),
        "posts": post_list(),
        "functions": functions_by_role(Side.TENANT, found.roles),
        "data_permission": data_permission_lines(found.roles),
        "systems": business_systems_of(actor=actor, user_id=found.user.pk),
    }
    return show(request, "orgs/person", context | more)


@require_POST
@page(MANAGE)
def roles_set(request: TenantRequest, uid: UUID) -> HttpResponse:
    """Give and take roles: those ticked are held from now on; those the actor may not touch stay as they are."""
    actor = request.actor
    found = person_get(actor=actor, uid=uid)
    ticked = cleaned(RolesForm(request.POST))["roles"]
    kept = [role.code for role in found.roles if not may_give(actor, role)]
    services.person_roles_set(actor=actor, user=found.user, roles=roles_named([*kept, *ticked]))
    messages.success(request, _("The roles of %(name)s are saved.") % {"name": found.user})
    # Who has just given up the right to see this page goes on to one that he may see.
    is_out = actor.user_id == found.user.pk and actor.role not in ticked
    return go(request, "console:home") if is_out else go(request, "people:person", uid)


@require_POST
@page(MANAGE)
def move(request: TenantRequest, uid: UUID) -> HttpResponse:
    found = person_get(actor=request.actor, uid=uid)
    organization = organization_get(actor=request.actor, uid=cleaned(MoveForm(request.POST))["organization"])
    services.person_move(actor=request.actor, user=found.user, organization=organization)
    names = {"name": found.user, "organization": organization}
    messages.success(request, _("%(name)s belongs to %(organization)s now.") % names)
    return go(request, "people:person", uid)


@require_POST
@page(MANAGE)
def edit(request: TenantRequest, uid: UUID) -> HttpResponse:
    found = person_get(actor=request.actor, uid=uid)
    services.person_edit(actor=request.actor, user=found.user, **cleaned(PersonEditForm(request.POST)))
    messages.success(request, _("Saved."))
    return go(request, "people:person", uid)


@require_POST
@page(MANAGE)
def disable(request: TenantRequest, uid: UUID) -> HttpResponse:
    found = person_get(actor=request.actor, uid=uid)
    services.person_disable(actor=request.actor, user=found.user)
    messages.success(request, _("%(name)s signs in no more; what was open is closed.") % {"name": found.user})
    return go(request, "people:person", uid)


@require_POST
@page(MANAGE)
def enable(request: TenantRequest, uid: UUID) -> HttpResponse:
    found = person_get(actor=request.actor, uid=uid)
    services.person_enable(actor=request.actor, user=found.user)
    messages.success(request, _("%(name)s can sign in again.") % {"name": found.user})
    return go(request, "people:person", uid)


@never_cache
@require_POST
@page(MANAGE)
def password_reset(request: TenantRequest, uid: UUID) -> HttpResponse:
    """A link with which the person chooses a new password, shown on this answer alone."""
    found = person_get(actor=request.actor, uid=uid)
    reset = services.person_password_reset(actor=request.actor, user=found.user)
    again = person_get(actor=request.actor, uid=uid)
    link = portal_address(request, request.entered_tenant) + reset.path
    return _person_page(request, again, {"reset": reset, "link": link})


@require_POST
@page(MANAGE)
def remove(request: TenantRequest, uid: UUID) -> HttpResponse:
    found = person_get(actor=request.actor, uid=uid)
    services.person_remove(actor=request.actor, user=found.user)
    messages.success(request, _("%(name)s no longer belongs to this tenant.") % {"name": found.user})
    return go(request, "people:people")


@require_POST
@page(MANAGE)
def invitation_withdraw(request: TenantRequest, uid: UUID) -> HttpResponse:
    row = invitation_get(actor=request.actor, uid=uid)
    invitations.invitation_withdraw(actor=request.actor, invitation=row)
    messages.success(request, _("The invitation of %(name)s is withdrawn.") % {"name": row})
    return go(request, "people:people")


@require_POST
@page(MANAGE)
def invitation_send(request: TenantRequest, uid: UUID) -> HttpResponse:
    """Send an invitation by mail, or once more, with a new link."""
    row = invitation_get(actor=request.actor, uid=uid)
    portal = mail_portal(request, request.entered_tenant)
    invitation_mails.invitation_send(actor=request.actor, invitation=row, portal=portal)
    return _goes_by_mail(request, row)
