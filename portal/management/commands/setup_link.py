"""`manage.py setup_link`: where the first operator sets this centre up; the link is for one who is on this server."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from apps.centre.selectors import centre_is_set_up
from apps.centre.setup_token import setup_token_make
from portal.settings.env import env


def provider_url() -> str:
    """The operators' side, as people reach it."""
    host, port, is_https = env().provider_hosts[0], env().port, settings.HTTPS
    shown = "" if port == (443 if is_https else 80) else f":{port}"
    return f"http{'s' if is_https else ''}://{host}{shown}"


class Command(BaseCommand):
    help = "Print the link to the setup page, with its token; while there is no operator only."

    def handle(self, *args: Any, **options: Any) -> None:
        if centre_is_set_up():
            self.stdout.write(f"This centre is set up. Sign in at {provider_url()}/")
            return
        token = setup_token_make()
        self.stdout.write("This centre is empty. Set it up, once, at")
        self.stdout.write(f"  {provider_url()}/setup/?token={token}")
        self.stdout.write("or by `manage.py setup` on this server.")
