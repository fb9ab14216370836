"""How the portal's mail goes: by the server that the environment names, else by the centre's own."""

from collections.abc import Sequence

from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.utils.translation import gettext as _

from apps.centre.errors import MailNotSet
from apps.centre.selectors import centre_shown, mail_by_environment, mail_way


class Backend(BaseEmailBackend):
    """Django's way to send, which asks anew for each batch where to."""

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        """Raises MailNotSet where there is no mail server, and what the server's own backend raises."""
        way = mail_way()
        if way is None:
            raise MailNotSet(_("The centre has no mail server."))
        if mail_by_environment() is None:
            _sender_put(email_messages, centre_shown().mail_sender)
        return get_connection(**way.backend()).send_messages(email_messages) or 0


def _sender_put(messages: Sequence[EmailMessage], sender: str) -> None:
    for message in messages:
        if message.from_email == settings.DEFAULT_FROM_EMAIL:
            message.from_email = sender
