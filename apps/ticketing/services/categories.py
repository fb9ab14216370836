"""Make, change and take away categories of tickets, their forms and their rules (PLAT-CFG-25 to -29)."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any
from uuid import UUID, uuid4

from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, transaction
from django.db.models import ProtectedError
from django.utils.translation import gettext as _

from apps.identity.selectors import operator_organization_find, operator_post_title, operator_role_title
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput, NotFound
from apps.kernel.service import service
from apps.ticketing.models import RoutingRule, TicketCategory
from apps.ticketing.permissions import TicketingPermission as P
from apps.ticketing.selectors import category_get, operators_answering, receiver_text, steps_of
from apps.ticketing.states import Builtin, FieldKind, FieldState, ReceiverKind, Side
from apps.ticketing.ticket_form import fields_clean, label_of

LEVELS_MOST = 5
MINUTES_MOST = 366 * 24 * 60
CHANGEABLE = ("name_zh", "name_en", "hint_zh", "hint_en", "answer_minutes", "solve_minutes", "is_enabled")
_BUILTIN_FIXED = ("name_zh", "name_en")


@service(P.MANAGE)
def category_create(
    *,
    actor: Actor,
    parent: TicketCategory,
    name_zh: str,
    name_en: str,
    fields: Iterable[Mapping[str, Any]] = (),
    changes: Mapping[str, Any] | None = None,
) -> TicketCategory:
    """A category of one's own, below O&M or another one below that (PLAT-CFG-29)."""
    parent = category_lock(parent.uid)
    if not parent.path.startswith(Builtin.OPERATIONS):
        reason = _("Categories of your own stand below %(name)s.") % {"name": Builtin.OPERATIONS.label}
        raise InvalidInput(reason, fields={"parent": reason})
    if parent.depth + 1 >= LEVELS_MOST:
        reason = _("Categories have at most %(most)s levels.") % {"most": LEVELS_MOST}
        raise InvalidInput(reason, fields={"parent": reason})
    uid = uuid4()
    row = TicketCategory(uid=uid, parent=parent, path=f"{parent.path}/{uid.hex[:12]}")
    row.fields = fields_clean(fields)
    _put(row, {"name_zh": name_zh, "name_en": name_en, **(changes or {})})
    act_subject("ticket_category", row.uid, name=row.name_en)
    row.save()
    return row


@service(P.MANAGE)
def category_change(*, actor: Actor, category_uid: UUID, changes: Mapping[str, Any]) -> TicketCategory:
    """Another name, hint, target or whether it is offered. What is built in keeps its name."""
    row = category_lock(category_uid)
    if row.builtin and any(
        changes.get(name, getattr(row, name)) != getattr(row, name) for name in _BUILTIN_FIXED
    ):
        raise Conflict(_("%(name)s is built in and keeps its name.") % {"name": row})
    act_subject("ticket_category", row.uid, name=row.name_en)
    _put(row, changes)
    row.save()
    return row


def _put(row: TicketCategory, changes: Mapping[str, Any]) -> None:
    for name in set(changes) - set(CHANGEABLE):
        raise InvalidInput(fields={name: _("This is not changed here.")})
    for name, value in changes.items():
        setattr(row, name, " ".join(value.split()) if isinstance(value, str) else value)
    row.name_zh, row.name_en = row.name_zh or row.name_en, row.name_en or row.name_zh
    for name in ("answer_minutes", "solve_minutes"):
        minutes = getattr(row, name)
        if minutes is not None and not 1 <= minutes <= MINUTES_MOST:
            raise InvalidInput(fields={name: _("A time of at least a minute, and at most a year.")})
    if row.answer_minutes and row.solve_minutes and row.answer_minutes > row.solve_minutes:
        reason = _("The first answer comes no later than the solution.")
        raise InvalidInput(reason, fields={"answer_minutes": reason})
    try:
        row.full_clean(exclude=["fields"])
    except ValidationError as error:
        fields = {name: " ".join(texts) for name, texts in error.message_dict.items()}
        raise InvalidInput(" ".join(fields.values()), fields=fields) from error


@service(P.MANAGE)
def category_fields_set(
    *, actor: Actor, category_uid: UUID, fields: Iterable[Mapping[str, Any]]
) -> TicketCategory:
    """Another form: tickets that are open keep the one they were opened with (PLAT-CFG-26)."""
    return _fields_put(category_lock(category_uid), fields)


@service(P.MANAGE)
def category_field_put(
    *, actor: Actor, category_uid: UUID, field: Mapping[str, Any], name: str = ""
) -> TicketCategory:
    """A field at the end of a category's form, or the one of that name anew."""
    row = category_lock(category_uid)
    if not name:
        return _fields_put(row, [*row.fields, field])
    _field_check(row, name)
    return _fields_put(row, [{**field, "name": name} if one["name"] == name else one for one in row.fields])


@service(P.MANAGE)
def category_field_remove(*, actor: Actor, category_uid: UUID, name: str) -> TicketCategory:
    row = category_lock(category_uid)
    _field_check(row, name)
    return _fields_put(row, [one for one in row.fields if one["name"] != name])


def _field_check(row: TicketCategory, name: str) -> None:
    if all(one["name"] != name for one in row.fields):
        raise NotFound(_("The form has no such field."))


def _fields_put(row: TicketCategory, fields: Iterable[Mapping[str, Any]]) -> TicketCategory:
    act_subject("ticket_category", row.uid, name=row.name_en)
    kept = fields_clean(fields)
    _field_steps_check(row, kept)
    row.fields = kept
    for rule in row.rules.exclude(field=""):
        _condition_check(row, rule.field, rule.value)
    row.save(update_fields=["fields", "updated_at"])
    return row


