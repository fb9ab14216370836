"""Form templates and their fields: what an application asks for beside services and duration (PLAT-CFG-23)."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any

from django.utils.text import slugify
from django.utils.translation import gettext as _

from apps.catalog.models import FormTemplate, ProcessApp
from apps.catalog.permissions import CatalogPermission as P
from apps.catalog.services.rows import code_new, row_check
from apps.catalog.states import FieldKind
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput, NotFound
from apps.kernel.service import service

FIELDS_MOST = 50
CHOICES_MOST = 50
_NAME_MOST = 48
_LABEL_MOST = 120
_HELP_MOST = 300
_UNIT_MOST = 16
_FIGURE_MOST = 10**15
_STATES = frozenset({"read_only", "read_write", "hidden"})
_FIGURES = frozenset({FieldKind.NUMBER, FieldKind.DURATION, FieldKind.MEMORY})
# What conditions of a process read of an application beside its fields.
_FIGURES_OF_FORMS = frozenset(
    {
        "kind", "amount", "duration_s", "count", "compute_percent", "gpu_memory_mib", "storage_mib",
        "organization", "business_system",
    }
)  # fmt: skip
# What is chosen among things that come and go has no default.
_NO_DEFAULT = frozenset({FieldKind.PERSON, FieldKind.QUEUE, FieldKind.MODEL, FieldKind.HEADING})


@dataclass(frozen=True, slots=True)
class FieldDraft:
    """A field of a form: its labels and helps in both languages. A number has a unit, a number, a duration (seconds)
    and a memory (MiB) may have bounds, a choice has the texts to choose from. `default` stands there at first."""

    kind: str
    label_zh: str
    label_en: str
    is_required: bool = False
    help_zh: str = ""
    help_en: str = ""
    unit: str = ""
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    default: str | float | None = None


@service(P.MANAGE)
def form_template_create(
    *,
    actor: Actor,
    kind: str,
    name_zh: str,
    name_en: str,
    fields: Sequence[Mapping[str, Any]] = (),
    code: str = "",
) -> FormTemplate:
    """Make a form. Without a `code` it gets one after its English name."""
    for number, field in enumerate(fields, start=1):
        is_sound = (
            isinstance(field, Mapping)
            and bool(field.get("name"))
            and field.get("kind") in FieldKind.values
            and field.get("state", "read_write") in _STATES
        )
        if not is_sound:
            reason = _("Field %(number)s needs a name, a known kind and a known state.") % {"number": number}
            raise InvalidInput(reason, fields={"fields": reason})
    row = FormTemplate(
        code=code or code_new(FormTemplate, name_en, otherwise="form"),
        kind=kind,
        name_zh=name_zh,
        name_en=name_en,
        fields=[dict(field) for field in fields],
    )
    row_check(row)
    row.save()
    act_subject("form_template", row.code)
    return row


@service(P.MANAGE)
def form_template_rename(*, actor: Actor, code: str, name_zh: str, name_en: str) -> FormTemplate:
    row = _locked(code)
    row.name_zh, row.name_en = name_zh, name_en
    return _saved(row)


@service(P.MANAGE)
def form_template_delete(*, actor: Actor, code: str) -> None:
    """Delete one that no process application asks with."""
    row = _locked(code)
    apps = [str(app) for app in ProcessApp.objects.filter(form_template=row)]
    if apps:
        raise Conflict(
            _("%(name)s is asked by: %(apps)s.") % {"name": row, "apps": ", ".join(apps)},
            cure=_("Give those another form first."),
        )
    row.delete()


@service(P.MANAGE)
def form_field_put(
    *, actor: Actor, code: str, version: int, draft: FieldDraft, name: str = ""
) -> FormTemplate:
    """Add a field at the end, or change the one called `name`, whose kind stays.

    Applications that are open keep the fields they were begun with. `version` is the one that was read: nobody
    overwrites another's change. InvalidInput names what is wrong with the draft.
    """
    row = _locked(code, version)
    if name:
        at = _place(row, name)
        if row.fields[at]["kind"] != draft.kind:
            raise InvalidInput(fields={"kind": _("The kind of a field stays: make another field.")})
    elif len(row.fields) >= FIELDS_MOST:
        raise InvalidInput(_("A form has %(most)s fields at most.") % {"most": FIELDS_MOST})
    else:
        at, name = len(row.fields), _name_new(row, draft.label_en)
    field = {"name": name, **_checked(draft)}
    row.fields = [*row.fields[:at], field, *row.fields[at + 1 :]]
    return _saved(row)


@service(P.MANAGE)
def form_field_remove(*, actor: Actor, code: str, version: int, name: str) -> FormTemplate:
    """Ask for it no more. Applications that are open still do."""
    row = _locked(code, version)
    at = _place(row, name)
    row.fields = [*row.fields[:at], *row.fields[at + 1 :]]
    return _saved(row)


@service(P.MANAGE)
def form_field_order(*, actor: Actor, code: str, version: int, name: str, is_up: bool) -> FormTemplate:
    """Let it change places with the field before it, or after it. The first and the last stay where they are."""
    row = _locked(code, version)
    at, fields = _place(row, name), list(row.fields)
    to = at - 1 if is_up else at + 1
    if not 0 <= to < len(fields):
        return row
    fields[at], fields[to] = fields[to], fields[at]
    row.fields = fields
    return _saved(row)


def _checked(draft: FieldDraft) -> dict[str, Any]:
    """The field as it is kept; InvalidInput naming each figure that makes no sense."""
    wrong: dict[str, object] = {}
    if draft.kind not in FieldKind.values:
        wrong["kind"] = _("There is no such kind of field.")
    limits = {
        "label_zh": _LABEL_MOST, "label_en": _LABEL_MOST, "help_zh": _HELP_MOST, "help_en": _HELP_MOST,
        "unit": _UNIT_MOST,
    }  # fmt: skip
    for name, most in limits.items():
        text = getattr(draft, name)
        if len(text) > most:
            wrong[name] = _("At most %(most)s characters.") % {"most": most}
        elif name.startswith("label") and not text.strip():
            wrong[name] = _("Fill this in.")
    wrong |= _bounds_wrong(draft) | _choices_wrong(draft)
    if not wrong and draft.default not in (None, "") and not field_fits(asdict(draft), draft.default):
        wrong["default"] = _("This is no valid value here.")
    if wrong:
        raise InvalidInput(_("The field cannot be kept as it stands."), fields=wrong)
    kept = {name: value for name, value in asdict(draft).items() if value not in (None, "", ())}
    if "choices" in kept:
        kept["choices"] = list(draft.choices)
    kept["is_required"] = draft.is_required and draft.kind != FieldKind.HEADING
    return kept


def _bounds_wrong(draft: FieldDraft) -> dict[str, object]:
    wrong: dict[str, object] = {}
    given = {"minimum": draft.minimum, "maximum": draft.maximum}
    for name, value in given.items():
        if value is None:
            continue
        if draft.kind not in _FIGURES:
            wrong[name] = _("Only numbers, durations and memory have bounds.")
        elif abs(value) >= _FIGURE_MOST or (value < 0 and draft.kind != FieldKind.NUMBER):
            wrong[name] = _("This is no valid value here.")
    if draft.minimum is not None and draft.maximum is not None and draft.minimum > draft.maximum:
        wrong["maximum"] = _("The most is less than the least.")
    if draft.default not in (None, "") and draft.kind in _NO_DEFAULT:
        wrong["default"] = _("This kind of field has no default.")
    return wrong


def _choices_wrong(draft: FieldDraft) -> dict[str, object]:
    if draft.kind != FieldKind.CHOICE:
        return {"choices": _("Only a choice has texts to choose from.")} if draft.choices else {}
    if not 1 <= len(draft.choices) <= CHOICES_MOST or len(set(draft.choices)) != len(draft.choices):
        return {"choices": _("Name 1 to %(most)s different texts, one a line.") % {"most": CHOICES_MOST}}
    if any(not text.strip() or len(text) > _LABEL_MOST for text in draft.choices):
        return {"choices": _("At most %(most)s characters.") % {"most": _LABEL_MOST}}
    return {}


def field_fits(field: Mapping[str, Any], value: object) -> bool:
    """Whether a value may stand in a field; of what is chosen among things that come and go, whether it is a text."""
    kind = field["kind"]
    if kind in _FIGURES:
        if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) < _FIGURE_MOST:
            return False
        least, most = field.get("minimum"), field.get("maximum")
        lowest = float("-inf") if kind == FieldKind.NUMBER else 0
        return (lowest if least is None else least) <= value and (most is None or value <= most)
    if not isinstance(value, str) or len(value) > 2000:
        return False
    if kind == FieldKind.DATE:
        return _is_date(value)
    return value in field.get("choices", ()) if kind == FieldKind.CHOICE else kind != FieldKind.HEADING


def _is_date(value: str) -> bool:
    try:
        date.fromisoformat(value)
    except ValueError:
        return False
    return True


def _name_new(row: FormTemplate, label: str) -> str:
    """What the field is called in conditions of processes: after its English label, unlike the others."""
    taken = {field["name"] for field in row.fields} | _FIGURES_OF_FORMS
    stem = slugify(label)[:_NAME_MOST].replace("-", "_").strip("_") or "field"
    if stem not in taken:
        return stem
    number = 2
    while f"{stem}_{number}" in taken:
        number += 1
    return f"{stem}_{number}"


def _place(row: FormTemplate, name: str) -> int:
    for at, field in enumerate(row.fields):
        if field["name"] == name:
            return at
    raise NotFound(_("The form has no such field."))


def _locked(code: str, version: int | None = None) -> FormTemplate:
    row = FormTemplate.objects.select_for_update(no_key=True).filter(code=code).first()
    if row is None:
        raise NotFound(_("There is no such form template."))
    act_subject("form_template", row.code)
    if version is not None and row.version != version:
        raise Conflict(
            _("Somebody else changed the form: it is at version %(n)s.") % {"n": row.version},
            cure=_("Load the page again."),
        )
    return row


def _saved(row: FormTemplate) -> FormTemplate:
    row.version += 1
    row_check(row)
    row.save()
    return row
