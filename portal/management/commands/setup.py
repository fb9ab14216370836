"""`manage.py setup NAME`: the centre's first operator and its settings, once; the same as the setup page.

The password is read from WEIR_PASSWORD, else from standard input (one line; a person is asked for it), that of the
mail server from WEIR_MAIL_PASSWORD: everybody on the machine could read an argument.
"""

import getpass
import os
import sys
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from apps.centre.models import Centre
from apps.centre.services import MailGiven
from apps.centre.states import MailSecurity
from apps.console.centre.services import centre_setup
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import WeirError
from portal.management.commands.setup_link import provider_url


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: ArgumentParser) -> None:
        kept = Centre()
        parser.add_argument("username", help="login account of the first operator")
        parser.add_argument("--display-name", default="", help="his name; the login account when left out")
        parser.add_argument("--email", default="", help="his address")
        parser.add_argument("--centre", default="", help="what the centre is called; Weir when left out")
        parser.add_argument(
            "--language", default=kept.language, choices=[code for code, _n in settings.LANGUAGES]
        )
        parser.add_argument("--timezone", default=kept.timezone, help=f"such as {kept.timezone}")
        parser.add_argument("--mail-host", default="", help="mail server; without one no mail is sent")
        parser.add_argument("--mail-port", type=int, default=kept.mail_port)
        parser.add_argument("--mail-security", default=kept.mail_security, choices=MailSecurity.values)
        parser.add_argument("--mail-username", default="")
        parser.add_argument("--mail-sender", default="", help="who mail is from")

    def handle(self, *args: Any, **options: Any) -> None:
        username = options["username"]
        try:
            centre, user = centre_setup(
                actor=SYSTEM,
                username=username,
                display_name=options["display_name"] or username,
                email=options["email"],
                password=password_read(),
                name=options["centre"],
                language=options["language"],
                timezone=options["timezone"],
                mail=_mail(options),
            )
        except WeirError as error:
            raise CommandError(one_line(error)) from error
        self.stdout.write(f"{centre} is set up. {user.username} signs in at {provider_url()}/")


def password_read() -> str:
    """From the environment, else from standard input: asked for where a person sits at it."""
    given = os.environ.get("WEIR_PASSWORD")
    if given:
        return given
    if sys.stdin is not None and sys.stdin.isatty():
        return getpass.getpass("Password: ")
    return (sys.stdin.readline() if sys.stdin is not None else "").rstrip("\r\n")


def one_line(error: WeirError) -> str:
    """A refusal on one line."""
    named = " ".join(f"{name}: {text}" for name, text in error.fields.items())
    return f"{error.message} {named} {error.cure}".strip()


def _mail(options: dict[str, Any]) -> MailGiven | None:
    if not options["mail_host"]:
        return None
    return MailGiven(
        host=options["mail_host"],
        port=options["mail_port"],
        security=options["mail_security"],
        username=options["mail_username"],
        password=os.environ.get("WEIR_MAIL_PASSWORD"),
        sender=options["mail_sender"],
    )
