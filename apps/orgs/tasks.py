import smtplib

from apps.kernel.actor import SYSTEM
from apps.kernel.planes import in_tenant
from apps.kernel.tasks import provider_task, tenant_task
from apps.orgs.selectors.people import invitation_mails_due
from apps.orgs.services import invitation_mails
from apps.tenancy.selectors import tenant_active_list


@tenant_task
def invitation_mails_send(schema: str) -> None:
    """Send the invitations of one tenant that go by mail and are due."""
    while (one := invitation_mails.invitation_mail_claim(actor=SYSTEM)) is not None:
        try:
            invitation_mails.invitation_mail_send(one)
        except (OSError, smtplib.SMTPException) as error:
            invitation_mails.invitation_mail_settle(actor=SYSTEM, one=one, error=str(error) or repr(error))
        else:
            invitation_mails.invitation_mail_settle(actor=SYSTEM, one=one)


@provider_task
def invitation_mails_sweep() -> None:
    """One task for each active tenant that has mails to send: every minute, what was lost or refused."""
    for schema in tenant_active_list().values_list("schema_name", flat=True):
        with in_tenant(schema):
            is_due = invitation_mails_due().exists()
        if is_due:
            invitation_mails_send.delay(schema)