def _field_steps_check(row: TicketCategory, fields: list[dict[str, Any]]) -> None:
    """Drop what fields say of steps that are gone; InvalidInput for a step that there never was."""
    known = {one["key"] for one in steps_of(row)}
    before = {key for field in row.fields for key in field.get("steps", {})}
    for field in fields:
        if set(field["steps"]) - known - before:
            raise InvalidInput(fields={label_of(field): _("The category has no such step.")})
        field["steps"] = {key: state for key, state in field["steps"].items() if key in known}


@service(P.MANAGE)
def category_delete(*, actor: Actor, category_uid: UUID) -> None:
    """Take a category away that nothing stands below and no ticket was ever opened in; one of the three never is."""
    row = category_lock(category_uid)
    act_subject("ticket_category", row.uid, name=row.name_en)
    if row.builtin:
        raise Conflict(_("%(name)s is built in and cannot be deleted.") % {"name": row})
    try:
        with transaction.atomic():
            row.delete()
            # The tickets of all tenants refer to it: asked now, not at the end of the transaction.
            connection.check_constraints()
    except ProtectedError as error:
        raise Conflict(
            _("Other categories stand below %(name)s.") % {"name": row}, cure=_("Delete them first.")
        ) from error
    except IntegrityError as error:
        raise Conflict(
            _("Tickets were opened in %(name)s.") % {"name": row},
            cure=_("Disable it: it is offered no more."),
        ) from error


def category_lock(uid: UUID) -> TicketCategory:
    """The category, locked until the transaction ends; NotFound for none."""
    row = TicketCategory.objects.select_for_update(no_key=True).filter(uid=uid).first()
    if row is None:
        raise NotFound(_("There is no such ticket category."))
    return row


# --- rules -----------------------------------------------------------------------------------------------------


@service(P.MANAGE)
def rule_add(
    *,
    actor: Actor,
    category_uid: UUID,
    kind: str,
    receiver: str,
    side: str = Side.OPERATOR,
    step: str = "",
    field: str = "",
    value: str = "",
) -> RoutingRule:
    """Send a category's tickets to somebody at a step (that of the key, or the first), all or those in which a field
    has a value; of two rules with the same condition the new one holds. Refused where nobody would answer: on the
    tenant's side that is asked when a ticket is opened, since each tenant has its own people."""
    row = category_lock(category_uid)
    act_subject("ticket_category", row.uid, name=row.name_en)
    steps = [one["key"] for one in steps_of(row)]
    step = step or (steps[0] if steps and row.steps else "")
    if step and step not in steps:
        raise InvalidInput(fields={"step": _("The category has no such step.")})
    rule = RoutingRule(
        category=row,
        side=side,
        kind=kind,
        receiver=receiver.strip(),
        step=step,
        field=field,
        value=value.strip(),
    )
    if side not in Side.values or kind not in ReceiverKind.values:
        raise InvalidInput(fields={"kind": _("There is no such kind of receiver.")})
    if not rule.receiver or len(rule.receiver) > 120:
        raise InvalidInput(fields={"receiver": _("Say to whom the tickets go.")})
    if row.builtin == Builtin.SERVICE and side != Side.OPERATOR:
        reason = _("Orders are delivered by the operators.")
        raise InvalidInput(reason, fields={"side": reason})
    if field:
        _condition_check(row, field, rule.value)
    elif rule.value:
        raise InvalidInput(fields={"field": _("Say which field has this value.")})
    if side == Side.OPERATOR:
        _answered_check(rule)
    RoutingRule.objects.filter(category=row, step=step, field=rule.field, value=rule.value).delete()
    rule.save()
    return rule


def _answered_check(rule: RoutingRule) -> None:
    known: dict[str, Callable[[], bool]] = {
        ReceiverKind.ROLE: lambda: operator_role_title(rule.receiver) != "",
        ReceiverKind.ORGANIZATION: lambda: operator_organization_find(rule.receiver) is not None,
        ReceiverKind.USER: lambda: True,
        ReceiverKind.POST: lambda: operator_post_title(rule.receiver) != "",
    }
    if not known[rule.kind]():
        raise InvalidInput(fields={"receiver": _("There is no such receiver.")})
    if not any(operators_answering(rule)):
        reason = _("Nobody of %(receiver)s can work on tickets.") % {"receiver": receiver_text(rule)}
        cure = _("Give somebody there a role that may work on tickets, or choose another receiver.")
        raise InvalidInput(reason, fields={"receiver": reason}, cure=cure)


def _condition_check(row: TicketCategory, name: str, value: str) -> None:
    """InvalidInput unless the field is one that is filled in when a ticket is opened, and may have the value."""
    field = next((one for one in row.fields if one["name"] == name), None)
    if field is None or field["opening"] == FieldState.HIDDEN:
        reason = _("A rule goes by a field that whoever opens the ticket fills in.")
        raise InvalidInput(
            reason, fields={"field": reason}, cure=_("Take the rule away first, or keep the field.")
        )
    if not value:
        raise InvalidInput(fields={"value": _("Say which value of %(field)s.") % {"field": label_of(field)}})
    if field["kind"] == FieldKind.CHOICE and value not in field["choices"]:
        reason = _("%(field)s cannot be %(value)s.") % {"field": label_of(field), "value": value}
        raise InvalidInput(reason, fields={"value": reason})


@service(P.MANAGE)
def rule_remove(*, actor: Actor, rule_uid: UUID) -> TicketCategory:
    """The category's other rules hold, without any those of the one above it."""
    rule = RoutingRule.objects.select_related("category").filter(uid=rule_uid).first()
    if rule is None:
        raise NotFound()
    act_subject("ticket_category", rule.category.uid, name=rule.category.name_en)
    rule.delete()
    return category_get(rule.category.uid)
