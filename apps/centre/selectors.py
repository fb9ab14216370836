"""What the centre is called, and its language, zone and mail server, read by every request and cycle."""

import time
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db import InterfaceError, OperationalError

from apps.centre.mail_address import MailFolder, MailServer, mail_address
from apps.centre.models import Centre
from apps.kernel.sealing import unseal

MAIL_PURPOSE = b"weir mail password\x00"
# How old what a process has read may be: a change shows everywhere after that.
_KEPT_S = 5.0
_kept: tuple[float, Centre] | None = None


def centre_find() -> Centre | None:
    """The centre's row as it is in the database; None while it is not set up."""
    return Centre.objects.filter(pk=1).first()


def centre_now() -> Centre | None:
    """The centre as it was at most some seconds ago; None while it is not set up."""
    global _kept
    kept = _kept
    if kept is not None and time.monotonic() - kept[0] < _KEPT_S:
        return kept[1]
    row = centre_find()
    _kept = (time.monotonic(), row) if row is not None else None
    return row


def centre_forget() -> None:
    """Read it anew the next time: it has just been changed."""
    global _kept
    _kept = None


def centre_shown() -> Centre:
    """The centre for the frame of a page; with its defaults while it is not set up or the database is away."""
    kept = _kept
    try:
        return centre_now() or Centre()
    except (OperationalError, InterfaceError):
        return kept[1] if kept else Centre()


def centre_is_set_up() -> bool:
    return centre_now() is not None


def centre_zone() -> ZoneInfo:
    """The zone in which the centre's days and hours are counted."""
    return ZoneInfo(centre_shown().timezone)


def tickets_are_sent() -> bool:
    """Whether approved orders go out by themselves, as the centre says now; so they do while it says nothing."""
    row = centre_find()
    return row is None or row.sends_tickets


def quotas_are_kept() -> bool:
    """Whether what is over its quota is refused, as the centre says now (PLAT-CFG-36)."""
    row = centre_find()
    return row is None or row.keeps_quotas


def mail_by_environment() -> MailServer | MailFolder | None:
    """Where `WEIR_EMAIL_URL` sends mail: that comes before what the centre says."""
    return mail_address(settings.WEIR_EMAIL_URL)


def mail_way() -> MailServer | MailFolder | None:
    """By what mail is sent now; None where it is not."""
    return mail_by_environment() or mail_server_of(centre_shown())


def mail_server_of(row: Centre) -> MailServer | None:
    """The centre's own mail server, its password opened."""
    if not row.mail_host:
        return None
    password = unseal(row.mail_password_sealed, MAIL_PURPOSE) if row.mail_password_sealed else ""
    return MailServer(row.mail_host, row.mail_port, row.mail_security, row.mail_username, password)
