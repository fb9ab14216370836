from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from apps.assets.models import NAME_MAX, asset_name
from apps.assets.services.assets import INTRODUCTION_MAX, TAG_MAX, TAGS_MAX
from apps.assets.services.versions import NOTE_MAX
from apps.assets.states import AssetKind, Reach
from apps.kernel.forms import SoundForm
from apps.storage.paths import PATH_MAX


class AssetsForm(SoundForm):
    kind = forms.ChoiceField(required=False, choices=[("", _("All")), *AssetKind.choices])
    search = forms.CharField(label=pgettext_lazy("thing", "Name"), required=False, max_length=100)
    reach = forms.ChoiceField(
        label=_("Shared with"), required=False, choices=[("", _("All")), *Reach.choices]
    )
    tag = forms.CharField(required=False, max_length=TAG_MAX)
    platform = forms.CharField(required=False, max_length=48)


SIZES = [(str(gib), format_lazy(_("{n} GiB and more"), n=gib)) for gib in (1, 10, 100, 1000)]


class AssetsAcrossForm(SoundForm):
    """What operators narrow the assets of all tenants by."""

    _GIB = 2**30

    tenant = forms.CharField(required=False, max_length=63)
    kind = forms.ChoiceField(required=False, choices=[("", _("All")), *AssetKind.choices])
    platform = forms.CharField(required=False, max_length=48)
    size = forms.ChoiceField(
        required=False,
        choices=[("", _("Any size")), *SIZES],
    )
    search = forms.CharField(label=pgettext_lazy("thing", "Name"), required=False, max_length=100)

    def least_bytes(self) -> int:
        """How much an asset has at least that meets the conditions."""
        return int(self.cleaned_data["size"] or 0) * self._GIB


class DescriptionForm(SoundForm):
    introduction = forms.CharField(
        label=_("Introduction"), required=False, max_length=INTRODUCTION_MAX, widget=forms.Textarea
    )
    tags = forms.CharField(label=_("Tags"), required=False, max_length=TAGS_MAX * (TAG_MAX + 2))
    reach = forms.ChoiceField(label=_("Shared with"), choices=Reach.choices, initial=Reach.PERSON)

    def clean_tags(self) -> list[str]:
        return str(self.cleaned_data["tags"]).replace("，", ",").split(",")


class AssetNewForm(DescriptionForm):
    kind = forms.ChoiceField(label=_("Kind"), choices=AssetKind.choices)
    name = forms.CharField(label=pgettext_lazy("thing", "Name"), max_length=NAME_MAX, validators=[asset_name])


class VersionForm(SoundForm):
    volume = forms.UUIDField(label=_("Volume"))
    path = forms.CharField(label=_("Folder"), required=False, max_length=PATH_MAX, strip=False)
    note = forms.CharField(label=_("Note"), required=False, max_length=NOTE_MAX, widget=forms.Textarea)


class PlaceForm(SoundForm):
    version = forms.IntegerField(required=False, min_value=1)
    path = forms.CharField(label=_("Path"), required=False, max_length=PATH_MAX, strip=False)
    after = forms.CharField(required=False, max_length=255, strip=False)
