"""The input of the pages about who may hold what, and when."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.identity.models import User
from apps.identity.pages.picks import people_picks
from apps.kernel.errors import InvalidInput
from apps.kernel.forms import SoundForm
from apps.kernel.pick_list import PickWidget, picks_read
from apps.kernel.unit_fields import MEMORY, UnitField
from apps.scheduling.forms.base import MarkedForm
from apps.scheduling.forms.week_grid import WeekField
from apps.scheduling.models import ValidityRule
from apps.scheduling.models.entitlements import UserAmounts
from apps.scheduling.selectors.entitlements.resource_tickets import users_find
from apps.scheduling.states import Purpose
from apps.tenancy.selectors import tenant_list

_MOST = 2**31 - 1
_NAMES_MAX = 40_000


def _amount(label: Any) -> forms.IntegerField:
    return forms.IntegerField(label=label, min_value=0, max_value=_MOST, required=False)


def moment_field(label: Any) -> forms.DateTimeField:
    """An instant, as the reader's clock shows it."""
    widget = forms.DateTimeInput(format="%Y-%m-%dT%H:%M", attrs={"type": "datetime-local"})
    return forms.DateTimeField(label=label, widget=widget)


def people_field(
    label: Any, *, required: bool = True, within: str = "", most: int = 0, help_text: Any = ""
) -> forms.CharField:
    """Where people are chosen; `users_read` says who they are."""
    widget = PickWidget("scheduling_admin:people", within=within, most=most)
    return forms.CharField(
        label=label, required=required, max_length=_NAMES_MAX, widget=widget, help_text=help_text
    )


def users_read(text: str) -> list[User]:
    """The people of those login accounts."""
    try:
        return users_find(picks_read(text))
    except InvalidInput as error:
        raise forms.ValidationError(error.message) from error


class ValidityForm(MarkedForm):
    """A rule: its users, and the periods of each purpose (PLAT-AICFG-29, PLAT-AICFG-32)."""

    mark = "validity"
    name = forms.CharField(label=_("Name"), max_length=80)
    users = people_field(_("Users"))

    def __init__(self, *args: Any, rule: ValidityRule | None = None, **kwargs: Any) -> None:
        for purpose, label in Purpose.choices:
            self.base_fields[purpose] = WeekField(label=label, required=False, nothing=_("at all times"))
        super().__init__(*args, initial=_rule_said(rule) if rule else None, **kwargs)

    def clean_users(self) -> list[User]:
        return users_read(self.cleaned_data["users"])

    def clean(self) -> dict[str, Any]:
        found = super().clean() or {}
        spans = {purpose: found.pop(purpose, []) for purpose in Purpose.values}
        return found | {"periods": {name: each for name, each in spans.items() if each}}


def _rule_said(rule: ValidityRule) -> dict[str, Any]:
    spans: dict[str, list[tuple[int, int, int]]] = {}
    for each in rule.periods.all():
        spans.setdefault(each.purpose, []).append((each.weekday, each.from_minute, each.to_minute))
    return {
        "name": rule.name,
        "users": people_picks(each.user for each in rule.users.all()),
        **spans,
    }


class AmountsForm(MarkedForm):
    """So much of each; what is empty is not said."""

    instances = _amount(_("Instances"))
    compute_percent = _amount(_("Compute share (%)"))
    memory_mib = UnitField(MEMORY, most=_MOST, label=_("Accelerator memory"), required=False)


class UserGroupForm(MarkedForm):
    """A group's names and users (PLAT-CLU-61)."""

    mark = "user-group"
    name_en = forms.CharField(label=_("Name in English"), max_length=80)
    name_zh = forms.CharField(label=_("Name in Chinese"), max_length=80)
    users = people_field(_("Users"), required=False)

    def clean_users(self) -> list[User]:
        return users_read(self.cleaned_data["users"])


class NewUserGroupForm(UserGroupForm):
    code = forms.SlugField(label=_("Code"), max_length=48, help_text=_("Letters, digits and hyphens."))
    field_order = ["code"]


class DefaultSpecForm(AmountsForm):
    """What everybody may hold (PLAT-CLU-34)."""

    mark = "default"


class SpecialForm(AmountsForm):
    """What is changed of a special spec (PLAT-CLU-40)."""

    mark = "special"
    name = forms.CharField(label=_("Name"), max_length=80)
    from_at = moment_field(_("Valid from"))
    until_at = moment_field(_("Valid until"))
    field_order = ("name", *UserAmounts.ITEMS)


class NewSpecialForm(SpecialForm):
    """For users, or for each user of a tenant (PLAT-CLU-37)."""

    tenant = forms.ModelChoiceField(tenant_list(), label=_("Tenant"), to_field_name="schema_name")
    users = people_field(
        _("Users"), required=False, within="tenant", help_text=_("Empty: each user of the tenant.")
    )
    field_order = ("name", "tenant", "users", *UserAmounts.ITEMS)

    def clean_users(self) -> list[User]:
        return users_read(self.cleaned_data["users"])


class WhoseForm(MarkedForm):
    """Whose limits are to be explained."""

    mark = "whose"
    tenant = forms.ModelChoiceField(tenant_list(), label=_("Tenant"), to_field_name="schema_name")
    user = people_field(_("User"), within="tenant", most=1)

    def clean_user(self) -> User:
        found = users_read(self.cleaned_data["user"])
        if len(found) != 1:
            raise forms.ValidationError(_("Name one user."))
        return found[0]


class TicketForm(AmountsForm):
    """What somebody asks to hold for a time (PLAT-CLU-32)."""

    mark = "ticket"
    from_at = moment_field(_("Valid from"))
    until_at = moment_field(_("Valid until"))
    reason = forms.CharField(label=_("What for"), max_length=500, widget=forms.Textarea(attrs={"rows": 2}))
    for_all = forms.BooleanField(label=_("For each user of the tenant"), required=False)

    def __init__(self, *args: Any, may_for_all: bool = True, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not may_for_all:
            del self.fields["for_all"]


class TicketFilterForm(SoundForm):
    search = forms.CharField(label=_("Keyword"), max_length=120, required=False)
    state = forms.CharField(label=_("State"), max_length=12, required=False)
