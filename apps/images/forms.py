from django import forms
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from apps.images.containerfile.reading import TEXT_MAX_BYTES
from apps.images.models import NAME_MAX, TAG_MAX, image_name, image_tag
from apps.images.services.images import INTRODUCTION_MAX
from apps.images.states import Owner
from apps.kernel.forms import SoundForm, variables_read
from apps.kernel.unit_fields import MEMORY, MINUTES, UnitField

PATH_MAX = 1024


OWNERS = [("", _("All")), *Owner.choices]


class ImagesForm(SoundForm):
    search = forms.CharField(label=pgettext_lazy("thing", "Name"), required=False, max_length=NAME_MAX)
    owner = forms.ChoiceField(label=_("Owner"), required=False, choices=OWNERS)


class ImageForm(SoundForm):
    name = forms.CharField(label=pgettext_lazy("thing", "Name"), max_length=NAME_MAX, validators=[image_name])
    introduction = forms.CharField(
        label=_("Introduction"), max_length=INTRODUCTION_MAX, required=False, widget=forms.Textarea
    )


class PlaceForm(SoundForm):
    """A file of a volume."""

    volume = forms.UUIDField(required=False)
    path = forms.CharField(max_length=PATH_MAX, required=False, strip=False)


class SaveForm(ImageForm):
    tag = forms.CharField(label=_("Tag"), max_length=TAG_MAX, validators=[image_tag], initial="latest")
    owner = forms.ChoiceField(
        label=_("Owner"),
        choices=[choice for choice in Owner.choices if choice[0] != Owner.CENTRE],
        initial=Owner.PERSON,
    )
    organization = forms.UUIDField(label=_("Organization"), required=False)


class ImportForm(SaveForm):
    volume = forms.UUIDField(label=_("Volume"))
    path = forms.CharField(label=_("Path"), max_length=PATH_MAX, strip=False)


class BuildForm(SaveForm):
    """A Containerfile, the files that it copies, and what its work may have."""

    containerfile = forms.CharField(
        label=_("Containerfile"), max_length=TEXT_MAX_BYTES, widget=forms.Textarea, strip=False
    )
    volume = forms.CharField(label=_("Volume"), max_length=120, required=False)
    path = forms.CharField(label=_("Folder in it"), max_length=PATH_MAX, required=False, strip=False)
    args = forms.CharField(label=_("Values of ARGs"), max_length=8192, required=False, widget=forms.Textarea)
    compute_percent = forms.IntegerField(label=_("Compute (%)"), min_value=1, max_value=100, initial=10)
    memory_mib = UnitField(MEMORY, least=1, most=2**31 - 1, label=_("Accelerator memory"), initial=512)
    minutes = UnitField(MINUTES, least=1, most=7 * 24 * 60, label=_("Runs at most"), initial=60)
    queue = forms.CharField(label=_("Queue"), max_length=48, required=False)
    is_fresh = forms.BooleanField(label=_("Run every step anew"), required=False)

    def clean_args(self) -> dict[str, str]:
        return variables_read(self.cleaned_data["args"])
