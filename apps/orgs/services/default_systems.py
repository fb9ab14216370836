"""For which business system work and applications are: the one they name, else the default of whoever asks."""

from contextlib import suppress
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Forbidden, InvalidInput
from apps.kernel.planes import in_tenant
from apps.kernel.service import service
from apps.orgs.models import TAKE_PART, BusinessSystem, BusinessSystemUser, DefaultSystem
from apps.orgs.permissions import OrgsPermission as P
from apps.orgs.selectors.business_systems import business_system_list, business_systems_known


@service(P.VIEW, own=True)
def default_system_set(*, actor: Actor, business_system: BusinessSystem | None) -> None:
    """What is asked for without a business system is for this one from now on; None: for none.

    InvalidInput for one that the actor takes no part in, or that is disabled.
    """
    if actor.user_id is None:
        raise Forbidden()
    act_subject("default_system", business_system.uid if business_system else "", user=actor.name)
    if business_system is None:
        DefaultSystem.objects.filter(user_id=actor.user_id).delete()
        return
    _enabled_check(business_system)
    if not systems_taken_part(actor).filter(pk=business_system.pk).exists():
        raise _refused(_("You take no part in %(name)s.") % {"name": business_system.name})
    chosen = {"business_system": business_system}
    DefaultSystem.objects.update_or_create(user_id=actor.user_id, defaults=chosen)


def systems_taken_part(actor: Actor) -> QuerySet[BusinessSystem]:
    """The business systems of the current tenant that the actor takes part in himself."""
    grants = BusinessSystemUser.objects.filter(user_id=actor.user_id, permission__codename=TAKE_PART)
    return BusinessSystem.objects.select_related("organization").filter(
        pk__in=grants.values("content_object_id")
    )


def default_system_find(actor: Actor) -> BusinessSystem | None:
    """The actor's default as he chose it, whether or not it may still be used."""
    return BusinessSystem.objects.filter(uid=actor.default_system).first() if actor.default_system else None


def default_system_use(actor: Actor) -> BusinessSystem | None:
    """The actor's default, for something that names none; InvalidInput when he takes part in it no longer or it is
    disabled."""
    row = default_system_find(actor)
    if row is None:
        return None
    _enabled_check(row)
    if not default_system_is_usable(actor, row):
        raise _refused(
            _("You no longer take part in your default business system %(name)s.") % {"name": row.name}
        )
    return row


def default_system_is_usable(actor: Actor, row: BusinessSystem) -> bool:
    """Whether what names none may be for this one: it is enabled, and the actor takes part in it."""
    return row.is_enabled and systems_taken_part(actor).filter(pk=row.pk).exists()


def system_named(actor: Actor, asked: str) -> BusinessSystem:
    """The business system of this number or uid, of those that the actor sees; InvalidInput for any other."""
    named = Q(number=asked)
    with suppress(ValueError):
        named |= Q(uid=UUID(asked))
    row = business_system_list(actor=actor).filter(named).first()
    if row is None:
        raise _refused(_("There is no business system %(asked)s that you take part in.") % {"asked": asked})
    _enabled_check(row)
    return row


def work_system_of(*, actor: Actor, asked: str) -> tuple[UUID, str] | None:
    """For which business system work is, by uid and name: the one that it names, else the default of whoever submits
    it. Raises what `system_named` and `default_system_use` raise."""
    if not asked and actor.default_system is None:
        return None
    with in_tenant(actor.tenant):
        row = system_named(actor, asked) if asked else default_system_use(actor)
    return (row.uid, row.name) if row else None


def work_systems_offered(*, actor: Actor) -> list[tuple[str, str]]:
    """Those that work may be for, by number and title, for a form."""
    with in_tenant(actor.tenant):
        rows = business_systems_known(actor=actor).filter(is_enabled=True)
        return [(row.number, f"{row.number} · {row.name}") for row in rows]


def _enabled_check(row: BusinessSystem) -> None:
    if not row.is_enabled:
        raise _refused(_("The business system %(name)s is disabled.") % {"name": row.name})


def _refused(reason: str) -> InvalidInput:
    cure = _("Name another one, or choose another default on the page of your business systems.")
    return InvalidInput(reason, fields={"business_system": reason}, cure=cure)
