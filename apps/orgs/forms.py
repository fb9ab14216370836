from collections.abc import Iterable
from typing import Any

from django import forms
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from apps.identity.forms import PersonEditForm, RoleCodesField
from apps.orgs.models import Organization
from apps.scheduling.forms.base import MarkedForm
from apps.scheduling.forms.quotas import quota_field
from apps.scheduling.states import QuotaItem


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


class OrganizationForm(forms.Form):
    name = forms.CharField(label=_("Name"), max_length=120)
    parent = forms.UUIDField(label=_("Above it"), required=False)
    description = forms.CharField(label=_("Description"), required=False, max_length=500)
    attributes = AttributesField(label=_("Attributes"), required=False, max_length=4000, strip=False)


class OrganizationQuotaForm(MarkedForm):
    """What an organization may hold of each item; an empty field: no quota of its own."""

    mark = "quota"

    def more_fields(self) -> dict[str, forms.Field]:
        return {item: quota_field(item, required=False) for item in QuotaItem.values}


class OrganizationsChosenForm(forms.Form):
    chosen = forms.MultipleChoiceField(label=_("Organizations"))

    def __init__(self, data: Any, rows: Iterable[Organization]) -> None:
        super().__init__(data)
        self.fields["chosen"].choices = [(str(row.uid), row.name) for row in rows]  # type: ignore[attr-defined]


class BusinessSystemForm(forms.Form):
    name = forms.CharField(label=_("Information system name"), max_length=120)
    number = forms.CharField(label=_("System service number"), max_length=48)
    organization = forms.UUIDField(label=_("Organization"))
    parent = forms.UUIDField(label=_("Part of"), required=False)


class MemberSearchForm(forms.Form):
    search = forms.CharField(label=_("Login account"), required=False, max_length=64)
    name = forms.CharField(label=_("Organization name"), required=False, max_length=120)


class TakePartForm(forms.Form):
    member = forms.UUIDField(label=_("Member"))


class PeopleFilterForm(forms.Form):
    search = forms.CharField(label=_("Login account or name"), required=False, max_length=64)
    organization = forms.UUIDField(label=_("Organization"), required=False)
    role = forms.CharField(label=_("Role"), required=False, max_length=48)


class RolesForm(forms.Form):
    roles = RoleCodesField()


class PersonAddForm(RolesForm):
    username = forms.CharField(label=_("Login account"), max_length=64)
    organization = forms.UUIDField(label=_("Organization"), required=False)


class PersonForm(PersonAddForm, PersonEditForm):
    pass


class InviteForm(RolesForm, PersonEditForm):
    organization = forms.UUIDField(label=_("Organization"), required=False)
    days = forms.IntegerField(label=_("Valid for (days)"), min_value=1, max_value=30)


class ImportForm(forms.Form):
    days = forms.IntegerField(label=_("Valid for (days)"), min_value=1, max_value=30)


class MoveForm(forms.Form):
    organization = forms.UUIDField(label=_("Organization"))


class JoinForm(forms.Form):
    username = forms.CharField(label=_("Login account"), max_length=64)
    password = forms.CharField(label=_("Password"), max_length=256, strip=False)


class JoinNewForm(JoinForm):
    display_name = forms.CharField(label=pgettext_lazy("person", "Name"), max_length=120)
