"""The steps that a category's tickets go through, one after the other, each with its own rules (PLAT-CFG-25)."""

import secrets
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput, NotFound
from apps.kernel.service import service
from apps.ticketing.models import TicketCategory
from apps.ticketing.permissions import TicketingPermission as P
from apps.ticketing.services.categories import category_lock
from apps.ticketing.states import Builtin

STEPS_MOST, NAME_MOST = 12, 80


@service(P.MANAGE)
def category_steps_set(
    *, actor: Actor, category_uid: UUID, steps: Sequence[Mapping[str, Any]]
) -> TicketCategory:
    """All steps of a category anew, in their order: `{name_zh, name_en}`, and `key` for one that stays.

    The rules of a step that goes, go with it; the first step that a category gets takes over the rules that it had, and
    the only one that is left gives them back. A ticket that is open keeps its steps and leaves out those that are gone.

    Raises:
        InvalidInput: a step without a name or with another's, an unknown or repeated key, or too many.
        Conflict: tickets of the service catalogue, which deliver orders, have one step.
    """
    return _put(category_lock(category_uid), steps)


def _put(row: TicketCategory, steps: Sequence[Mapping[str, Any]]) -> TicketCategory:
    act_subject("ticket_category", row.uid, name=row.name_en)
    if row.builtin == Builtin.SERVICE:
        raise Conflict(_("A ticket that delivers an order has one step."))
    if len(steps) > STEPS_MOST:
        raise _wrong(_("A category has at most %(most)s steps.") % {"most": STEPS_MOST})
    known = {step["key"] for step in row.steps}
    kept = [_clean(step, known) for step in steps]
    for name in ("key", "name_zh", "name_en"):
        if len({step[name] for step in kept}) < len(kept):
            raise _wrong(_("Two steps are called the same."))
    _rules_follow(row, [step["key"] for step in kept])
    row.steps = kept
    row.save(update_fields=["steps", "updated_at"])
    return row


def _clean(given: Mapping[str, Any], known: set[str]) -> dict[str, str]:
    zh, en = (" ".join(str(given.get(name) or "").split()) for name in ("name_zh", "name_en"))
    zh, en = zh or en, en or zh
    if not zh or max(len(zh), len(en)) > NAME_MOST:
        raise _wrong(_("A step needs a name of at most %(most)s characters.") % {"most": NAME_MOST})
    key = str(given.get("key") or "")
    if key and key not in known:
        raise _wrong(_("The category has no such step."))
    return {"key": key or secrets.token_hex(4), "name_zh": zh, "name_en": en}


def _wrong(reason: str) -> InvalidInput:
    return InvalidInput(reason, fields={"steps": reason})


def _rules_follow(row: TicketCategory, keys: list[str]) -> None:
    before = [step["key"] for step in row.steps]
    if not before and keys:
        row.rules.filter(step="").update(step=keys[0])
    gone = [key for key in before if key not in keys]
    if not keys and gone:
        row.rules.filter(step__in=gone[1:]).delete()
        row.rules.filter(step=gone[0]).update(step="")
    else:
        row.rules.filter(step__in=gone).delete()


@service(P.MANAGE)
def category_step_put(
    *, actor: Actor, category_uid: UUID, name_zh: str = "", name_en: str = "", key: str = ""
) -> TicketCategory:
    """A step after the others, or the one of that key by another name."""
    row = category_lock(category_uid)
    named = {"key": key, "name_zh": name_zh, "name_en": name_en}
    if not key:
        return _put(row, [*row.steps, named])
    _place(row, key)
    steps = [named if step["key"] == key else step for step in row.steps]
    return _put(row, steps)


@service(P.MANAGE)
def category_step_remove(*, actor: Actor, category_uid: UUID, key: str) -> TicketCategory:
    """Take a step away, and its rules with it."""
    row = category_lock(category_uid)
    _place(row, key)
    steps = [step for step in row.steps if step["key"] != key]
    return _put(row, steps)


@service(P.MANAGE)
def category_step_earlier(*, actor: Actor, category_uid: UUID, key: str) -> TicketCategory:
    """Let a step come before the one that it came after; the first stays."""
    row = category_lock(category_uid)
    place, steps = _place(row, key), list(row.steps)
    steps.insert(max(place - 1, 0), steps.pop(place))
    return _put(row, steps)


def _place(row: TicketCategory, key: str) -> int:
    place = next((number for number, step in enumerate(row.steps) if step["key"] == key), None)
    if place is None:
        raise NotFound(_("The category has no such step."))
    return place
