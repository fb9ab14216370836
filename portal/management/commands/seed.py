"""`manage.py seed`: two tenants, a listed commodity and one person for every role; `--show`: who can log in."""

import secrets
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from apps.centre.selectors import centre_is_set_up
from portal.demo.people import MEMBERS, OPERATORS
from portal.demo.seed import seed_all
from portal.settings.env import env


def demo_password() -> str:
    """The demo's password: made once for this installation and kept beside its data."""
    path = _password_file()
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.write_text("weir-" + secrets.token_hex(4))
    return path.read_text()


def _password_file() -> Path:
    return env().var_dir / "run" / "demo.password"


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--show", action="store_true", help="print who can log in and change nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["show"]:
            self.stdout.write(self._logins())
            return
        if centre_is_set_up() and not _password_file().exists():
            raise CommandError(
                "this is a centre of its own, not the demo: start it with `make serve`; "
                "for the demo take another folder (WEIR_VAR_DIR=var-demo make run), or wipe this one (make reset)"
            )
        seed_all(demo_password())

    def _logins(self) -> str:
        port = "" if settings.WEIR_PORT == 80 else f":{settings.WEIR_PORT}"
        lines = [f"Who can log in (password of all: {demo_password()})"]
        lines.append(f"  http://localhost{port}  the operators' side")
        lines += [f"    {person.username:8} {', '.join(person.roles)}" for person in OPERATORS]
        for schema in dict.fromkeys(person.schema for person in MEMBERS):
            lines.append(f"  http://{schema}.localhost{port}  tenant {schema}")
            lines += [
                f"    {person.username:8} {', '.join(person.roles)}"
                for person in MEMBERS
                if person.schema == schema
            ]
        return "\n".join(lines)
