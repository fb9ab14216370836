"""Send, read and delete in-site messages."""

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone, translation

from apps.kernel.actor import Actor, act_subject
from apps.kernel.service import service
from apps.kernel.translatable import is_message, sentence
from apps.notices.models import Message
from apps.notices.push import push
from apps.notices.selectors import message_chosen, message_list
from apps.tenancy.models import Tenant


@service(recorded=False)
def notice_send(
    *,
    actor: Actor,
    user_ids: Iterable[int],
    msgid: str,
    params: Mapping[str, object] | None = None,
    link: str = "",
    tenant: Tenant | None = None,
) -> list[Message]:
    """One message to each user (PLAT-TODO-15).

    `msgid` is an English sentence with `%(name)s` places, marked with gettext_noop where it is written;
    `params` are its plain values, or sentences of their own; `link` is a path inside the reader's portal.
    """
    values = {name: value if is_message(value) else str(value) for name, value in (params or {}).items()}
    search_text = "\n".join(_in_language(code, msgid, values) for code, _name in settings.LANGUAGES)
    fields = {"msgid": msgid, "params": values, "search_text": search_text, "link": link, "tenant": tenant}
    rows = Message.objects.bulk_create(
        Message(user_id=user_id, **fields) for user_id in sorted(set(user_ids))
    )
    for row in rows:
        push(f"user.{row.user_id}", "message")
    return rows


def _in_language(code: str, msgid: str, values: Mapping[str, object]) -> str:
    with translation.override(code):
        return sentence(msgid, values)


@service(recorded=False, own=True)
def message_read(*, actor: Actor, uids: Sequence[UUID]) -> int:
    """Mark the actor's chosen messages read; how many were not (PLAT-TODO-16, PLAT-TODO-17)."""
    return _mark_read(actor, message_chosen(actor=actor, uids=uids).filter(read_at=None))


@service(recorded=False, own=True)
def message_read_all(*, actor: Actor) -> int:
    return _mark_read(actor, message_list(actor=actor, is_read=False))


def _mark_read(actor: Actor, rows: QuerySet[Message]) -> int:
    count = rows.update(read_at=timezone.now())
    if count:
        push(f"user.{actor.user_id}", "message")
    return count


@service(own=True)
def message_delete(*, actor: Actor, uids: Sequence[UUID]) -> int:
    """Delete the actor's chosen messages; all of them or none."""
    rows = message_chosen(actor=actor, uids=uids)
    act_subject("message", "", uids=[str(uid) for uid in uids])
    count, _kinds = rows.delete()
    push(f"user.{actor.user_id}", "message")
    return count


@service(recorded=False)
def tenant_messages_forget(*, actor: Actor, tenant: Tenant) -> None:
    """Delete every message that was sent to people of a tenant about it."""
    Message.objects.filter(tenant=tenant).delete()
