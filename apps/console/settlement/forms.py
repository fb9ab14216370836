from django import forms
from django.utils.translation import gettext_lazy as _

from apps.billing.states import BillState, FundsLevel
from apps.console.centre.forms import StyledForm
from apps.kernel.forms import SoundForm


class AccountsForm(SoundForm):
    """What narrows the accounts, alone and together."""

    search = forms.CharField(label=_("Name or code"), max_length=80, required=False)
    level = forms.ChoiceField(label=_("Funds"), choices=FundsLevel.choices, required=False)


class BillsForm(SoundForm):
    """What narrows the bills of all tenants, alone and together."""

    no = forms.CharField(label=_("Number"), max_length=64, required=False)
    tenant = forms.CharField(label=_("Tenant"), max_length=63, required=False)
    state = forms.ChoiceField(label=_("State"), choices=BillState.choices, required=False)


class RefundForm(StyledForm):
    """What is paid back of a balance, once for each payment number."""

    amount = forms.DecimalField(label=_("Amount (CNY)"), decimal_places=2, max_digits=18, min_value=0)
    reference = forms.CharField(
        label=_("Payment number"),
        max_length=80,
        help_text=_("The same number again is the same booking: nothing is paid back twice."),
    )
    reason = forms.CharField(label=_("Reason"), max_length=200)


class CorrectForm(StyledForm):
    """What is given back of a paid bill, and why."""

    amount = forms.DecimalField(label=_("Amount (CNY)"), decimal_places=2, max_digits=18, min_value=0)
    reference = forms.CharField(
        label=_("Reference"),
        max_length=80,
        help_text=_("The same reference again is the same correction: nothing is given back twice."),
    )
    reason = forms.CharField(label=_("Reason"), max_length=200)


class WriteOffForm(StyledForm):
    """Why a bill is never to be paid."""

    reason = forms.CharField(label=_("Reason"), max_length=200)
