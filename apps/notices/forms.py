import uuid
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
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


class UuidListField(forms.Field):
    """The values of all ticked boxes of one name, as UUIDs."""

    widget = forms.MultipleHiddenInput

    def to_python(self, value: Any) -> list[uuid.UUID]:
        try:
            return [uuid.UUID(item) for item in value or []]
        except ValueError as error:
            raise ValidationError(_("This is not an identifier.")) from error


class ChosenForm(SoundForm):
    uid = UuidListField(label=_("Messages"))
    act = forms.ChoiceField(choices=[("read", _("Mark as read")), ("delete", _("Delete"))])
