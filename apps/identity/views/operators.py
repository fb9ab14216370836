"""The operators' page of the centre's own people: accounts and roles (PLAT-TEN-37)."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from apps.identity.forms import (
    FileForm,
    MoveForm,
    OperatorFilterForm,
    OperatorForm,
    OperatorRolesForm,
    PersonEditForm,
)
from apps.identity.models import OperatorRole, User
from apps.identity.pages.access import cleaned, filter_query, go, operator_page, show
from apps.identity.pages.addresses import portal_address
from apps.identity.pages.lists.declared import Column, PageList
from apps.identity.pages.lists.pages import show_list
from apps.identity.pages.people import ImportPage, file_response, import_page
from apps.identity.pages.requests import PortalRequest
from apps.identity.permissions import IdentityPermission as P
from apps.identity.rules.people_file import Outcome
from apps.identity.rules.role_functions import Side, functions_by_role
from apps.identity.selectors import (
    operator_get,
    operator_list,
    operator_organization_get,
    operator_organization_tree,
    operator_post_list,
    operator_role_list,
    operator_roles_named,
    sign_in_way,
)
from apps.identity.services import operator_files
from apps.identity.services import operators as services
from apps.identity.services.operator_organizations import operator_move
from apps.kernel.actor import Actor
from apps.kernel.translatable import localized

VIEW, MANAGE = "identity.view", "identity.manage"


def _roles_text(row: User) -> str:
    bindings = row.operator_bindings.all()
    return ", ".join(localized(binding.role.name_zh, binding.role.name_en) for binding in bindings)


OPERATORS = PageList(
    Column("name", pgettext_lazy("person", "Name"), sort="display_name", value="display_name"),
    Column("account", gettext_lazy("Login account"), sort="username", value="username"),
    Column("email", gettext_lazy("E-mail"), sort="email", value="email", is_extra=True),
    Column(
        "organization", gettext_lazy("Organization"), sort="organization__name", value="organization.name"
    ),
    Column("roles", gettext_lazy("Roles"), value=_roles_text),
    Column("signed_in", gettext_lazy("Last sign-in"), sort="last_login", value="last_login"),
    Column("enabled", gettext_lazy("Enabled"), sort="is_active", value="is_active"),
    order="name",
)


@operator_page(VIEW)
def operators(request: PortalRequest) -> HttpResponseBase:
    """Who works for the computing centre, with roles."""
    chosen = cleaned(OperatorFilterForm(request.GET))
    context = {
        "chosen": chosen,
        "filtered": filter_query(chosen),
        "roles": operator_role_list(),
        "tree": operator_organization_tree(actor=request.actor),
    }
    rows = operator_list(actor=request.actor, **_narrowed(request, chosen))
    return show_list(request, "identity/operators", OPERATORS, rows, context)


def _narrowed(request: PortalRequest, chosen: dict[str, Any]) -> dict[str, Any]:
    """The filter with the organization in place of its uid."""
    uid = chosen["organization"]
    organization = operator_organization_get(actor=request.actor, uid=uid) if uid else None
    return chosen | {"organization": organization}


@never_cache
@require_http_methods(["GET", "POST"])
@operator_page(MANAGE)
def new(request: PortalRequest) -> HttpResponse:
    context: dict[str, Any] = {"roles": _boxes(request.actor, frozenset())}
    if request.method == "POST":
        given = cleaned(OperatorForm(request.POST))
        roles = operator_roles_named(given.pop("roles"))
        user, password = services.operator_make(actor=request.actor, roles=roles, **given)
        context |= {"made": user, "password": password, "address": portal_address(request, None)}
    return show(request, "identity/operator_new", context)


def _boxes(actor: Actor, held: frozenset[str]) -> list[dict[str, Any]]:
    """A check box for each role: whether it is held, and whether the actor may give and take it."""
    return [
        {"role": role, "is_held": role.code in held, "is_open": _may_give(actor, role)}
        for role in operator_role_list()
    ]


def _may_give(actor: Actor, role: OperatorRole) -> bool:
    return actor.may(P.GRANT) or actor.permissions.issuperset(role.permissions)


@require_GET
@operator_page(MANAGE)
def export(request: PortalRequest) -> HttpResponse:
    """The operators that the list shows, as a file."""
    form = cleaned(FileForm(request.GET))["format"]
    chosen = cleaned(OperatorFilterForm(request.GET))
    found = _narrowed(request, chosen)
    return file_response(operator_files.operators_export(actor=request.actor, form=form, **found))


@require_GET
@operator_page(MANAGE)
def import_template(request: PortalRequest) -> HttpResponse:
    """A file to begin with."""
    form = cleaned(FileForm(request.GET))["format"]
    return file_response(operator_files.operators_template(actor=request.actor, form=form))


@never_cache
@require_http_methods(["GET", "POST"])
@operator_page(MANAGE)
def import_file(request: PortalRequest) -> HttpResponse:
    """Operators from a file: who is one is changed, others get an account whose first password is shown once."""
    actor = request.actor

    def taken(data: bytes, seen: str) -> list[Outcome]:
        return operator_files.operators_import(actor=actor, data=data, seen=seen)

    return import_page(
        request,
        ImportPage(
            tried=lambda data: operator_files.operators_import_try(actor=actor, data=data),
            taken=taken,
            way_in="",
            context={
                "people_url": "operators:operators",
                "import_url": "operators:import",
                "template_url": "operators:import_template",
                "rows_max": operator_files.OPERATOR_ROWS_MAX,
                "address": portal_address(request, None),
            },
        ),
    )


@operator_page(VIEW)
def operator(request: PortalRequest, uid: UUID) -> HttpResponse:
    """One operator: roles and account."""
    return _operator_page(request, operator_get(actor=request.actor, uid=uid), {})


def _roles_of(user: User) -> list[OperatorRole]:
    return [binding.role for binding in user.operator_bindings.all()]


def _operator_page(request: PortalRequest, user: User, more: dict[str, Any]) -> HttpResponse:
    actor, roles = request.actor, _roles_of(user)
    context = {
        "person": user,
        "held": roles,
        "functions": functions_by_role(Side.OPERATOR, roles),
        "roles": _boxes(actor, frozenset(role.code for role in roles)),
        "may_manage": actor.may(P.MANAGE),
        "may_act": actor.may(P.MANAGE) and all(_may_give(actor, role) for role in roles),
        "is_self": actor.user_id == user.pk,
        "tree": operator_organization_tree(actor=actor),
        "posts": operator_post_list(),
        "way": sign_in_way(user) if actor.may(P.MANAGE) else None,
    }
    return show(request, "identity/operator", context | more)


@require_POST
@operator_page(MANAGE)
def roles_set(request: PortalRequest, uid: UUID) -> HttpResponse:
    """Give and take roles: those ticked are held from now on; those the actor may not touch stay as they are."""
    actor = request.actor
    user = operator_get(actor=actor, uid=uid)
    ticked = cleaned(OperatorRolesForm(request.POST))["roles"]
    kept = [role.code for role in _roles_of(user) if not _may_give(actor, role)]
    services.operator_roles_set(actor=actor, user=user, roles=operator_roles_named([*kept, *ticked]))
    messages.success(request, _("The roles of %(name)s are saved.") % {"name": user})
    is_out = actor.user_id == user.pk and actor.role not in ticked
    return go(request, "operator:home") if is_out else go(request, "operators:operator", uid)


@require_POST
@operator_page(MANAGE)
def move(request: PortalRequest, uid: UUID) -> HttpResponse:
    """The operator's one organization from now on."""
    actor = request.actor
    user = operator_get(actor=actor, uid=uid)
    place = cleaned(MoveForm(request.POST))["organization"]
    organization = operator_organization_get(actor=actor, uid=place)
    operator_move(actor=actor, user=user, organization=organization)
    names = {"name": user, "organization": organization}
    messages.success(request, _("%(name)s belongs to %(organization)s now.") % names)
    return go(request, "operators:operator", uid)


