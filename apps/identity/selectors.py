from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Count, Prefetch, Q, QuerySet
from django.db.models.functions import Lower
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.identity.models import (
    AgentToken,
    ApiToken,
    Membership,
    OperatorBinding,
    OperatorOrganization,
    OperatorPost,
    OperatorRole,
    SavedView,
    SignIn,
    User,
)
from apps.identity.permissions import IdentityPermission as P
from apps.identity.rules.organizations import OrganizationRow, ids_below, paths_of, tree_of
from apps.identity.rules.people_file import RoleNames
from apps.kernel.actor import Actor
from apps.kernel.errors import InvalidInput, NotFound
from apps.kernel.translatable import localized
from apps.kernel.words import having
from apps.tenancy.models import Tenant


def user_names(ids: set[int]) -> dict[int, str]:
    """Display names by primary key, one query."""
    return {user.pk: str(user) for user in User.objects.filter(pk__in=ids)}


def saved_views(actor: Actor, page: str) -> list[SavedView]:
    """How the actor keeps the list of a page: his views in all tenants, and nameless the columns that he chose."""
    return list(SavedView.objects.filter(user=actor.user_id, page=page))


def saved_view_get(actor: Actor, uid: UUID) -> SavedView:
    """A named view of the actor's own; NotFound for any other."""
    row = SavedView.objects.filter(user=actor.user_id, uid=uid).exclude(name="").first()
    if row is None:
        raise NotFound()
    return row


def user_get(pk: int) -> User:
    row = User.objects.filter(pk=pk).first()
    if row is None:
        raise NotFound()
    return row


def memberships_present(tenant: Tenant) -> QuerySet[Membership]:
    """Who belongs to a tenant, disabled people too, who has left not; each with its user."""
    return Membership.objects.filter(tenant=tenant, left_at=None).select_related("user")


def members_enabled(tenant: Tenant) -> QuerySet[Membership]:
    """The memberships with which people may enter a tenant now."""
    return Membership.objects.filter(tenant=tenant, is_active=True)


def members_counted(tenants: Iterable[Tenant]) -> dict[int, int]:
    """How many people belong to each of the tenants now, disabled ones too, by the tenant's key."""
    rows = Membership.objects.filter(tenant__in=list(tenants), left_at=None).order_by()
    return dict(rows.values_list("tenant").annotate(count=Count("pk")))


def belongs(user: User, tenant: Tenant) -> bool:
    """Whether a user may enter a tenant now."""
    return members_enabled(tenant).filter(user=user).exists()


def was_member(user: User, tenant: Tenant) -> bool:
    """Whether a user has ever belonged to a tenant."""
    return Membership.objects.filter(user=user, tenant=tenant).exists()


def tenant_side_user(username: str) -> User | None:
    """The enabled user of a login account who is no operator; None when there is none."""
    return User.objects.filter(username__iexact=username.strip(), is_active=True, is_operator=False).first()


@dataclass(frozen=True, slots=True)
class SignInWay:
    """How somebody signs in to one side: the password's state, how many API tokens work, the latest attempts."""

    password: str
    tokens: int
    attempts: list[SignIn]


def sign_in_way(user: User, tenant: Tenant | None = None) -> SignInWay:
    """How an account signs in to a tenant's portal; without one to the provider's."""
    tokens = ApiToken.objects.filter(user=user, revoked_at=None, expires_at__gt=timezone.now(), tenant=tenant)
    schema = tenant.schema_name if tenant else ""
    attempts = SignIn.objects.filter(user=user, schema=schema).order_by("-at")
    return SignInWay(user.password_state, tokens.count(), list(attempts[:5]))


def tenants_people_list(*, actor: Actor) -> QuerySet[User]:
    """Tenants' people, over all tenants."""
    actor.require(P.VIEW)
    return User.objects.filter(is_operator=False)


def people_matching(words: Iterable[str], tenant: Tenant | None = None) -> QuerySet[User]:
    """Who may sign in and has every word in login account or name; with a tenant, who may enter it.

    Not by e-mail: who may name people in a rule is not thereby told their addresses.
    """
    rows = User.objects.filter(having(words, "username", "display_name"), is_active=True)
    if tenant is not None:
        rows = rows.filter(memberships__tenant=tenant, memberships__is_active=True)
    present = Prefetch("memberships", Membership.objects.filter(is_active=True).select_related("tenant"))
    return rows.order_by("username").prefetch_related(present)


