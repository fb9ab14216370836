from django import forms
from django.utils.translation import gettext_lazy as _

from apps.kernel.forms import SoundForm


class MessageFilterForm(SoundForm):
    search = forms.CharField(label=_("Title"), required=False, max_length=80)
    is_read = forms.TypedChoiceField(
        label=_("Read"),
        required=False,
        choices=[("", _("All")), ("no", _("Unread")), ("yes", _("Read"))],
        coerce=lambda value: value == "yes",
        empty_value=None,
    )
