"""An invitation's link by mail: the worker that writes the mail makes the secret, and only its digest is kept.

Each try makes a new secret, which ends the one before: of several mails the last one's link works.
"""

import logging
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from django.core.mail import EmailMessage
from django.db.models import QuerySet
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from apps.centre.mail_address import MAIL_LEASE, MAIL_TRIES_MAX
from apps.centre.selectors import centre_shown, mail_way
from apps.identity.errors import MailMissing
from apps.identity.services.tokens import digest_of
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput
from apps.kernel.events import emit
from apps.kernel.planes import current_schema, current_tenant
from apps.kernel.service import service
from apps.orgs.events import InvitationMailAsked
from apps.orgs.models import Invitation, InvitationMail
from apps.orgs.permissions import OrgsPermission as P
from apps.orgs.selectors.people import invitation_mails_due, invitations_open
from apps.orgs.services.invitation_secrets import secret_make

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class MailPortal:
    """Where a mail is asked for: `https://host/`, what its link begins with, and the language it is read in there."""

    address: str
    language: str


@dataclass(frozen=True, slots=True)
class MailTry:
    """A mail to be sent now, and the secret of its link, which is kept nowhere."""

    mail: InvitationMail
    secret: str

    def __repr__(self) -> str:
        return f"MailTry({self.mail})"


def mail_check() -> None:
    """Raises MailMissing where the centre sends no mail."""
    if mail_way() is None:
        raise MailMissing(cure=_("Make a link, and hand it over yourself."))


def mail_ask(actor: Actor, invitation: Invitation, portal: MailPortal) -> None:
    """Have the link of an open invitation sent. Inside a service, which holds the invitation's row.

    Raises:
        MailMissing: the centre sends no mail.
        InvalidInput: the invitation has no e-mail.
        Conflict: a mail waits already.
    """
    mail_check()
    if not invitation.email:
        reason = _("A mail needs an e-mail address.")
        raise InvalidInput(reason, fields={"email": reason})
    before = InvitationMail.objects.filter(invitation=invitation).first()
    if before is not None and before.state == "waiting":
        raise Conflict(_("A mail to %(email)s waits already.") % {"email": invitation.email})
    asked = {
        "portal": portal.address,
        "language": portal.language,
        "tries": 0,
        "next_try_at": timezone.now(),
        "sent_at": None,
    }
    InvitationMail.objects.update_or_create(invitation=invitation, defaults=asked)
    emit(InvitationMailAsked(schema=current_schema()), actor=actor)


@service(P.MANAGE)
def invitation_send(*, actor: Actor, invitation: Invitation, portal: MailPortal) -> None:
    """Send the link by mail, or once more: a new one, with which the link before stops working.

    Raises what `mail_ask` raises, and Conflict when the invitation is no longer open.
    """
    act_subject("invitation", invitation.uid, name=invitation.display_name, email=invitation.email)
    row = invitations_open().select_for_update(of=("self",)).filter(pk=invitation.pk).first()
    if row is None:
        raise Conflict(_("The invitation is no longer open."))
    mail_ask(actor, row, portal)


@service(recorded=False)
def invitation_mail_claim(*, actor: Actor) -> MailTry | None:
    """The mail to be sent next with a secret of its own, kept from others for a minute; None when none is due."""
    now = timezone.now()
    due: QuerySet[InvitationMail] = invitation_mails_due().select_related("invitation")
    # The invitation too: it is not withdrawn or used meanwhile.
    row = due.select_for_update(skip_locked=True).order_by("next_try_at", "pk").first()
    if row is None:
        return None
    secret, digest = secret_make()
    Invitation.objects.filter(pk=row.invitation_id).update(digest=digest)
    row.tries, row.next_try_at = row.tries + 1, now + MAIL_LEASE
    row.save(update_fields=["tries", "next_try_at"])
    return MailTry(row, secret)


@service(recorded=False)
def invitation_mail_settle(*, actor: Actor, one: MailTry, error: str = "") -> None:
    """Say how a try went; after the last one it is given up."""
    now = timezone.now()
    # Only what the present link was sent with counts.
    rows = InvitationMail.objects.filter(pk=one.mail.pk, invitation__digest=digest_of(one.secret))
    if error:
        # A server may quote the text that it refuses.
        log.warning("an invitation's mail was not sent: %s", error.replace(one.secret, "…"))
        rows.filter(tries__gte=MAIL_TRIES_MAX).update(next_try_at=now)
    else:
        rows.update(sent_at=now)


def invitation_mail_send(one: MailTry) -> None:
    """Send it, outside of any transaction.

    Raises OSError or smtplib.SMTPException when the server does not take it.
    """
    with translation.override(one.mail.language):
        _mail_of(one).send()


def _mail_of(one: MailTry) -> EmailMessage:
    row, tenant = one.mail.invitation, current_tenant()
    until = row.expires_at.astimezone(ZoneInfo(tenant.timezone))
    told = {
        "name": row.display_name,
        "inviter": row.made_by.display_name if row.made_by else centre_shown(),
        "tenant": tenant,
        "portal": one.mail.portal,
        "link": f"{one.mail.portal}join/{one.secret}/",
        "until": until.strftime("%Y-%m-%d %H:%M (%Z)"),
    }
    body = _(
        "%(name)s,\n\n"
        "%(inviter)s invites you to the compute portal of %(tenant)s: %(portal)s\n\n"
        "Open this link until %(until)s and choose a login account and a password, or use the account that you have "
        "there. It lets one person in, once:\n\n%(link)s\n\n"
        "If you do not know what this is about, do nothing."
    )
    subject = _("%(centre)s: you are invited to %(tenant)s") % {"centre": centre_shown(), "tenant": tenant}
    return EmailMessage(subject=" ".join(subject.split()), body=body % told, to=[row.email])
