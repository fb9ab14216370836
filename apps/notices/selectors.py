from collections.abc import Sequence
from uuid import UUID

from django.db.models import Q, QuerySet

from apps.kernel.actor import Actor
from apps.kernel.errors import NotFound
from apps.notices.models import Message


def message_list(*, actor: Actor, search: str = "", is_read: bool | None = None) -> QuerySet[Message]:
    """The actor's own messages, newest first; in a tenant's portal that tenant's and those of no tenant."""
    rows = Message.objects.filter(user_id=actor.user_id)
    if actor.kind == "user":
        rows = rows.filter(Q(tenant=None) | Q(tenant__schema_name=actor.tenant))
    if search:
        rows = rows.filter(search_text__icontains=search)
    return rows if is_read is None else rows.filter(read_at__isnull=not is_read)


def message_get(*, actor: Actor, uid: UUID) -> Message:
    row = message_list(actor=actor).filter(uid=uid).first()
    if row is None:
        raise NotFound()
    return row


def message_chosen(*, actor: Actor, uids: Sequence[UUID]) -> QuerySet[Message]:
    """The named messages; NotFound unless every one of them is the actor's."""
    rows = message_list(actor=actor).filter(uid__in=uids)
    if not uids or rows.count() != len(set(uids)):
        raise NotFound()
    return rows


def message_unread_count(actor: Actor) -> int:
    return message_list(actor=actor, is_read=False).count()
