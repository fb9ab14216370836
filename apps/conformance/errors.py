"""How a test says that it was not run, and how a run is refused."""

from django.utils.translation import gettext_lazy as _

from apps.kernel.errors import Conflict


class AlreadyRunning(Conflict):
    """One pool is examined by one run at a time."""

    code = "conformance_running"
    default_message = _("The pool is being examined already.")
    default_cure = _("Wait for that run or interrupt it.")
