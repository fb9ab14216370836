"""A new password for who does not know the present one: by a link that works once, within its time (PLAT-TEN-26).

The link is Django's own (`PasswordResetTokenGenerator`): nothing of it is kept, and it ends with whatever it was made
from, which is the password, the e-mail, the last sign-in, the sessions ended by an administrator, and the account being
enabled. The person asks for it by mail, or an administrator makes it and hands it over.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.core.mail import EmailMessage
from django.db import connection
from django.db.models import Q
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from apps.centre.mail_address import MAIL_LEASE, MAIL_TRIES_MAX
from apps.centre.selectors import centre_shown, mail_way
from apps.identity.errors import MailMissing
from apps.identity.events import PasswordResetAsked
from apps.identity.models import PasswordResetRequest, User
from apps.identity.services.users import LOCK_AFTER, LOCK_FOR, may_enter, password_check, password_put
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import InvalidInput, NotFound, Throttled
from apps.kernel.events import emit
from apps.kernel.service import service

# From one address, for whichever accounts: a computer room behind one router asks less often.
ASKED_FROM_ONE_ADDRESS = 20
# The first half of the advisory locks' keys; the second is the account or the address.
_LOCK_SPACE = 0x51612
log = logging.getLogger(__name__)


class _LinkTokens(PasswordResetTokenGenerator):
    """Ends too when an administrator ends the person's sessions, or disables the account."""

    key_salt = "apps.identity.password_reset"

    def _make_hash_value(self, user: User, timestamp: int) -> str:
        return f"{super()._make_hash_value(user, timestamp)}{user.session_epoch}{user.is_active}"


_tokens = _LinkTokens()


@dataclass(frozen=True, slots=True)
class ResetLink:
    """The end of a link's address, shown once and kept nowhere, and until when it works."""

    secret: str
    expires_at: datetime

    @property
    def path(self) -> str:
        return f"password/reset/{self.secret}/"


# --- asked for by mail -----------------------------------------------------------------------------------------


@service(own=True)
def password_reset_ask(
    *, actor: Actor, account: str, schema: str, address: str | None, portal: str, language: str
) -> None:
    """Have a link sent to whoever has this login account or e-mail and may enter here, if there is anybody.

    What is done here is the same whether or not there is: accounts are looked for when the mail is written.

    Args:
        schema: the tenant whose portal was asked, "" for the provider's.
        portal: where that portal lives, `https://host/`: what the link begins with.

    Raises:
        MailMissing: the centre sends no mail.
        Throttled: too often for this account, or from this address.
    """
    account = " ".join(account.split())[:254]
    act_subject("account", account[:64], tenant=schema)
    if mail_way() is None:
        raise MailMissing()
    _asked_check(account, address)
    PasswordResetRequest.objects.create(
        account=account.lower(),
        schema=schema,
        address=address,
        portal=portal,
        language=language,
        next_try_at=timezone.now(),
    )
    emit(PasswordResetAsked(), actor=actor)


def _asked_check(account: str, address: str | None) -> None:
    """Counted by what was typed, so that an account that exists is not told from one that does not."""
    with connection.cursor() as cursor:
        # Of many at once no more than the bound pass.
        for key in (f"account:{account.lower()}", f"address:{address}"):
            cursor.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", [_LOCK_SPACE, key])
    asked = PasswordResetRequest.objects.filter(at__gte=timezone.now() - LOCK_FOR)
    of_account, of_address = asked.filter(account=account.lower()), asked.filter(address=address)
    for rows, most in ((of_account, LOCK_AFTER), (of_address, ASKED_FROM_ONE_ADDRESS)):
        recent = list(rows.order_by("-at")[:most])
        if len(recent) == most:
            minutes = max(1, round((recent[-1].at + LOCK_FOR - timezone.now()).total_seconds() / 60))
            raise Throttled(
                _("A link was asked for %(count)s times.") % {"count": most},
                cure=_("Look into the mailbox, its spam folder too, or try again in %(minutes)s minutes.")
                % {"minutes": minutes},
            )


@service(recorded=False)
def password_reset_claim(*, actor: Actor) -> PasswordResetRequest | None:
    """The request whose mails are to be sent, kept from others for a minute; None when none is."""
    now = timezone.now()
    due = PasswordResetRequest.objects.filter(handled_at=None, tries__lt=MAIL_TRIES_MAX, next_try_at__lte=now)
    row = due.select_for_update(skip_locked=True).order_by("next_try_at", "pk").first()
    if row is not None:
        row.tries, row.next_try_at = row.tries + 1, now + MAIL_LEASE
        row.save(update_fields=["tries", "next_try_at"])
    return row


