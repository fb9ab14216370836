"""The setting-up of a centre: its settings and its first operator, in one act."""

from collections.abc import Iterable

from django.db import transaction

from apps.catalog.services.processes import process_template_import
from apps.centre.models import Centre
from apps.centre.permissions import CentrePermission
from apps.centre.services import MailGiven, centre_open
from apps.centre.setup_token import setup_token_end
from apps.identity.models import User
from apps.identity.services.operators import operator_role_bind
from apps.identity.services.users import user_create
from apps.kernel.actor import Actor, act_subject
from apps.kernel.service import service
from apps.scheduling.services.queues.queue_settings import queue_ensure
from workflows.registry import definition_list

# Of one person alone: accounts, tenants and nodes by the first, prices, approvals and bills by the second.
FIRST_OPERATOR = ("system_administrator", "operations_manager")


@service(CentrePermission.MANAGE)
def centre_setup(
    *,
    actor: Actor,
    username: str,
    display_name: str,
    password: str,
    language: str,
    timezone: str,
    name: str = "",
    email: str = "",
    mail: MailGiven | None = None,
    roles: Iterable[str] = FIRST_OPERATOR,
) -> tuple[Centre, User]:
    """Open the centre with its first operator, who holds `roles`, a queue for work, and the shipped processes.

    All or nothing, and once: AlreadySetUp for who comes second, InvalidInput for what may not be. The setup token is
    worth nothing any more.
    """
    centre = centre_open(actor=actor, name=name, language=language, timezone=timezone, mail=mail)
    queue_ensure(actor=actor)
    for shipped in definition_list():
        process_template_import(
            actor=actor, key=shipped.key, xml=shipped.xml, name_zh=shipped.name_zh, name_en=shipped.name
        )
    user = user_create(
        actor=actor,
        username=username,
        display_name=display_name,
        password=password,
        email=email,
        is_operator=True,
    )
    for role in roles:
        operator_role_bind(actor=actor, user=user, role_code=role)
    act_subject("user", user.uid, username=user.username)
    transaction.on_commit(setup_token_end)
    return centre, user
