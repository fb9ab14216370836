from django.utils.translation import gettext_lazy as _

from apps.kernel.errors import Forbidden


class FirstPassword(Forbidden):
    """The account still has the password that another person gave it."""

    code = "first_password"
    default_message = _("This account still has its first password.")
    default_cure = _("Sign in to the portal and choose a password of your own.")
