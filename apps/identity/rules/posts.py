"""What holds for posts, a tenant's and the operators' own."""

from typing import Any, TypeVar
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from apps.identity.models import PostFields
from apps.identity.rules.organizations import name_clean
from apps.kernel.errors import InvalidInput, NotFound

P = TypeVar("P", bound=PostFields)


def post_of(rows: QuerySet[P], uid: UUID) -> P:
    """The post of these with the uid; NotFound for any other."""
    row = rows.filter(uid=uid).first()
    if row is None:
        raise NotFound()
    return row


def post_keep(row: PostFields, name: str) -> None:
    """Give a post a name, and keep it; InvalidInput for a name that another one has."""
    row.name = name_clean(name)
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError as error:
        reason = _("There is already a post %(name)s.") % {"name": row.name}
        raise InvalidInput(reason, fields={"name": reason}) from error


def post_end(row: Any) -> int:
    """Take a post from all who hold it, and delete it; how many held it."""
    held: int = row.holders.update(post=None)
    row.delete()
    return held
