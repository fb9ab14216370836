from django import forms
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from apps.kernel.forms import SoundForm
from apps.kernel.unit_fields import MEMORY, UnitField
from apps.storage.models import NAME_MAX, volume_name
from apps.storage.paths import PATH_MAX
from apps.storage.services.access_keys import DAYS_MOST
from apps.storage.states import Owner

SIZE_SHOWN_MIB = 10 * 1024


class VolumesForm(SoundForm):
    search = forms.CharField(label=pgettext_lazy("thing", "Name"), required=False, max_length=NAME_MAX)
    owner = forms.ChoiceField(label=_("Owner"), required=False, choices=[("", _("All")), *Owner.choices])


class VolumeForm(SoundForm):
    """A volume's name and size."""

    name = forms.CharField(
        label=pgettext_lazy("thing", "Name"), max_length=NAME_MAX, validators=[volume_name]
    )
    size_mib = UnitField(MEMORY, least=1, most=2**40, label=_("Size"), initial=SIZE_SHOWN_MIB)


class VolumeNewForm(VolumeForm):
    owner = forms.ChoiceField(label=_("Owner"), choices=Owner.choices, initial=Owner.PERSON)
    organization = forms.UUIDField(label=_("Organization"), required=False)
    storage_class = forms.CharField(label=_("Kept on"), max_length=48, required=False)


class PathForm(SoundForm):
    # Blanks at the ends of names belong to them.
    path = forms.CharField(label=_("Path"), required=False, max_length=PATH_MAX, strip=False)
    after = forms.CharField(required=False, max_length=255, strip=False)


class FolderForm(SoundForm):
    folder = forms.CharField(required=False, max_length=PATH_MAX, strip=False)
    name = forms.CharField(label=_("Name of the folder"), max_length=255)


class RenameForm(SoundForm):
    path = forms.CharField(label=_("Path"), max_length=PATH_MAX, strip=False)
    to = forms.CharField(label=_("New name or path"), max_length=PATH_MAX)


class AccessKeyForm(SoundForm):
    name = forms.CharField(label=pgettext_lazy("thing", "Name"), max_length=80)
    days = forms.IntegerField(label=_("Days"), min_value=1, max_value=DAYS_MOST)
    is_read_only = forms.BooleanField(label=_("Read-only"), required=False)