def operator_list(
    *, actor: Actor, search: str = "", role: str = "", organization: OperatorOrganization | None = None
) -> QuerySet[User]:
    """The centre's own people (PLAT-TEN-25, PLAT-TEN-37).

    Part of a login account or name narrows, a role, and an organization to it and all below.
    """
    actor.require(P.VIEW)
    rows = User.objects.filter(is_operator=True).select_related("organization", "post")
    rows = rows.prefetch_related("operator_bindings__role")
    if organization is not None:
        inside = ids_below(OperatorOrganization.objects.all(), organization.pk)
        rows = rows.filter(organization_id__in=inside)
    if search:
        rows = rows.filter(Q(username__icontains=search) | Q(display_name__icontains=search))
    return rows.filter(operator_bindings__role__code=role) if role else rows


def operator_post_list() -> QuerySet[OperatorPost]:
    """The centre's posts, each with `held`, how many hold it."""
    return OperatorPost.objects.annotate(held=Count("holders")).order_by("name")


def operator_ids_of_post(uid: str) -> list[int]:
    """The enabled operators who hold a post, by its uid as text; none for one that is gone."""
    try:
        wanted = UUID(uid)
    except ValueError:
        return []
    rows = User.objects.filter(is_operator=True, is_active=True, post__uid=wanted)
    return list(rows.values_list("pk", flat=True))


def operator_post_title(uid: str) -> str:
    """What a post of the centre is called, by its uid as text; "" for one that is gone."""
    try:
        wanted = UUID(uid)
    except ValueError:
        return ""
    return OperatorPost.objects.filter(uid=wanted).values_list("name", flat=True).first() or ""


def operator_organization_list(*, actor: Actor, search: str = "") -> QuerySet[OperatorOrganization]:
    """The centre's own organizations; a part of the name narrows (PLAT-TEN-36)."""
    actor.require(P.VIEW)
    rows = OperatorOrganization.objects.select_related("parent")
    return rows.filter(name__icontains=search) if search else rows


def operator_organization_get(*, actor: Actor, uid: UUID) -> OperatorOrganization:
    row = operator_organization_list(actor=actor).filter(uid=uid).first()
    if row is None:
        raise NotFound()
    return row


def operator_organization_tree(*, actor: Actor, name: str = "") -> list[OrganizationRow]:
    """The whole tree in reading order with head counts; with a part of the name those that have it."""
    rows = operator_organization_list(actor=actor).annotate(own=Count("operators"))
    return tree_of(rows.order_by("name"), name)


OPERATOR_COLUMNS = ("username", "display_name", "email", "organization", "roles")


def operator_organization_paths(*, actor: Actor) -> list[tuple[str, OperatorOrganization]]:
    """Each of the centre's own organizations in reading order, with its path from the top: `Upper / Lower`."""
    return paths_of(operator_organization_tree(actor=actor))


def operator_rows(*, actor: Actor, operators: Iterable[User]) -> list[dict[str, str]]:
    """Operators as the rows of a file, by `OPERATOR_COLUMNS` and their state."""
    roles = RoleNames(operator_role_list())
    paths = {row.pk: path for path, row in operator_organization_paths(actor=actor)}
    return [
        {
            "username": user.username,
            "display_name": user.display_name,
            "email": user.email,
            "organization": paths[user.organization_id] if user.organization_id else "",
            "roles": roles.text(binding.role for binding in user.operator_bindings.all()),
            "state": _("Enabled") if user.is_active else _("Disabled"),
        }
        for user in operators
    ]


def operator_get(*, actor: Actor, uid: UUID) -> User:
    row = operator_list(actor=actor).filter(uid=uid).first()
    if row is None:
        raise NotFound()
    return row


def operator_role_list(search: str = "") -> QuerySet[OperatorRole]:
    """The operators' roles, with a part of the name; each with `holders`, how many hold it."""
    rows = OperatorRole.objects.annotate(holders=Count("bindings")).order_by("-is_builtin", "name_en", "code")
    return rows.filter(Q(name_en__icontains=search) | Q(name_zh__icontains=search)) if search else rows


def operator_role_get(code: str) -> OperatorRole:
    row = operator_role_list().filter(code=code).first()
    if row is None:
        raise NotFound()
    return row


