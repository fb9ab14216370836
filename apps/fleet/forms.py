"""The shape of what the fleet's pages are sent."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.fleet.models import OVERSUBSCRIBE_MAX_PERMILLE
from apps.fleet.states import NodeState, SliceKind
from apps.kernel.forms import SoundForm
from apps.kernel.pick_list import PickWidget, picks_read
from apps.kernel.unit_fields import MEMORY, UnitField
from apps.tenancy.models import Tenant

_MOST = OVERSUBSCRIBE_MAX_PERMILLE // 10
# What is chosen of devices: each word stands for one condition.
DEVICE_STATES = [
    ("virtual", _("Virtualised")),
    ("physical", _("Physical cards")),
    ("disabled", _("Disabled")),
    ("ill", _("Not healthy")),
    ("leaving", _("Leaving")),
]


class NodesForm(SoundForm):
    layout = forms.ChoiceField(choices=[("", ""), ("table", "table")], required=False)
    search = forms.CharField(required=False, max_length=100)
    state = forms.ChoiceField(choices=[("", ""), *NodeState.choices], required=False)


class DevicesForm(SoundForm):
    search = forms.CharField(required=False, max_length=100)
    state = forms.ChoiceField(choices=[("", ""), *DEVICE_STATES], required=False)


class SlicesForm(SoundForm):
    search = forms.CharField(required=False, max_length=100)
    kind = forms.ChoiceField(choices=[("", ""), *SliceKind.choices], required=False)


class OversubscribeForm(SoundForm):
    """In percent of the device, as people say it: 200 is everything twice."""

    compute_percent = forms.IntegerField(label=_("Compute"), min_value=100, max_value=_MOST)
    memory_percent = forms.IntegerField(label=_("Memory"), min_value=100, max_value=_MOST)


class MoveForm(SoundForm):
    device = forms.CharField(label=_("Device"), max_length=100)


class JoinForm(SoundForm):
    """Which node is to join, and how long its token waits for it."""

    name = forms.RegexField(
        r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$",
        label=_("Name of the node"),
        error_messages={
            "invalid": _(
                "Letters, digits, dots, hyphens and underscores, 63 at most, a letter or digit first."
            )
        },
        widget=forms.TextInput({"class": "form-control", "autocomplete": "off", "data-test": "join-name"}),
    )
    lifetime_s = forms.ChoiceField(
        label=_("It has to join within"),
        choices=[(3600, _("an hour")), (24 * 3600, _("a day")), (7 * 24 * 3600, _("a week"))],
        widget=forms.Select({"class": "form-select", "data-test": "join-lifetime"}),
    )


class NameForm(SoundForm):
    code = forms.CharField(label=_("Code"), max_length=48)
    name_en = forms.CharField(label=_("Name in English"), max_length=80)
    name_zh = forms.CharField(label=_("Name in Chinese"), max_length=80, required=False)


class SpecForm(NameForm):
    mig_profile = forms.CharField(label=_("MIG profile"), max_length=32, required=False)
    compute_percent = forms.IntegerField(label=_("Compute share (%)"), required=False)
    memory_mib = UnitField(MEMORY, most=2**31 - 1, label=_("Accelerator memory"), required=False)


class GrantForm(SoundForm):
    """`members`: login accounts of the tenant; none: all members."""

    tenant = forms.ChoiceField(
        label=_("Tenant"), widget=forms.Select({"class": "form-select", "data-test": "grant-tenant"})
    )
    members = forms.CharField(
        label=_("Clients"),
        max_length=40_000,
        required=False,
        widget=PickWidget("fleet:people", within="tenant"),
        help_text=_("Empty: all members of the tenant."),
    )

    def __init__(self, *args: Any, tenants: Iterable[Tenant], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.auto_id = "grant-%s"
        choice = self.fields["tenant"]
        assert isinstance(choice, forms.ChoiceField)
        choice.choices = [(tenant.schema_name, tenant.name) for tenant in tenants]
        self.fields["members"].widget.attrs |= {"class": "form-control", "data-test": "grant-members"}

    def clean_members(self) -> list[str] | None:
        return picks_read(self.cleaned_data["members"]) or None
