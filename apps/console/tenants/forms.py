"""The input of the pages of tenants: what makes one, and what is done with one."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from django import forms
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from apps.centre.selectors import mail_way
from apps.console.centre.forms import StyledForm, zone_choices
from apps.console.tenants.types import BusinessSystemGiven, FirstAdministrator, TenantBeginning
from apps.kernel.errors import WeirError
from apps.kernel.forms import SoundForm
from apps.kernel.money import ZERO
from apps.orgs.services.invitation_mails import MailPortal
from apps.scheduling.forms.quotas import quota_field
from apps.scheduling.services.quota.quotas import DEFAULTS
from apps.scheduling.states import QuotaItem
from apps.tenancy.models import Tenant
from apps.tenancy.states import TenantState

PASSWORD, LINK, MAIL = "password", "link", "mail"


def _ways_in() -> list[tuple[str, Any]]:
    """How the administrator may come in; by mail where the centre sends some."""
    mail = [(MAIL, _("By an invitation link that is sent to his e-mail"))] if mail_way() else []
    return [
        (LINK, _("By an invitation link: he chooses account and password himself")),
        *mail,
        (PASSWORD, _("By an account with a first password, which must be changed")),
    ]


class TenantForm(StyledForm):
    """Everything of a new tenant, sent together: it is made whole or not at all."""

    schema = forms.CharField(
        label=_("Code"),
        max_length=31,
        help_text=_("Also the first part of its address: 2 to 31 lower-case letters and digits."),
        widget=forms.TextInput({"autocapitalize": "none", "autocomplete": "off", "spellcheck": "false"}),
    )
    name = forms.CharField(label=_("Name"), max_length=120, widget=forms.TextInput({"autocomplete": "off"}))
    timezone = forms.ChoiceField(label=_("Time zone"), choices=zone_choices)
    how = forms.ChoiceField(
        label=_("How the administrator comes in"),
        choices=_ways_in,
    )
    display_name = forms.CharField(
        label=pgettext_lazy("person", "Name"), max_length=120, widget=forms.TextInput({"autocomplete": "off"})
    )
    email = forms.EmailField(
        label=_("E-mail"), required=False, widget=forms.EmailInput({"autocomplete": "off"})
    )
    username = forms.CharField(
        label=_("Login account"),
        max_length=64,
        required=False,
        validators=[UnicodeUsernameValidator()],
        widget=forms.TextInput({"autocapitalize": "none", "autocomplete": "off"}),
    )
    instances = quota_field(QuotaItem.INSTANCES, initial=DEFAULTS["instances"])
    compute_percent = quota_field(QuotaItem.COMPUTE_PERCENT, initial=DEFAULTS["compute_percent"])
    gpu_memory_mib = quota_field(QuotaItem.GPU_MEMORY_MIB, initial=DEFAULTS["gpu_memory_mib"])
    host_cpu_milli = quota_field(QuotaItem.HOST_CPU_MILLI, initial=DEFAULTS["host_cpu_milli"])
    host_memory_mib = quota_field(QuotaItem.HOST_MEMORY_MIB, initial=DEFAULTS["host_memory_mib"])
    storage_mib = quota_field(QuotaItem.STORAGE_MIB, initial=DEFAULTS["storage_mib"])
    has_account = forms.BooleanField(
        label=_("Open its money account: without one its applications are refused"), required=False
    )
    credit_limit = forms.DecimalField(
        label=_("Credit limit (CNY)"),
        help_text=_("How much it may owe beyond its balance; 0 is none. It takes the account."),
        min_value=0,
        max_digits=18,
        decimal_places=2,
        initial=0,
        required=False,
    )
    has_queue = forms.BooleanField(label=_("Make a queue that admits this tenant alone"), required=False)
    system_name = forms.CharField(
        label=_("Name of its first business system"), max_length=120, required=False
    )
    system_number = forms.CharField(label=_("Number of that business system"), max_length=48, required=False)

    @property
    def quota_fields(self) -> list[forms.BoundField]:
        return [self[item] for item in QuotaItem.values]

    def refuse(self, error: WeirError) -> None:
        """Put a refusal beside the fields that it names, those of the business system too."""
        error.fields = {
            name.replace("business_system.", "system_"): text for name, text in error.fields.items()
        }
        super().refuse(error)

    def clean(self) -> dict[str, Any]:
        given = self.cleaned_data
        if given.get("how") == PASSWORD and not given.get("username") and "username" not in self.errors:
            self.add_error("username", _("An account with a first password needs a name."))
        if given.get("how") == MAIL and not given.get("email") and "email" not in self.errors:
            self.add_error("email", _("A mail needs an e-mail address."))
        if bool(given.get("system_name")) != bool(given.get("system_number")):
            lacking = "system_number" if given.get("system_name") else "system_name"
            self.add_error(lacking, _("A business system has a name and a number, or leave both out."))
        return given

    def opening(self, mail_portal: Callable[[Tenant], MailPortal] | None = None) -> dict[str, Any]:
        """What `tenant_open` takes; `mail_portal` is asked where the link goes by mail."""
        given = self.cleaned_data
        system = BusinessSystemGiven(given["system_name"], given["system_number"])
        return {
            "schema": given["schema"],
            "name": given["name"],
            "timezone": given["timezone"],
            "administrator": FirstAdministrator(
                given["display_name"],
                given["email"],
                given["username"] if given["how"] == PASSWORD else "",
                mail_portal if given["how"] == MAIL else None,
            ),
            "beginning": TenantBeginning(
                quota={item: given[item] for item in QuotaItem.values},
                has_account=given["has_account"],
                credit_limit=given["credit_limit"] or ZERO,
                has_queue=given["has_queue"],
                business_system=system if system.name else None,
            ),
        }


class TenantFilterForm(SoundForm):
    search = forms.CharField(required=False, max_length=120)
    state = forms.ChoiceField(required=False, choices=[("", ""), *TenantState.choices])


class TenantNameForm(StyledForm):
    name = forms.CharField(label=_("Name"), max_length=120, widget=forms.TextInput({"autocomplete": "off"}))
    timezone = forms.ChoiceField(label=_("Time zone"), choices=zone_choices)


class ReasonForm(StyledForm):
    reason = forms.CharField(label=_("Reason"), max_length=200)


class TenantDeleteForm(StyledForm):
    code = forms.CharField(label=_("Code"), max_length=31)


class DepositForm(StyledForm):
    amount = forms.DecimalField(
        label=_("Amount (CNY)"), decimal_places=2, max_digits=18, min_value=Decimal("0.01")
    )
    reference = forms.CharField(
        label=_("Payment number"),
        max_length=80,
        help_text=_("The same number again is the same deposit: nothing is credited twice."),
    )


class CreditForm(StyledForm):
    amount = forms.DecimalField(
        label=_("Credit limit (CNY)"),
        decimal_places=2,
        max_digits=18,
        min_value=0,
        help_text=_("How much the tenant may owe beyond its balance; 0 is none."),
    )
    reason = forms.CharField(label=_("Reason"), max_length=200)


class QuotasForm(StyledForm):
    """One figure for each item; an empty one stays as it is."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for item in QuotaItem:
            self.fields[item.value] = quota_field(item, required=False)
            self.fields[item.value].widget.attrs |= {"class": "form-control", "data-test": item.value}