@require_POST
@operator_page(MANAGE)
def edit(request: PortalRequest, uid: UUID) -> HttpResponse:
    user = operator_get(actor=request.actor, uid=uid)
    services.operator_edit(actor=request.actor, user=user, **cleaned(PersonEditForm(request.POST)))
    messages.success(request, _("Saved."))
    return go(request, "operators:operator", uid)


@require_POST
@operator_page(MANAGE)
def disable(request: PortalRequest, uid: UUID) -> HttpResponse:
    user = operator_get(actor=request.actor, uid=uid)
    services.operator_disable(actor=request.actor, user=user)
    messages.success(request, _("%(name)s signs in no more; what was open is closed.") % {"name": user})
    return go(request, "operators:operator", uid)


@require_POST
@operator_page(MANAGE)
def enable(request: PortalRequest, uid: UUID) -> HttpResponse:
    user = operator_get(actor=request.actor, uid=uid)
    services.operator_enable(actor=request.actor, user=user)
    messages.success(request, _("%(name)s can sign in again.") % {"name": user})
    return go(request, "operators:operator", uid)


@never_cache
@require_POST
@operator_page(MANAGE)
def password_reset(request: PortalRequest, uid: UUID) -> HttpResponse:
    """A link with which the operator chooses a new password, shown on this answer alone."""
    user = operator_get(actor=request.actor, uid=uid)
    reset = services.operator_password_reset(actor=request.actor, user=user)
    more = {"reset": reset, "link": portal_address(request, None) + reset.path}
    return _operator_page(request, operator_get(actor=request.actor, uid=uid), more)


@require_POST
@operator_page(MANAGE)
def remove(request: PortalRequest, uid: UUID) -> HttpResponse:
    user = operator_get(actor=request.actor, uid=uid)
    services.operator_remove(actor=request.actor, user=user)
    messages.success(request, _("%(name)s is no longer an operator.") % {"name": user})
    return go(request, "operators:operators")
