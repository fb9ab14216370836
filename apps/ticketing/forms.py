"""What the pages of ticket categories and working hours send."""

from collections.abc import Iterable, Mapping
from datetime import date, time
from typing import Any

from django import forms
from django.utils.translation import gettext as _text
from django.utils.translation import gettext_lazy as _

from apps.identity.selectors import (
    operator_organizations_enabled,
    operator_post_list,
    operator_role_list,
    operators_enabled,
)
from apps.kernel.errors import InvalidInput, NotFound
from apps.kernel.forms import SoundForm
from apps.kernel.translatable import localized
from apps.ticketing.models import TicketCategory
from apps.ticketing.selectors import steps_of
from apps.ticketing.states import FieldKind, FieldState, ReceiverKind, Side
from apps.ticketing.ticket_form import label_of
from apps.ticketing.ticket_steps import step_name

WEEKDAYS = [
    (0, _("Monday")), (1, _("Tuesday")), (2, _("Wednesday")), (3, _("Thursday")), (4, _("Friday")), (5, _("Saturday")),
    (6, _("Sunday")),
]  # fmt: skip
SPANS_A_DAY = 2
_TEXTS = ("name_zh", "name_en", "hint_zh", "hint_en")


class _Form(SoundForm):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():
            widget = field.widget
            look = "form-select" if isinstance(widget, forms.Select) else "form-control"
            look = "form-check-input" if isinstance(widget, forms.CheckboxInput) else look
            widget.attrs |= {"class": look, "data-test": name}


def _choices_put(form: forms.Form, name: str, choices: Any) -> None:
    """What is chosen from is known only when the form is shown."""
    field = form.fields[name]
    assert isinstance(field, forms.ChoiceField)
    field.choices = choices


class CategoryForm(_Form):
    """A category's names, hint and targets; times in minutes of working time."""

    name_zh = forms.CharField(label=_("Name in Chinese"), max_length=80, required=False)
    name_en = forms.CharField(
        label=_("Name in English"), max_length=80, required=False, help_text=_("One of the two is enough.")
    )
    hint_zh = forms.CharField(label=_("Hint in Chinese"), max_length=300, required=False)
    hint_en = forms.CharField(label=_("Hint in English"), max_length=300, required=False)
    answer_hours = forms.DecimalField(
        label=_("First answer within (working hours)"),
        min_value=0,
        max_value=8784,
        decimal_places=2,
        required=False,
    )
    solve_hours = forms.DecimalField(
        label=_("Solution within (working hours)"),
        min_value=0,
        max_value=8784,
        decimal_places=2,
        required=False,
        help_text=_("Left empty: no target."),
    )
    is_enabled = forms.BooleanField(label=_("Tickets can be opened in it"), required=False, initial=True)

    def __init__(self, *args: Any, category: TicketCategory | None = None, **kwargs: Any) -> None:
        if category is not None:
            kwargs["initial"] = {
                **{
                    name: getattr(category, name)
                    for name in ("name_zh", "name_en", "hint_zh", "hint_en", "is_enabled")
                },
                "answer_hours": _hours(category.answer_minutes),
                "solve_hours": _hours(category.solve_minutes),
            }
        super().__init__(*args, **kwargs)
        if category is not None and category.builtin:
            for name in ("name_zh", "name_en"):
                self.fields[name].disabled = True

    def changes(self) -> dict[str, Any]:
        """What `category_change` takes."""
        given = dict(self.cleaned_data)
        for step in ("answer", "solve"):
            hours = given.pop(f"{step}_hours")
            given[f"{step}_minutes"] = round(hours * 60) if hours else None
        return given


def _hours(minutes: int | None) -> str:
    return f"{minutes / 60:.2f}".rstrip("0").rstrip(".") if minutes else ""


class FieldForm(_Form):
    """A field of a category's form."""

    label_zh = forms.CharField(label=_("Name in Chinese"), max_length=80, required=False)
    label_en = forms.CharField(label=_("Name in English"), max_length=80, required=False)
    kind = forms.ChoiceField(label=_("What is put in"), choices=FieldKind.choices)
    choices = forms.CharField(
        label=_("Choices"),
        required=False,
        widget=forms.Textarea({"rows": 3}),
        help_text=_("Of a choice: one a line."),
    )
    value = forms.CharField(label=_("Stands there to begin with"), max_length=300, required=False)
    opening = forms.ChoiceField(label=_("For who opens the ticket"), choices=FieldState.choices)
    handling = forms.ChoiceField(label=_("For who works on it"), choices=FieldState.choices)
    is_required = forms.BooleanField(label=_("Has to be filled in"), required=False)

    def __init__(
        self,
        *args: Any,
        field: Mapping[str, Any] | None = None,
        steps: Iterable[Mapping[str, Any]] = (),
        **kwargs: Any,
    ) -> None:
        if field is not None:
            by_step = {f"at_{key}": state for key, state in field.get("steps", {}).items()}
            kwargs["initial"] = {**field, **by_step, "choices": "\n".join(field["choices"])}
        super().__init__(*args, **kwargs)
        for step in steps:
            label = _text("At the step “%(step)s”") % {"step": step_name(step)}
            states = [("", _text("as for who works on it")), *FieldState.choices]
            attributes = {"class": "form-select", "data-test": f"at_{step['key']}"}
            self.fields[f"at_{step['key']}"] = forms.ChoiceField(
                label=label, choices=states, required=False, widget=forms.Select(attributes)
            )

    def given(self) -> dict[str, Any]:
        """What `category_field_put` takes."""
        sent = dict(self.cleaned_data)
        steps = {name.removeprefix("at_"): sent.pop(name) for name in list(sent) if name.startswith("at_")}
        return {**sent, "choices": sent["choices"].splitlines(), "steps": steps}


