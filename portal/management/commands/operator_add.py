"""`manage.py operator_add NAME --role system_administrator`: one more operator, where nobody gets in to make him.

The password is read as `manage.py setup` reads it; roles are brought to what the code says first.
"""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from apps.centre.errors import NotSetUp
from apps.centre.selectors import centre_is_set_up
from apps.identity.services.operators import operator_role_bind, operator_roles_sync
from apps.identity.services.users import user_create
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import WeirError
from portal.management.commands.setup import one_line, password_read
from portal.roles import OPERATOR_ROLES


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--name", default="", help="the person's name; the login account when left out")
        parser.add_argument("--role", action="append", choices=[role.code for role in OPERATOR_ROLES])

    def handle(self, *args: Any, username: str, name: str, role: list[str] | None, **options: Any) -> None:
        if not centre_is_set_up():
            raise CommandError(one_line(NotSetUp()))
        password = password_read()
        try:
            with transaction.atomic():
                operator_roles_sync(actor=SYSTEM, roles=OPERATOR_ROLES)
                user = user_create(
                    actor=SYSTEM,
                    username=username,
                    display_name=name or username,
                    password=password,
                    is_operator=True,
                )
                for code in role or ["system_administrator"]:
                    operator_role_bind(actor=SYSTEM, user=user, role_code=code)
        except WeirError as error:
            raise CommandError(one_line(error)) from error
        self.stdout.write(f"{username} may sign in on the operators' side.")
