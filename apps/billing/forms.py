from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.billing.selectors.costs import DIMENSIONS
from apps.billing.states import BillState
from apps.kernel.forms import SoundForm


class BillsForm(SoundForm):
    state = forms.ChoiceField(label=_("State"), required=False, choices=[("", _("All")), *BillState.choices])


class BuyerForm(SoundForm):
    """What bills say of their buyer."""

    legal_name = forms.CharField(
        label=_("Legal name"),
        max_length=160,
        required=False,
        help_text=_("Left out: what the tenant is called here."),
    )
    address = forms.CharField(label=_("Address"), max_length=300, required=False)
    tax_number = forms.CharField(label=_("Tax number"), max_length=40, required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():
            field.widget.attrs |= {"class": "form-control", "data-test": name}


class PayForm(SoundForm):
    coupon = forms.UUIDField(label=_("Compute coupon"), required=False)


class CostForm(SoundForm):
    dimension = forms.ChoiceField(
        label=_("By"), required=False, choices=[(name, name) for name in DIMENSIONS if name != "tenant"]
    )
    span = forms.ChoiceField(
        label=_("Time"), required=False, choices=[("month", _("This month")), ("year", _("This year"))]
    )

    def clean(self) -> dict[str, str]:
        return {
            "dimension": self.cleaned_data.get("dimension") or "commodity",
            "span": self.cleaned_data.get("span") or "month",
        }
