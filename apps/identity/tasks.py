import smtplib

from apps.identity.services import password_reset, users
from apps.kernel.actor import SYSTEM
from apps.kernel.tasks import provider_task


@provider_task
def idempotent_calls_prune() -> int:
    """Forget the answers to idempotent calls nobody will repeat any more: every hour."""
    return users.idempotent_calls_prune()


@provider_task
def password_resets_send() -> None:
    """Send the links that people without their password have asked for, and forget old requests: at once, and every
    minute what was lost or refused."""
    while (row := password_reset.password_reset_claim(actor=SYSTEM)) is not None:
        try:
            password_reset.password_reset_mails_send(row)
        except (OSError, smtplib.SMTPException) as error:
            password_reset.password_reset_settle(actor=SYSTEM, pk=row.pk, error=str(error) or repr(error))
        else:
            password_reset.password_reset_settle(actor=SYSTEM, pk=row.pk)
    password_reset.password_resets_prune(actor=SYSTEM)
