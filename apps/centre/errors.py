from django.utils.translation import gettext_lazy as _

from apps.kernel.errors import Conflict, Forbidden


class NotSetUp(Conflict):
    """Nobody can use the portal yet: it has no operator."""

    code = "not_set_up"
    default_message = _("This centre is not set up yet.")
    default_cure = _(
        "Open the link that `make serve` or `manage.py setup_link` prints, or run `manage.py setup` on the server."
    )


class AlreadySetUp(Conflict):
    code = "already_set_up"
    default_message = _("This centre is set up already.")
    default_cure = _("Sign in as one of its operators.")


class SetupTokenUnknown(Forbidden):
    code = "setup_token_unknown"
    default_message = _("The setup token is wrong.")
    default_cure = _("Open the whole link that `make serve` or `manage.py setup_link` prints on the server.")


class MailNotSet(ConnectionError):
    """There is no mail server to send by."""


class MailRefused(Conflict):
    """The mail server did not take a mail; the message is its own word."""

    code = "mail_refused"
    default_cure = _("Check the server's address, the port, the encryption, the account and the sender.")