@service(recorded=False)
def password_reset_settle(*, actor: Actor, pk: int, error: str = "") -> None:
    """Say how a try went; after the last one it is given up."""
    rows = PasswordResetRequest.objects.filter(pk=pk)
    if error:
        log.warning("a mail with a link for a new password was not sent: %s", error)
        rows = rows.filter(tries__gte=MAIL_TRIES_MAX)
    rows.update(handled_at=timezone.now())


@service(recorded=False)
def password_resets_prune(*, actor: Actor) -> None:
    """Forget what counts against nobody any more."""
    PasswordResetRequest.objects.filter(at__lt=timezone.now() - timedelta(days=1)).delete()


def password_reset_mails_send(row: PasswordResetRequest) -> None:
    """Send the links that were asked for, outside of any transaction: one to each account that is meant.

    Raises OSError or smtplib.SMTPException when the server does not take one.
    """
    for user in _meant(row):
        language = user.language or row.language
        with translation.override(language):
            _mail_of(user, row.portal + link_of(user).path, row.portal).send()


def _meant(row: PasswordResetRequest) -> Iterable[User]:
    named = User.objects.filter(Q(username__iexact=row.account) | Q(email__iexact=row.account))
    # Written to the address that the account has, never to the one that was typed.
    return [user for user in named.exclude(email="") if user.is_active and may_enter(user, row.schema)]


def _mail_of(user: User, link: str, portal: str) -> EmailMessage:
    told = {
        "name": user.display_name,
        "account": user.username,
        "portal": portal,
        "link": link,
        "hours": settings.PASSWORD_RESET_TIMEOUT // 3600,
    }
    body = _(
        "%(name)s,\n\n"
        "somebody asked for a new password for the login account %(account)s at %(portal)s\n\n"
        "Open this link within %(hours)s hours and choose one. It works once:\n\n%(link)s\n\n"
        "If it was not you, do nothing: the present password stays."
    )
    subject = _("%(centre)s: choose a new password") % {"centre": centre_shown()}
    return EmailMessage(subject=" ".join(subject.split()), body=body % told, to=[user.email])


# --- the link --------------------------------------------------------------------------------------------------


def link_of(user: User) -> ResetLink:
    """A link with which this account's password is chosen anew, once; the present password stays until then."""
    until = timezone.now() + timedelta(seconds=settings.PASSWORD_RESET_TIMEOUT)
    return ResetLink(f"{user.uid.hex}.{_tokens.make_token(user)}", until)


def link_instead_of_password(user: User) -> ResetLink:
    """From now on only the link opens the account: password, sessions and API tokens end. Inside a service."""
    password_put(user, None, must_change=False)
    return link_of(user)


def reset_link_user(secret: str) -> User:
    """Whose password a link lets one choose; NotFound for one that is spent, too old or made up."""
    return _user_of(secret, is_locked=False)


def _user_of(secret: str, *, is_locked: bool) -> User:
    uid, _dot, token = secret.partition(".")
    try:
        wanted = UUID(hex=uid)
    except ValueError:
        raise _refusal() from None
    rows = User.objects.select_for_update() if is_locked else User.objects.all()
    user = rows.filter(uid=wanted).first()
    if user is None or not user.is_active or not _tokens.check_token(user, token):
        raise _refusal()
    return user


def _refusal() -> NotFound:
    return NotFound(
        _("This link is not valid: it was used, is too old, or the account has changed since."),
        cure=_("Ask for a new one on the sign-in page, or ask your administrator."),
    )


@service(own=True)
def password_reset_use(*, actor: Actor, secret: str, new_password: str) -> User:
    """Whoever holds the link chooses the password; the link, the old password, sessions and API tokens end."""
    # Of two who open it at once the second finds it spent.
    user = _user_of(secret, is_locked=True)
    act_subject("user", user.uid, username=user.username)
    try:
        password_check(new_password, user)
    except InvalidInput as error:
        reasons = " ".join(str(reason) for reason in error.fields.values())
        raise InvalidInput(error.message, fields={"new_password": reasons}) from error
    password_put(user, new_password, must_change=False)
    return user
