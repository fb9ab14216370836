"""The input of the pages of commodities."""

import shlex
from collections.abc import Iterable, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.catalog.models import Commodity, FormTemplate
from apps.catalog.selectors.commodities import category_tree
from apps.catalog.selectors.processes import process_app_list
from apps.catalog.states import CardUse, CommodityKind
from apps.catalog.types import ICONS, ComponentRange
from apps.console.centre.forms import StyledForm
from apps.console.selling.forms.applying import MEMORY, SECONDS, Choices, NamesForm
from apps.console.selling.forms.services import SERVICE, ServiceFields, service_initial, service_said
from apps.console.selling.types import CommodityDraft
from apps.fleet.mig_profiles import mig_profiles
from apps.fleet.selectors import card_models, group_list, spec_list
from apps.kernel.forms import command_read, variables_read
from apps.kernel.translatable import localized
from apps.scheduling.selectors.environment_templates import environment_template_list
from apps.scheduling.selectors.workloads import queue_list
from apps.tenancy.models import Tenant
from apps.tenancy.selectors import tenant_list


def category_choices() -> Choices:
    """The tree, in the order of the catalogue."""
    found: Choices = []
    for top, below in category_tree():
        found += [(top.code, top.name), *((row.code, f"{top.name} / {row.name}") for row in below)]
    return found


def _process_choices(kind: str) -> Choices:
    """The processes by which applications of a kind are approved."""
    rows = process_app_list().filter(form_template__kind=kind)
    return [(str(row.uid), f"{row.name} ({row.get_state_display()})") for row in rows]


def _group_choices() -> Choices:
    return [(row.code, str(row)) for row in group_list()]


def _queue_choices() -> Choices:
    return [(row.code, f"{localized(row.name_zh, row.name_en)} ({row.code})") for row in queue_list()]


def _card_choices() -> Choices:
    return [(f"{row.vendor}|{row.model}", row.text) for row in card_models()]


def _spec_choices() -> Choices:
    return [
        (row.code, f"{row} · {row.compute_percent} % · {row.memory_mib} MiB")
        for row in spec_list().filter(is_enabled=True)
    ]


def _mig_choices() -> Choices:
    return list({one.name: (one.name, one.text) for one in mig_profiles()}.values())


def _template_choices() -> Choices:
    return [(row.name, f"{row.name} · {row.get_software_display()}") for row in environment_template_list()]


def _any(text: Any, choices: Any) -> Any:
    """A picker's choices, asked for when the page is shown, after one for none of them."""
    return lambda: [("", text), *choices()]


def _amount(label: Any, *, most: int = 2**31 - 1) -> forms.IntegerField:
    return forms.IntegerField(label=label, min_value=1, max_value=most, required=False)


ROWS = (
    ("compute_share", gettext_lazy("Compute share"), "%"),
    ("gpu_memory", gettext_lazy("Accelerator memory"), ""),
    ("cpu", gettext_lazy("CPU"), gettext_lazy("cores")),
    ("memory", gettext_lazy("Main memory"), ""),
    ("scratch_disk", gettext_lazy("Scratch disk"), "GiB"),
)
STORAGE_ROWS = (("storage", gettext_lazy("Storage"), "GiB"),)
COLUMNS = (
    ("minimum", gettext_lazy("Least")),
    ("maximum", gettext_lazy("Most")),
    ("default", gettext_lazy("Usual")),
    ("step", gettext_lazy("In steps of")),
)
_WORK = {
    CommodityKind.WORK: ("whose", "command", "environment_variables"),
    CommodityKind.ENVIRONMENT: ("environment",),
    CommodityKind.SERVICE: ("command", "environment_variables", *SERVICE),
}
# What is asked of what nodes run, and of nothing else.
_SCHEDULED = frozenset(
    {
        "card_use",
        "card",
        "spec",
        "resource_group",
        "queue",
        "gpu_memory_unit",
        "memory_unit",
        "is_open_ended",
        "max_count",
    }
)


