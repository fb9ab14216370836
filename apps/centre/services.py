"""Open the centre, once, and change what was chosen then."""

from dataclasses import dataclass, field

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage
from django.db import connection, transaction
from django.utils.translation import gettext as _

from apps.centre.errors import AlreadySetUp, MailRefused
from apps.centre.events import CentreOpened
from apps.centre.models import Centre
from apps.centre.permissions import CentrePermission as P
from apps.centre.selectors import MAIL_PURPOSE, centre_find, centre_forget
from apps.centre.states import MailSecurity
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import InvalidInput, NotFound
from apps.kernel.events import emit
from apps.kernel.planes import in_public
from apps.kernel.sealing import seal
from apps.kernel.service import service

# Whoever opens the centre waits for who does so at the same time.
_OPEN_LOCK = 0x5765697A


@dataclass(frozen=True, slots=True)
class MailGiven:
    """A mail server as people write it down. With no `password` the one that is kept goes on to be used."""

    host: str
    sender: str
    port: int = 587
    security: str = MailSecurity.STARTTLS
    username: str = ""
    password: str | None = field(default=None, repr=False)


@service(P.MANAGE)
def centre_open(
    *, actor: Actor, name: str = "", language: str, timezone: str, mail: MailGiven | None = None
) -> Centre:
    """Make the centre's row and its operators' roles. Raises AlreadySetUp the second time, at the same instant too."""
    with in_public():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_OPEN_LOCK])
        if centre_find() is not None:
            raise AlreadySetUp()
        row = Centre(pk=1)
        _fields_put(row, name, language, timezone)
        if mail is not None:
            _mail_put(row, mail)
        row.save(force_insert=True)
        act_subject("centre", "1", name=row.name)
        emit(CentreOpened(), actor=actor)
    _tell()
    return row


@service(P.MANAGE)
def centre_change(*, actor: Actor, name: str, language: str, timezone: str) -> Centre:
    """Another name (empty: Weir), language or zone of the centre."""
    row = _locked()
    act_subject("centre", "1")
    _fields_put(row, name, language, timezone)
    row.save()
    _tell()
    return row


@service(P.MANAGE)
def centre_tickets_set(*, actor: Actor, sends_tickets: bool) -> Centre:
    """Whether an approved order is delivered by itself, or waits until an operator sends its ticket (PLAT-CFG-45)."""
    row = _locked()
    act_subject("centre", "1")
    row.sends_tickets = sends_tickets
    row.save(update_fields=["sends_tickets", "updated_at"])
    _tell()
    return row


@service(P.MANAGE)
def centre_quotas_set(*, actor: Actor, keeps_quotas: bool) -> Centre:
    """Whether what is over a quota is refused, or counted only (PLAT-TEN-12, PLAT-CFG-36). What waits for its quota
    goes on once that is not kept any more."""
    row = _locked()
    act_subject("centre", "1")
    row.keeps_quotas = keeps_quotas
    row.save(update_fields=["keeps_quotas", "updated_at"])
    _tell()
    return row


@service(P.MANAGE)
def centre_seller_set(*, actor: Actor, legal_name: str, address: str, tax_number: str, bank: str) -> Centre:
    """What bills that are made from now on say of their seller; what is empty is left out. Bills that are there stay
    as they were made."""
    row = _locked()
    act_subject("centre", "1", legal_name=legal_name, tax_number=tax_number)
    row.legal_name, row.address = " ".join(legal_name.split()), " ".join(address.split())
    row.tax_number, row.bank = " ".join(tax_number.split()), " ".join(bank.split())
    _check(row)
    row.save(update_fields=["legal_name", "address", "tax_number", "bank", "updated_at"])
    _tell()
    return row


@service(P.MANAGE)
def centre_mail_set(*, actor: Actor, mail: MailGiven | None) -> Centre:
    """The server that mail is sent by from now on; None: mail is sent no more."""
    row = _locked()
    if mail is None:
        row.mail_host = row.mail_username = row.mail_password_sealed = row.mail_sender = ""
    else:
        _mail_put(row, mail)
    act_subject("centre", "1", mail_host=row.mail_host)
    row.save()
    _tell()
    return row


@service(P.MANAGE)
def centre_mail_try(*, actor: Actor, to: str) -> None:
    """Send one mail to see whether it goes. Raises MailRefused with what the server says."""
    act_subject("centre", "1")
    try:
        EmailMessage(
            subject=_("Weir: a mail to try the way"),
            body=_("Mail of the computing centre arrives at this address."),
            to=[to],
        ).send()
    except Exception as problem:
        # Whatever a mail server does: who asked is told.
        raise MailRefused(str(problem) or type(problem).__name__) from problem


def _locked() -> Centre:
    row = Centre.objects.select_for_update().filter(pk=1).first()
    if row is None:
        raise NotFound()
    return row


def _tell() -> None:
    centre_forget()
    # What another thread read meanwhile was the state before.
    transaction.on_commit(centre_forget)


def _fields_put(row: Centre, name: str, language: str, timezone: str) -> None:
    if language not in dict(settings.LANGUAGES):
        raise InvalidInput(fields={"language": _("There is no such language here.")})
    row.name, row.language, row.timezone = " ".join(name.split()), language, timezone
    _check(row)


def _mail_put(row: Centre, mail: MailGiven) -> None:
    is_other = (row.mail_host, row.mail_port, row.mail_username) != (mail.host, mail.port, mail.username)
    if mail.password is None and mail.username and is_other:
        # Else who may change the server could have the kept password sent to one of his own.
        raise InvalidInput(fields={"mail_password": _("Another server or account: give its password too.")})
    row.mail_host, row.mail_port, row.mail_username = mail.host.strip(), mail.port, mail.username
    row.mail_security, row.mail_sender = mail.security, mail.sender
    if mail.password is not None or not mail.username:
        row.mail_password_sealed = seal(mail.password, MAIL_PURPOSE) if mail.password else ""
    _check(row)
    lacking = [name for name in ("mail_host", "mail_sender") if not getattr(row, name)]
    if lacking:
        raise InvalidInput(fields=dict.fromkeys(lacking, _("A mail server needs this.")))
    if any(character.isspace() or character in "/@" for character in row.mail_host):
        raise InvalidInput(fields={"mail_host": _("A host name or address, such as mail.example.org.")})


def _check(row: Centre) -> None:
    try:
        row.full_clean(validate_unique=False, validate_constraints=False)
    except ValidationError as error:
        fields = {name: " ".join(texts) for name, texts in error.message_dict.items()}
        raise InvalidInput(fields=fields) from error
