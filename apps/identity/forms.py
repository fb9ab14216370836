from collections.abc import Iterable
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from apps.identity.rules.role_functions import RECORD_LABELS, scopes_of
from apps.kernel.forms import SoundForm
from apps.kernel.reach import Records


class SignInForm(SoundForm):
    username = forms.CharField(label=_("Login account"), max_length=64)
    password = forms.CharField(label=_("Password"), max_length=256, strip=False)


class TokenForm(SoundForm):
    name = forms.CharField(label=_("Name"), max_length=80)
    days = forms.IntegerField(label=_("Days"), min_value=1, max_value=366)


class SavedViewForm(SoundForm):
    """A list as it stands, to be kept under a name."""

    page = forms.CharField(max_length=80)
    name = forms.CharField(label=_("Name"), max_length=60)
    query = forms.CharField(max_length=2000, required=False)


class SavedViewNameForm(SoundForm):
    name = forms.CharField(label=_("Name"), max_length=60)


class ColumnsForm(SoundForm):
    """The columns of a list that are to be shown, by their keys; a list takes none that it has not."""

    page = forms.CharField(max_length=80)
    columns = forms.MultipleChoiceField(required=False)
    # Those that everybody sees who chose none.
    is_usual = forms.BooleanField(required=False)

    def __init__(self, data: QueryDict) -> None:
        super().__init__(data)
        given = [key for key in data.getlist("columns")[:60] if len(key) <= 40 and key.isidentifier()]
        self.fields["columns"] = forms.MultipleChoiceField(
            required=False, choices=[(key, key) for key in given]
        )


class PasswordForm(SoundForm):
    old_password = forms.CharField(label=_("Present password"), max_length=256, strip=False)
    new_password = forms.CharField(label=_("New password"), max_length=256, strip=False)


class PasswordForgottenForm(SoundForm):
    account = forms.CharField(label=_("Login account or e-mail"), max_length=254)


class PasswordResetForm(SoundForm):
    new_password = forms.CharField(label=_("New password"), max_length=256, strip=False)


class OperatorFilterForm(SoundForm):
    search = forms.CharField(label=_("Login account or name"), required=False, max_length=64)
    role = forms.CharField(label=_("Role"), required=False, max_length=48)
    organization = forms.UUIDField(label=_("Organization"), required=False)


class RoleCodesField(forms.MultipleChoiceField):
    """Codes of roles; which there are is checked where they are read."""

    def __init__(self) -> None:
        super().__init__(label=_("Roles"), required=False)

    def valid_value(self, value: str) -> bool:
        return len(value) <= 48


class OperatorRolesForm(SoundForm):
    roles = RoleCodesField()


class AttributesField(forms.CharField):
    """Attributes one a line, the name before the first colon: `Cost centre: 4711`."""

    def clean(self, value: Any) -> dict[str, str]:
        found: dict[str, str] = {}
        for line in filter(None, (line.strip() for line in super().clean(value).splitlines())):
            name, colon, text = line.replace("：", ":", 1).partition(":")
            if not colon or name.strip() in found:
                raise forms.ValidationError(
                    gettext("Write each attribute once and on a line of its own, as “name: value”.")
                )
            found[name.strip()] = text.strip()
        return found


class OrganizationForm(SoundForm):
    name = forms.CharField(label=_("Name"), max_length=120)
    parent = forms.UUIDField(label=_("Above it"), required=False)
    description = forms.CharField(
        label=_("Description"), required=False, max_length=500, widget=forms.Textarea
    )
    attributes = AttributesField(
        label=_("Attributes"), required=False, max_length=4000, strip=False, widget=forms.Textarea
    )


class OrganizationsChosenForm(SoundForm):
    chosen = forms.MultipleChoiceField(label=_("Organizations"))

    def __init__(self, data: Any, rows: Iterable[Any]) -> None:
        super().__init__(data)
        self.fields["chosen"].choices = [(str(row.uid), row.name) for row in rows]  # type: ignore[attr-defined]


class FileForm(SoundForm):
    format = forms.ChoiceField(label=_("Format"), choices=[("csv", "CSV"), ("xlsx", "XLSX")])


class PersonEditForm(SoundForm):
    display_name = forms.CharField(label=pgettext_lazy("person", "Name"), max_length=120)
    email = forms.EmailField(label=_("E-mail"), required=False)


class OperatorForm(OperatorRolesForm, PersonEditForm):
    username = forms.CharField(label=_("Login account"), max_length=64)


class RoleFilterForm(SoundForm):
    search = forms.CharField(label=_("Role name"), required=False, max_length=80)


class PermissionsField(forms.MultipleChoiceField):
    """Permission codes; which a role can have is checked where they are kept."""

    def __init__(self) -> None:
        super().__init__(label=_("Functions"), required=False)

    def valid_value(self, value: str) -> bool:
        return len(value) <= 64


class ScopeField(forms.ChoiceField):
    """How far a role reaches for one kind of records; its own where nothing is said."""

    def __init__(self, records: Records) -> None:
        choices = [(scope.value, scope.value) for scope in scopes_of(records)]
        super().__init__(label=RECORD_LABELS[records], required=False, choices=choices)


class RoleForm(SoundForm):
    name = forms.CharField(label=_("Role name"), max_length=80)
    description = forms.CharField(
        label=_("Description"), required=False, max_length=500, widget=forms.Textarea
    )
    is_read_only = forms.BooleanField(label=_("Read-only"), required=False)
    permissions = PermissionsField()
    orders = ScopeField(Records.ORDERS)
    resources = ScopeField(Records.RESOURCES)
    systems = ScopeField(Records.SYSTEMS)
    costs = ScopeField(Records.COSTS)
    people = ScopeField(Records.PEOPLE)


class OrganizationSearchForm(SoundForm):
    name = forms.CharField(label=_("Organization name"), required=False, max_length=120)


class MoveForm(SoundForm):
    organization = forms.UUIDField(label=_("Organization"))


class PostForm(SoundForm):
    name = forms.CharField(label=_("Name"), max_length=120)


class PostGivenForm(SoundForm):
    post = forms.UUIDField(label=_("Post"), required=False)


class TakeOutForm(SoundForm):
    member = forms.UUIDField(label=_("Member"))
