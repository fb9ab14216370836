"""The input of the page of reservations."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.kernel.pick_list import PickWidget, picks_read
from apps.kernel.unit_fields import MEMORY, UnitField
from apps.scheduling.forms.base import MarkedForm
from apps.scheduling.forms.entitlements import moment_field
from apps.scheduling.models import Queue
from apps.scheduling.selectors.workloads import queue_list
from apps.tenancy.selectors import tenant_list

MOST_DEVICES = 1_000_000


class ReservationForm(MarkedForm):
    """What is to be kept, for whom, and from when to when (ELA-305)."""

    mark = "reservation"
    name = forms.CharField(label=_("Name"), max_length=80)
    tenant = forms.ModelChoiceField(
        tenant_list(), label=_("Tenant"), required=False, empty_label=_("any of the queue"),
        to_field_name="schema_name",
    )  # fmt: skip
    queue = forms.ModelChoiceField(
        Queue.objects.none(), label=_("Queue"), required=False, empty_label=_("any of the tenant"),
        to_field_name="code", help_text=_("A tenant, a queue, or a tenant in a queue."),
    )  # fmt: skip
    from_at = moment_field(_("From"))
    to_at = moment_field(_("Until"))
    count = forms.IntegerField(
        label=_("Number of devices"), min_value=1, max_value=MOST_DEVICES, required=False
    )
    model = forms.CharField(
        label=_("Model"), max_length=200, required=False, help_text=_("Empty: devices of any model.")
    )
    compute_percent = forms.IntegerField(
        label=_("Compute of each (%)"), min_value=1, max_value=100, initial=100, required=False
    )
    memory_mib = UnitField(MEMORY, most=2**31 - 1, label=_("Memory of each"), initial=0, required=False)
    device_uids = forms.CharField(
        label=_("Or these devices, whole"),
        required=False,
        max_length=100_000,
        widget=PickWidget("scheduling_admin:devices"),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["queue"].queryset = queue_list()

    def clean_device_uids(self) -> list[str]:
        return picks_read(self.cleaned_data["device_uids"])

    def clean(self) -> dict[str, Any]:
        found = super().clean() or {}
        for name, nothing in (("count", 0), ("compute_percent", 100), ("memory_mib", 0)):
            if found.get(name, nothing) is None:
                found[name] = nothing
        return found
