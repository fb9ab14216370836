from django import forms
from django.utils.translation import gettext_lazy as _

from apps.cases.selectors import TICKET_TABS
from apps.cases.types import CaseKind
from apps.kernel.forms import SoundForm


class InboxForm(SoundForm):
    tab = forms.ChoiceField(choices=[(code, code) for code in ("todo", "done", "urged")], required=False)
    search = forms.CharField(label=_("Applicant, number or subject"), max_length=80, required=False)
    tenant = forms.CharField(label=_("Tenant"), max_length=63, required=False)

    def clean_tab(self) -> str:
        return self.cleaned_data["tab"] or "todo"


class CasesForm(SoundForm):
    """The filters over all tenants' cases: each alone and together (PLAT-OPS-18)."""

    kind = forms.ChoiceField(label=_("Kind"), choices=CaseKind.choices, required=False)
    tenant = forms.CharField(label=_("Tenant"), max_length=63, required=False)
    state = forms.CharField(label=_("State"), max_length=16, required=False)
    organization = forms.CharField(label=_("Organization"), max_length=120, required=False)
    applicant = forms.CharField(label=_("Applicant"), max_length=120, required=False)
    business_system = forms.CharField(label=_("Business system"), max_length=120, required=False)
    no = forms.CharField(label=_("Number"), max_length=32, required=False)
    category = forms.CharField(label=_("Category"), max_length=80, required=False)
    tab = forms.ChoiceField(label=_("Tab"), choices=[(code, code) for code in TICKET_TABS], required=False)

    def clean_tab(self) -> str:
        return self.cleaned_data["tab"] or "open"

    def clean_kind(self) -> str:
        return self.cleaned_data["kind"] or CaseKind.FORM


class AlarmsForm(SoundForm):
    """Keyword, level, state and time narrow, alone and together (PLAT-OBS-12)."""

    search = forms.CharField(label=_("Keyword"), max_length=80, required=False)
    level = forms.CharField(label=_("Level"), max_length=16, required=False)
    state = forms.ChoiceField(
        label=_("State"),
        choices=[(code, code) for code in ("open", "firing", "acknowledged", "resolved", "all")],
        required=False,
    )
    days = forms.TypedChoiceField(
        label=_("Time"), choices=[(n, n) for n in (1, 7, 30)], coerce=int, empty_value=30, required=False
    )

    def clean_state(self) -> str:
        return self.cleaned_data["state"] or "open"
