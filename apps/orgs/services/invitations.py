"""Invitations: a link, shown once or sent by mail, with which one person joins the tenant, within its time."""

from collections.abc import Iterable
from datetime import timedelta

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.identity.models import User
from apps.identity.rules.organizations import enabled_check, name_clean
from apps.identity.services import accounts
from apps.identity.services.tokens import digest_of
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput, NotFound
from apps.kernel.planes import current_tenant
from apps.kernel.service import service
from apps.orgs.models import Invitation, Organization, TenantRole
from apps.orgs.permissions import OrgsPermission as P
from apps.orgs.selectors.people import invitations_open
from apps.orgs.services.invitation_mails import MailPortal, mail_ask
from apps.orgs.services.invitation_secrets import secret_make
from apps.orgs.services.people import person_place
from apps.orgs.services.placing import placing_check
from apps.orgs.services.roles import grant_check

MAX_DAYS = 30


@service(P.MANAGE)
def invitation_make(
    *,
    actor: Actor,
    display_name: str,
    email: str = "",
    organization: Organization | None = None,
    roles: Iterable[TenantRole] = (),
    days: int = 7,
    by_mail: MailPortal | None = None,
) -> tuple[Invitation, str]:
    """Invite one person with these roles: the row, and the link's secret, which is shown once and kept nowhere.

    `by_mail` has the link sent instead: the secret is then "", and whoever writes the mail makes one.

    Raises what `mail_ask` raises.
    """
    if not 1 <= days <= MAX_DAYS:
        reason = _("An invitation lives 1 to %(days)s days.") % {"days": MAX_DAYS}
        raise InvalidInput(reason, fields={"days": reason})
    roles = list(roles)
    grant_check(actor, roles)
    placing_check(actor, organization)
    if organization is not None:
        enabled_check(organization)
    secret, digest = secret_make()
    row = Invitation.objects.create(
        digest=digest,
        display_name=name_clean(display_name, "display_name"),
        email=email,
        organization=organization,
        made_by_id=actor.user_id,
        expires_at=timezone.now() + timedelta(days=days),
    )
    row.roles.set(roles)
    act_subject("invitation", row.uid, name=row.display_name, roles=[role.code for role in roles])
    if by_mail is None:
        return row, secret
    mail_ask(actor, row, by_mail)
    return row, ""


@service(P.MANAGE)
def invitation_withdraw(*, actor: Actor, invitation: Invitation) -> None:
    """The link lets nobody in any more. Conflict when it is no longer open."""
    act_subject("invitation", invitation.uid, name=invitation.display_name)
    if not invitations_open().filter(pk=invitation.pk).update(withdrawn_at=timezone.now()):
        raise Conflict(_("The invitation is no longer open."))


def invitation_find(secret: str) -> Invitation:
    """The open invitation of a secret, in the current tenant; NotFound for a spent, late or foreign one."""
    row = Invitation.objects.select_related("organization").filter(digest=digest_of(secret)).first()
    if row is None or row.state != "open":
        raise _refusal()
    return row


def _refusal() -> NotFound:
    return NotFound(
        _("This invitation is not valid: it was used, withdrawn, is too old, or is for another tenant."),
        cure=_("Ask whoever invited you for a new link."),
    )


@service()
def invitation_accept_new(
    *, actor: Actor, secret: str, username: str, display_name: str, password: str
) -> User:
    """The invited person makes an account of his own and joins; the invitation is spent."""
    row = invitation_find(secret)
    user = accounts.account_join_new(
        tenant=current_tenant(),
        username=username,
        display_name=display_name,
        email=row.email,
        password=password,
    )
    _spend(row, user)
    return user


@service()
def invitation_accept(*, actor: Actor, secret: str, user: User) -> User:
    """The invited person has an account, whose password was just checked, and joins; the invitation is spent."""
    row = invitation_find(secret)
    if user.is_operator:
        raise Conflict(_("Operators' accounts belong to no tenant."), cure=_("Use an account of your own."))
    accounts.account_join(tenant=current_tenant(), user=user)
    _spend(row, user)
    return user


def _spend(row: Invitation, user: User) -> None:
    act_subject("user", user.uid, username=user.username, invitation=str(row.uid))
    # Of two who hold the link, the first to commit has it; the other's account goes with its transaction.
    if not invitations_open().filter(pk=row.pk).update(used_at=timezone.now(), used_by=user):
        raise _refusal()
    organization = row.organization if row.organization and row.organization.is_enabled else None
    person_place(user, organization, row.roles.all())
