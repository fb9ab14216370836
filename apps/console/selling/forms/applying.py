"""The input of the pages that say what an application asks for and who decides: categories, forms, processes."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.translation import gettext_lazy

from apps.catalog.models import FormTemplate, ProcessTemplate
from apps.catalog.selectors.commodities import categories_top, category_list
from apps.catalog.selectors.processes import form_template_list, process_template_list
from apps.catalog.services.form_templates import FieldDraft
from apps.catalog.states import FieldKind
from apps.console.centre.forms import StyledForm

Choices = list[tuple[str, Any]]
SECONDS = ((60, gettext_lazy("minutes")), (3600, gettext_lazy("hours")), (86400, gettext_lazy("days")))
MEMORY = ((1, "MiB"), (1024, "GiB"))


class NamesForm(StyledForm):
    name_en = forms.CharField(label=gettext_lazy("Name in English"), max_length=120)
    name_zh = forms.CharField(label=gettext_lazy("Name in Chinese"), max_length=120)


class CategoryForm(NamesForm):
    parent = forms.ModelChoiceField(
        categories_top(),
        to_field_name="code",
        label=gettext_lazy("Under"),
        required=False,
        empty_label=gettext_lazy("Nothing: of the first level"),
    )


class FormTemplateForm(NamesForm):
    kind = forms.ChoiceField(label=gettext_lazy("Kind"), choices=FormTemplate.Kind.choices)


class FormNamesForm(NamesForm):
    """A form is renamed; what it asks for stays what it is."""


# --- the fields of a form template --------------------------------------------------------------------------------


class FieldForm(StyledForm):
    """One field of a form; what its kind does not have is not asked for."""

    label_en = forms.CharField(label=gettext_lazy("Label in English"), max_length=120)
    label_zh = forms.CharField(label=gettext_lazy("Label in Chinese"), max_length=120)
    help_en = forms.CharField(label=gettext_lazy("Help in English"), max_length=300, required=False)
    help_zh = forms.CharField(label=gettext_lazy("Help in Chinese"), max_length=300, required=False)
    unit = forms.CharField(
        label=gettext_lazy("Unit"), max_length=16, required=False, help_text=gettext_lazy("Shown behind it.")
    )
    minimum = forms.FloatField(label=gettext_lazy("Least"), required=False)
    maximum = forms.FloatField(label=gettext_lazy("Most"), required=False)
    figure_unit = forms.TypedChoiceField(label=gettext_lazy("Counted in"), coerce=int)
    choices = forms.CharField(
        label=gettext_lazy("To choose from"),
        widget=forms.Textarea({"rows": 5}),
        help_text=gettext_lazy("One a line."),
    )
    default = forms.CharField(label=gettext_lazy("Stands there at first"), max_length=2000, required=False)
    is_required = forms.BooleanField(label=gettext_lazy("Must be filled in"), required=False)

    _OWN: Mapping[str, tuple[str, ...]] = {
        FieldKind.TEXT: ("default",),
        FieldKind.NUMBER: ("unit", "minimum", "maximum", "default"),
        FieldKind.CHOICE: ("choices", "default"),
        FieldKind.DATE: ("default",),
        FieldKind.DURATION: ("figure_unit", "minimum", "maximum", "default"),
        FieldKind.MEMORY: ("figure_unit", "minimum", "maximum", "default"),
    }
    _EVERY = ("label_en", "label_zh", "help_en", "help_zh")

    def __init__(self, *args: Any, kind: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.kind = kind
        kept = {*self._EVERY, *self._OWN.get(kind, ())}
        if kind != FieldKind.HEADING:
            kept.add("is_required")
        for name in set(self.fields) - kept:
            del self.fields[name]
        if "figure_unit" in self.fields:
            units = self.fields["figure_unit"]
            assert isinstance(units, forms.ChoiceField)
            units.choices = SECONDS if kind == FieldKind.DURATION else MEMORY
        if kind == FieldKind.DATE:
            self.fields["default"].widget.input_type = "date"
        if kind in (FieldKind.NUMBER, FieldKind.DURATION, FieldKind.MEMORY):
            self.fields["default"].widget = forms.NumberInput(
                self.fields["default"].widget.attrs | {"step": "any"}
            )

    def draft(self) -> FieldDraft:
        """What the cleaned values say; durations in seconds, memory in MiB."""
        given = dict(self.cleaned_data)
        factor = given.pop("figure_unit", 1)
        given["choices"] = tuple(
            line.strip() for line in given.pop("choices", "").splitlines() if line.strip()
        )
        default: Any = given.pop("default", "") or None
        if self.kind in (FieldKind.NUMBER, FieldKind.DURATION, FieldKind.MEMORY):
            bounds = {name: _times(given.pop(name), factor) for name in ("minimum", "maximum")}
            return FieldDraft(self.kind, **given, **bounds, default=_times(_figure(default), factor))
        return FieldDraft(self.kind, **given, default=default)


def _figure(text: str | None) -> float | str | None:
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        # The service names the field.
        return text


def _times(figure: float | str | None, factor: int) -> Any:
    if not isinstance(figure, float):
        return figure
    scaled = figure * factor
    return int(scaled) if scaled.is_integer() else scaled


def field_initial(field: Mapping[str, Any]) -> dict[str, Any]:
    """What the form shows of a field: figures in the largest unit that shows them whole."""
    shown = dict(field) | {"choices": "\n".join(field.get("choices", ()))}
    units = {FieldKind.DURATION: SECONDS, FieldKind.MEMORY: MEMORY}.get(field["kind"])
    if units:
        figures = [field[name] for name in ("minimum", "maximum", "default") if field.get(name)]
        unit = max(
            (one for one, _name in units if figures and all(f % one == 0 for f in figures)),
            default=units[0][0],
        )
        shown["figure_unit"] = unit
        for name in ("minimum", "maximum", "default"):
            if field.get(name) is not None:
                shown[name] = f"{field[name] / unit:.10g}"
    return shown


# --- processes -----------------------------------------------------------------------------------------------------


def _process_template_choices() -> Choices:
    """Each version of a process by name, with when it came."""
    return [
        (str(row.uid), f"{row.name} · {timezone.localtime(row.created_at):%Y-%m-%d %H:%M}")
        for row in process_template_list()
    ]


class ProcessBindForm(StyledForm):
    process_template = forms.ChoiceField(
        label=gettext_lazy("Who decides: the process"), choices=_process_template_choices
    )
    form_template = forms.ModelChoiceField(
        form_template_list(), label=gettext_lazy("What is asked: the form"), to_field_name="code"
    )

    def clean_process_template(self) -> ProcessTemplate:
        return process_template_list().get(uid=self.cleaned_data["process_template"])


class ProcessAppForm(NamesForm, ProcessBindForm):
    category = forms.ModelChoiceField(category_list(), label=gettext_lazy("Category"), to_field_name="code")
    field_order = ("name_en", "name_zh", "category", "form_template", "process_template")


class ProcessImportForm(StyledForm):
    name_en = forms.CharField(label=gettext_lazy("Name in English"), max_length=120)
    name_zh = forms.CharField(label=gettext_lazy("Name in Chinese"), max_length=120)
    key = forms.SlugField(
        label=gettext_lazy("Name of the process"),
        max_length=80,
        help_text=gettext_lazy("Letters, digits and hyphens. The same name again is another version of it."),
    )
    file = forms.FileField(
        label=gettext_lazy("BPMN file"),
        help_text=gettext_lazy("No code may be in it; what the engine does not run is refused by its name."),
    )
