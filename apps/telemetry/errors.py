"""What telemetry refuses."""

from django.utils.translation import gettext_lazy as _

from apps.kernel.errors import Conflict


class TestRefused(Conflict):
    """The server of a route did not take a test message; the message is its own word."""

    # No class of tests, whatever its name says.
    __test__ = False
    code = "route_test_refused"
    default_cure = _("Check the address and the secret, and that the portal reaches the server.")
