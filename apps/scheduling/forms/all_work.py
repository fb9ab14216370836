"""What operators ask of all tenants' work."""

from typing import Any
from uuid import UUID

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.kernel.forms import SoundForm
from apps.scheduling.states import WorkKind

_TABS = ("waiting", "running", "failed", "finished")


class AllWorkForm(SoundForm):
    """Each condition alone and all together."""

    tab = forms.ChoiceField(label=_("Tab"), required=False, choices=[(tab, tab) for tab in ("", *_TABS)])
    tenant = forms.CharField(label=_("Tenant"), max_length=63, required=False)
    queue = forms.CharField(label=_("Queue"), max_length=48, required=False)
    kind = forms.ChoiceField(label=_("Kind"), required=False, choices=[("", _("All")), *WorkKind.choices])
    search = forms.CharField(label=_("Keyword"), max_length=120, required=False)


class _Identifiers(forms.MultipleChoiceField):
    """Identifiers, one or more; which rows there are is the view's to say."""

    def valid_value(self, value: str) -> bool:
        try:
            UUID(value)
        except ValueError:
            return False
        return True

    def clean(self, value: Any) -> list[UUID]:
        return [UUID(each) for each in super().clean(value)]


class StopManyForm(SoundForm):
    work = _Identifiers(label=_("Workloads"), error_messages={"required": _("Choose one at least.")})
    reason = forms.CharField(label=_("Reason"), max_length=200)