class StepForm(_Form):
    """A step that a category's tickets go through."""

    name_zh = forms.CharField(label=_("Name in Chinese"), max_length=80, required=False)
    name_en = forms.CharField(
        label=_("Name in English"), max_length=80, required=False, help_text=_("One of the two is enough.")
    )


class RuleForm(_Form):
    """To whom a category's tickets go, always or where a choice was made."""

    step = forms.ChoiceField(label=_("At the step"), required=False)
    when = forms.ChoiceField(label=_("When"), required=False)
    receiver = forms.ChoiceField(label=_("Goes to"))
    named = forms.CharField(
        label=_("Its name"),
        max_length=120,
        required=False,
        help_text=_("Of somebody on the tenant's side, as it is called there."),
    )

    def __init__(self, *args: Any, category: TicketCategory, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        conditions = [
            (f"{field['name']}={choice}", f"{label_of(field)}: {choice}")
            for field in category.fields
            if field["kind"] == FieldKind.CHOICE and field["opening"] != FieldState.HIDDEN
            for choice in field["choices"]
        ]
        steps = steps_of(category)
        if steps:
            _choices_put(self, "step", [(step["key"], step_name(step)) for step in steps])
        else:
            del self.fields["step"]
        _choices_put(self, "when", [("", _text("Always")), *conditions])
        _choices_put(self, "receiver", list(_receivers()))

    def rule(self) -> dict[str, str]:
        """What `rule_add` takes."""
        field, _equals, value = self.cleaned_data["when"].partition("=")
        side, kind, receiver = self.cleaned_data["receiver"].split(":", 2)
        found = {"side": side, "kind": kind, "receiver": receiver, "field": field, "value": value}
        found["step"] = self.cleaned_data.get("step", "")
        return found if side == Side.OPERATOR else {**found, "receiver": self.cleaned_data["named"]}


def _receivers() -> Iterable[tuple[str, list[tuple[str, str]]]]:
    """Everybody of the centre to whom a ticket can go, then the kinds of the tenant's side."""
    mine = Side.OPERATOR
    roles = [(f"{mine}:role:{row.code}", localized(row.name_zh, row.name_en)) for row in operator_role_list()]
    places = operator_organizations_enabled()
    yield _text("Roles"), roles
    if places:
        yield _text("Organizations"), [(f"{mine}:organization:{row.uid}", row.name) for row in places]
    posts = operator_post_list()
    if posts:
        yield _text("Posts"), [(f"{mine}:post:{row.uid}", row.name) for row in posts]
    yield _text("Users"), [(f"{mine}:user:{row.username}", str(row)) for row in operators_enabled()]
    kinds = [(f"{Side.TENANT}:{code}:", str(label)) for code, label in ReceiverKind.choices]
    yield _text("The tenant's people"), kinds


class SpecialDaysForm(_Form):
    """Days that are otherwise than their weekday."""

    first = forms.DateField(label=_("From"), widget=forms.DateInput({"type": "date"}))
    last = forms.DateField(label=_("To"), required=False, widget=forms.DateInput({"type": "date"}))
    name = forms.CharField(label=_("Name"), max_length=80)
    weekday = forms.TypedChoiceField(
        label=_("The centre is"), choices=[], coerce=int, empty_value=None, required=False
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        like = [(number, _text("working as on %(day)s") % {"day": day}) for number, day in WEEKDAYS]
        _choices_put(self, "weekday", [("", _text("closed")), *like])


def day_of(text: str) -> date:
    """A day in an address; NotFound for what is none."""
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise NotFound() from error


def spans_of(sent: Mapping[str, str]) -> list[tuple[int, time, time]]:
    """The working hours of a week, sent as `opens_<weekday>_<number>` and `closes_…`."""
    found = []
    for weekday, label in WEEKDAYS:
        for number in range(SPANS_A_DAY):
            opens, closes = (
                sent.get(f"{name}_{weekday}_{number}", "").strip() for name in ("opens", "closes")
            )
            if not opens and not closes:
                continue
            try:
                found.append((weekday, time.fromisoformat(opens), time.fromisoformat(closes)))
            except ValueError as error:
                reason = _text("From when and until when are wanted, such as 09:00 and 17:30.")
                raise InvalidInput(reason, fields={str(label): reason}) from error
    return found