def operator_roles_named(codes: Iterable[str]) -> list[OperatorRole]:
    """The operators' roles of these codes; InvalidInput for a code that is none."""
    wanted = list(dict.fromkeys(codes))
    found = {role.code: role for role in OperatorRole.objects.filter(code__in=wanted)}
    missing = [code for code in wanted if code not in found]
    if missing:
        reason = _("There is no role %(code)s.") % {"code": missing[0][:48]}
        raise InvalidInput(reason, fields={"roles": reason})
    return [found[code] for code in wanted]


def operator_role_title(code: str) -> str:
    """What the operators' role is called in the reader's language; "" where there is none of that code."""
    row = OperatorRole.objects.filter(code=code).first()
    return localized(row.name_zh, row.name_en) if row else ""


def operators_with_role(role_code: str) -> list[int]:
    """The primary keys of enabled operators who hold a role."""
    bindings = OperatorBinding.objects.filter(role__code=role_code, user__is_active=True)
    return list(bindings.values_list("user_id", flat=True))


def operators_who_may(permission: str, *, roles: Iterable[str] = (), ids: Iterable[int] = ()) -> set[int]:
    """The enabled operators who hold one of these roles, or are among `ids`, by a role that allows `permission`."""
    rows = OperatorBinding.objects.filter(
        Q(role__code__in=list(roles)) | Q(user_id__in=list(ids)),
        role__permissions__contains=[permission],
        user__is_active=True,
        user__is_operator=True,
    )
    return set(rows.values_list("user_id", flat=True))


def usernames_enabled(usernames: Iterable[str]) -> set[str]:
    """Of these login accounts, in small letters, those that somebody can sign in with."""
    wanted = [name.lower() for name in usernames]
    rows = User.objects.annotate(account=Lower("username")).filter(account__in=wanted, is_active=True)
    return set(rows.values_list("account", flat=True))


def api_token_list(actor: Actor) -> QuerySet[ApiToken]:
    """The caller's own tokens."""
    return ApiToken.objects.filter(user_id=actor.user_id)


def api_token_get(actor: Actor, uid: UUID) -> ApiToken:
    row = api_token_list(actor).filter(uid=uid).first()
    if row is None:
        raise NotFound()
    return row


def agent_token_list() -> QuerySet[AgentToken]:
    return AgentToken.objects.all()


def agent_token_get(uid: UUID) -> AgentToken:
    row = AgentToken.objects.filter(uid=uid).first()
    if row is None:
        raise NotFound()
    return row


def join_token_get(uid: UUID) -> AgentToken:
    """A node's join token, spent ones too; NotFound for any other."""
    row = AgentToken.objects.filter(kind=AgentToken.Kind.JOIN, uid=uid).first()
    if row is None:
        raise NotFound()
    return row


# --- whom something is sent to -----------------------------------------------------------------------------------


def user_ids_named(username: str) -> list[int]:
    """The primary key of whoever signs in by this account; nobody's where there is none."""
    return list(User.objects.filter(username__iexact=username).values_list("pk", flat=True))


def operators_among(ids: Iterable[int]) -> set[int]:
    """Those of these users who are operators."""
    return set(User.objects.filter(pk__in=list(ids), is_operator=True).values_list("pk", flat=True))


def users_enabled(ids: Iterable[int]) -> list[User]:
    """The users of these keys who can sign in, by name."""
    return list(User.objects.filter(pk__in=list(ids), is_active=True).order_by("display_name", "pk"))


def operators_enabled() -> list[User]:
    """The operators who can sign in, by name."""
    return list(User.objects.filter(is_operator=True, is_active=True).order_by("display_name", "pk"))


def operator_organizations_enabled() -> list[OperatorOrganization]:
    return list(OperatorOrganization.objects.filter(is_enabled=True))


def operator_organization_find(uid: str) -> OperatorOrganization | None:
    """One of the centre's own organizations; None where this is the uid of none."""
    try:
        return OperatorOrganization.objects.filter(uid=UUID(uid)).first()
    except ValueError:
        return None


def operator_ids_within(organization: OperatorOrganization) -> list[int]:
    """Who is in one of the centre's own organizations or in one below it."""
    places = ids_below(OperatorOrganization.objects.all(), organization.pk)
    return list(User.objects.filter(organization_id__in=places).values_list("pk", flat=True))
