from django.utils.translation import gettext_lazy as _

from apps.kernel.errors import Conflict, Forbidden


class FirstPassword(Forbidden):
    """The account still has the password that another person gave it."""

    code = "first_password"
    default_message = _("This account still has its first password.")
    default_cure = _("Sign in to the portal and choose a password of your own.")


class MailMissing(Conflict):
    """The centre sends no mail."""

    code = "mail_missing"
    default_message = _("This computing centre sends no mail.")
    default_cure = _("Ask your administrator: he can reset the password and hand you a link.")
