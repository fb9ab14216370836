"""The input of the pages of coupons."""

from decimal import Decimal
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy

from apps.catalog.models import CouponActivity
from apps.catalog.states import ActivityState, CouponState
from apps.console.centre.forms import StyledForm
from apps.kernel.forms import SoundForm


class ActivitiesForm(SoundForm):
    """What narrows the activities, alone and together."""

    search = forms.CharField(label=gettext_lazy("Name"), max_length=80, required=False)
    state = forms.ChoiceField(label=gettext_lazy("State"), choices=ActivityState.choices, required=False)


class CouponsForm(SoundForm):
    """What narrows the coupons of all tenants, alone and together."""

    search = forms.CharField(label=gettext_lazy("Code or name"), max_length=80, required=False)
    tenant = forms.CharField(label=gettext_lazy("Tenant"), max_length=63, required=False)
    state = forms.ChoiceField(label=gettext_lazy("State"), choices=CouponState.choices, required=False)


def _amount(label: Any, least: str, help_text: Any = "") -> forms.DecimalField:
    return forms.DecimalField(
        label=label, min_value=Decimal(least), max_digits=18, decimal_places=2, help_text=help_text
    )


def _moment(label: Any, help_text: Any = "") -> forms.DateTimeField:
    widget = forms.DateTimeInput({"type": "datetime-local"}, format="%Y-%m-%dT%H:%M")
    return forms.DateTimeField(label=label, widget=widget, help_text=help_text)


class ActivityForm(StyledForm):
    """A draft of an activity: what its coupons are worth, how many there are, and what they pay."""

    name_zh = forms.CharField(label=gettext_lazy("Name in Chinese"), max_length=120)
    name_en = forms.CharField(label=gettext_lazy("Name in English"), max_length=120)
    face_value = _amount(gettext_lazy("Face value (CNY)"), "0.01")
    quantity = forms.IntegerField(
        label=gettext_lazy("Quantity"),
        min_value=1,
        max_value=1_000_000,
        help_text=gettext_lazy("Quantity times face value is what it takes of the year's budget."),
    )
    minimum_spend = _amount(
        gettext_lazy("Minimum spend (CNY)"),
        "0",
        gettext_lazy("A smaller bill is not paid by it. 0: any bill."),
    )
    ratio_percent = forms.IntegerField(
        label=gettext_lazy("Pays at most of a bill (%)"), min_value=1, max_value=100, initial=100
    )
    valid_from = _moment(gettext_lazy("Valid from"))
    valid_until = _moment(
        gettext_lazy("Valid until"), gettext_lazy("What remains of its coupons then is lost.")
    )
    per_tenant_limit = forms.IntegerField(
        label=gettext_lazy("Most per tenant"), min_value=1, max_value=1_000_000, initial=1
    )


def activity_initial(row: CouponActivity) -> dict[str, Any]:
    """A draft as its form shows it."""
    shown = {name: getattr(row, name) for name in ActivityForm.base_fields}
    return shown | {name: f"{shown[name]:.2f}" for name in ("face_value", "minimum_spend")}


class BudgetForm(StyledForm):
    """What may be issued in a year."""

    year = forms.IntegerField(label=gettext_lazy("Year"), min_value=2000, max_value=9999)
    amount = _amount(gettext_lazy("Amount (CNY)"), "0")


class RecallForm(StyledForm):
    """Why a coupon is taken back."""

    reason = forms.CharField(label=gettext_lazy("Reason"), max_length=200)
