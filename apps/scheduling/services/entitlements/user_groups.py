"""Operators put users into groups, by which queues are theirs (PLAT-CLU-61)."""

from collections.abc import Collection

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from apps.identity.models import User
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict
from apps.kernel.service import service
from apps.scheduling.models import UserGroup
from apps.scheduling.permissions import SchedulingPermission as P


@service(P.MANAGE)
def user_group_make(
    *, actor: Actor, code: str, name_en: str, name_zh: str, users: Collection[User] = ()
) -> UserGroup:
    """A new group of users. Raises Conflict for a code that is taken."""
    act_subject("user_group", code, users=_usernames(users))
    try:
        with transaction.atomic():
            row = UserGroup.objects.create(code=code, name_en=name_en, name_zh=name_zh)
    except IntegrityError as error:
        raise Conflict(
            _("There is a user group %(code)s already.") % {"code": code}, cure=_("Change that one.")
        ) from error
    row.users.set(users)
    return row


@service(P.MANAGE)
def user_group_change(
    *, actor: Actor, group: UserGroup, name_en: str, name_zh: str, users: Collection[User]
) -> UserGroup:
    """Other names, other users. What they have submitted stays in its queue; the next submission follows it."""
    act_subject("user_group", group.code, users=_usernames(users))
    row = _locked(group)
    row.name_en, row.name_zh = name_en, name_zh
    row.save()
    row.users.set(users)
    return row


@service(P.MANAGE)
def user_group_remove(*, actor: Actor, group: UserGroup) -> None:
    """Take a group away. Raises Conflict while a queue is for it: without its last group it would be everybody's."""
    act_subject("user_group", group.code)
    row = _locked(group)
    queues = list(row.queues.order_by("code").values_list("code", flat=True))
    if queues:
        raise Conflict(
            _("These queues are for user group %(code)s: %(queues)s.")
            % {"code": row.code, "queues": ", ".join(queues)},
            cure=_("Take it from them first."),
        )
    row.delete()


def _locked(group: UserGroup) -> UserGroup:
    row = UserGroup.objects.select_for_update().filter(pk=group.pk).first()
    if row is None:
        raise Conflict(_("User group %(code)s was removed meanwhile.") % {"code": group.code})
    return row


def _usernames(users: Collection[User]) -> str:
    return ", ".join(sorted(user.username for user in users))[:200]