class CommodityForm(NamesForm, ServiceFields):
    """A commodity of a kind; what its kind does not have is not asked for."""

    number = forms.CharField(
        label=gettext_lazy("Service number"),
        max_length=32,
        required=False,
        help_text=gettext_lazy("Empty: the next one."),
    )
    category = forms.ChoiceField(label=gettext_lazy("Category"), choices=category_choices)
    intro_en = forms.CharField(
        label=gettext_lazy("Introduction in English"), widget=forms.Textarea({"rows": 3}), required=False
    )
    intro_zh = forms.CharField(
        label=gettext_lazy("Introduction in Chinese"), widget=forms.Textarea({"rows": 3}), required=False
    )
    supplier = forms.CharField(label=gettext_lazy("Supplier"), max_length=120, required=False)
    icon = forms.ChoiceField(label=gettext_lazy("Picture"), choices=[(name, name) for name in ICONS])
    process_app = forms.ChoiceField(
        label=gettext_lazy("How an application is approved"),
        choices=lambda: _process_choices(FormTemplate.Kind.NEW),
    )
    termination_app = forms.ChoiceField(
        label=gettext_lazy("How an early end is approved"),
        choices=lambda: _process_choices(FormTemplate.Kind.TERMINATION),
    )
    whose = forms.ChoiceField(
        label=gettext_lazy("Whose program it runs"),
        choices=[
            ("centre", gettext_lazy("The centre's: the command below")),
            ("buyer", gettext_lazy("The buyer's own: the application asks for it")),
        ],
        required=False,
    )
    command = forms.CharField(
        label=gettext_lazy("Command"),
        max_length=4000,
        help_text=gettext_lazy("What runs, as in a shell: python train.py --steps 100"),
        widget=forms.TextInput({"spellcheck": "false", "autocapitalize": "none"}),
    )
    environment_variables = forms.CharField(
        label=gettext_lazy("Environment variables"),
        required=False,
        widget=forms.Textarea({"rows": 3, "spellcheck": "false"}),
        help_text=gettext_lazy("NAME=value, one a line."),
    )
    environment = forms.ChoiceField(
        label=gettext_lazy("Environment template"),
        choices=_any("–", _template_choices),
        help_text=gettext_lazy("Its software is what starts; what it may hold stands below."),
    )
    card_use = forms.ChoiceField(label=gettext_lazy("How it holds a card"), choices=CardUse.choices)
    card = forms.ChoiceField(
        label=gettext_lazy("Card"), choices=_any(gettext_lazy("Any card"), _card_choices), required=False
    )
    spec = forms.ChoiceField(
        label=gettext_lazy("Specification"),
        choices=_any(gettext_lazy("None: as the buyer chooses"), _spec_choices),
        required=False,
        help_text=gettext_lazy("It decides share and memory of the card."),
    )
    mig_profile = forms.ChoiceField(
        label=gettext_lazy("MIG profile"),
        choices=_any(gettext_lazy("None: as the buyer chooses"), _mig_choices),
        required=False,
        help_text=gettext_lazy("Of a MIG slice: it decides share and memory of the card."),
    )
    resource_group = forms.ChoiceField(
        label=gettext_lazy("Resource group"),
        choices=_any(gettext_lazy("Any"), _group_choices),
        required=False,
    )
    queue = forms.ChoiceField(
        label=gettext_lazy("Queue"),
        choices=_any(gettext_lazy("The default queue"), _queue_choices),
        required=False,
    )
    gpu_memory_unit = forms.TypedChoiceField(label=gettext_lazy("Unit"), choices=MEMORY, coerce=int)
    memory_unit = forms.TypedChoiceField(label=gettext_lazy("Unit"), choices=MEMORY, coerce=int)
    shortest = forms.IntegerField(label=gettext_lazy("For at least"), min_value=1, max_value=10**6)
    shortest_unit = forms.TypedChoiceField(label=gettext_lazy("Unit"), choices=SECONDS, coerce=int)
    longest = forms.IntegerField(label=gettext_lazy("For at most"), min_value=1, max_value=10**6)
    longest_unit = forms.TypedChoiceField(label=gettext_lazy("Unit"), choices=SECONDS, coerce=int)
    is_open_ended = forms.BooleanField(
        label=gettext_lazy("May be ordered without an end"),
        required=False,
        help_text=gettext_lazy(
            "Billed as it runs, until its buyer ends it, money is wanting for it, or it is taken off the market."
        ),
    )
    max_count = forms.IntegerField(
        label=gettext_lazy("Shares in one order at most"), min_value=1, max_value=512
    )

    def __init__(self, *args: Any, kind: str, is_new: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.kind = kind
        self.rows = STORAGE_ROWS if kind == CommodityKind.VOLUME else ROWS
        for row, label, _unit in self.rows:
            for column, head in COLUMNS:
                field = _amount(f"{label}: {head}", most=100 if row == "compute_share" else 2**31 - 1)
                field.widget.attrs |= {"class": "form-control", "data-test": f"{row}-{column}"}
                field.widget.attrs["aria-label"] = f"{label}: {head}"
                self.fields[f"{row}_{column}"] = field
        for name in ("gpu_memory_unit", "memory_unit", "shortest_unit", "longest_unit", "start_unit"):
            self.fields[name].widget.attrs["aria-label"] = _("Unit")
        gone = {name for names in _WORK.values() for name in names} - set(_WORK.get(CommodityKind(kind), ()))
        if kind == CommodityKind.SERVICE:
            gone.add("max_count")
        # Of work it depends on whose program it is.
        self.fields["command"].required = False
        if kind in (CommodityKind.VOLUME, CommodityKind.MANUAL):
            gone |= _SCHEDULED
        if kind == CommodityKind.MANUAL:
            gone |= {f"{row}_{column}" for row, _label, _unit in ROWS for column, _head in COLUMNS}
        if not is_new:
            gone.add("number")
        for name in gone:
            del self.fields[name]

    @property
    def amount_rows(self) -> list[tuple[Any, Any, Any, list[forms.BoundField]]]:
        """For each part: its name, its unit, or the picker of its unit, and the cells of its range."""
        return [
            (
                label,
                unit,
                None if unit else self[f"{row}_unit"],
                [self[f"{row}_{column}"] for column, _head in COLUMNS],
            )
            for row, label, unit in self.rows
            if f"{row}_minimum" in self.fields
        ]

    @property
    def columns(self) -> Sequence[Any]:
        return [head for _name, head in COLUMNS]

    def clean_command(self) -> list[str]:
        return command_read(self.cleaned_data["command"])

    def clean_environment_variables(self) -> dict[str, str]:
        return variables_read(self.cleaned_data["environment_variables"])

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        if (
            given.get("whose", "buyer") in ("", "centre")
            and not given.get("command")
            and "command" not in self.errors
        ):
            self.add_error("command", self.fields["command"].error_messages["required"])
        for row, _label, _unit in self.rows:
            if f"{row}_minimum" not in self.fields:
                continue
            filled = [given.get(f"{row}_{column}") for column, _head in COLUMNS[:3]]
            if any(filled) and not all(filled):
                self.add_error(f"{row}_minimum", _("Say the least, the most and the usual, or none of them."))
        return given

    def draft(self) -> CommodityDraft:
        """What the cleaned values say: seconds, MiB, and the parts that are filled in."""
        given = self.cleaned_data
        is_own = given.get("whose") == "buyer"
        vendor, _bar, model = given.get("card", "").partition("|")
        return CommodityDraft(
            kind=self.kind,
            number=given.get("number", ""),
            category=given["category"],
            process_app=given["process_app"],
            termination_app=given["termination_app"],
            texts={
                name: given[name]
                for name in ("name_zh", "name_en", "intro_zh", "intro_en", "supplier", "icon")
            },
            is_own_program=is_own,
            argv=() if is_own else tuple(given.get("command", ())),
            env={} if is_own else given.get("environment_variables", {}),
            environment=given.get("environment", ""),
            image=given.get("image", ""),
            service=service_said(given) if self.kind == CommodityKind.SERVICE else None,
            card_use=given.get("card_use", CardUse.SHARE),
            vendor=vendor,
            model=model,
            spec=given.get("spec", ""),
            mig_profile=given.get("mig_profile", ""),
            resource_group=given.get("resource_group", ""),
            queue=given.get("queue", ""),
            ranges=tuple(self._ranges()),
            min_duration_s=given["shortest"] * given["shortest_unit"],
            max_duration_s=given["longest"] * given["longest_unit"],
            is_open_ended=given.get("is_open_ended", False),
            max_count=given.get("max_count", 1),
        )

    def _ranges(self) -> Iterable[ComponentRange]:
        given = self.cleaned_data
        for row, _label, _unit in self.rows:
            if not given.get(f"{row}_minimum"):
                continue
            factor = given.get(f"{row}_unit", 1)
            least, most, usual, step = (given[f"{row}_{column}"] for column, _head in COLUMNS)
            yield ComponentRange(
                row, least * factor, most * factor, usual * factor, (step or 1) * factor if step else 1
            )


def commodity_initial(row: Commodity) -> dict[str, Any]:
    """What the form shows of a commodity."""
    plain = (
        "name_zh", "name_en", "intro_zh", "intro_en", "supplier", "icon", "card_use", "spec", "mig_profile",
        "resource_group", "queue",
        "environment", "image", "is_open_ended", "max_count",
    )  # fmt: skip
    shown: dict[str, Any] = {name: getattr(row, name) for name in plain}
    shown |= {
        "whose": "buyer" if row.is_own_program else "centre",
        "category": row.category.code,
        "process_app": str(row.process_app.uid),
        "termination_app": str(row.termination_app.uid),
        "card": f"{row.vendor}|{row.model}" if row.model else "",
        "command": shlex.join(row.work.get("argv", ())),
        "environment_variables": "\n".join(
            f"{name}={text}" for name, text in row.work.get("env", {}).items()
        ),
    }
    if row.kind == CommodityKind.SERVICE:
        shown |= service_initial(row.work["service"])
    shown |= _span(row.min_duration_s, "shortest") | _span(row.max_duration_s, "longest")
    for part in row.components.select_related("component"):
        shown |= _range_initial(part.component.code, part)
    return shown


def _span(seconds: int, name: str) -> dict[str, int]:
    """A length of time in the largest unit that shows it whole; seconds are rounded up to minutes."""
    unit = next((unit for unit in (86400, 3600) if seconds % unit == 0), 60)
    return {name: -(-seconds // unit), f"{name}_unit": unit}


def _range_initial(code: str, part: Any) -> dict[str, int]:
    figures = {column: getattr(part, column) for column, _head in COLUMNS}
    is_memory = code in ("gpu_memory", "memory")
    unit = 1024 if is_memory and all(figure % 1024 == 0 for figure in figures.values()) else 1
    shown = {f"{code}_{column}": figure // unit for column, figure in figures.items()}
    return shown | ({f"{code}_unit": unit} if is_memory else {})


class RetireForm(StyledForm):
    at = forms.DateTimeField(
        label=gettext_lazy("On"),
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
    )


class TenantsForm(StyledForm):
    is_for_all = forms.TypedChoiceField(
        label=gettext_lazy("Who may apply"),
        choices=[("1", gettext_lazy("All tenants")), ("0", gettext_lazy("Only these tenants"))],
        coerce=lambda text: text == "1",
    )
    tenants = forms.ModelMultipleChoiceField(
        tenant_list(), label=gettext_lazy("Tenants"), required=False, to_field_name="schema_name"
    )

    def chosen(self) -> list[Tenant]:
        return list(self.cleaned_data["tenants"])
