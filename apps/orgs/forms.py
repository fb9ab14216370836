from collections.abc import Iterable
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from apps.identity.forms import PersonEditForm, RoleCodesField
from apps.kernel.forms import SoundForm
from apps.orgs.models import BusinessSystem
from apps.orgs.states import Stage
from apps.scheduling.forms.base import MarkedForm
from apps.scheduling.forms.quotas import quota_field
from apps.scheduling.states import QuotaItem


class OrganizationQuotaForm(MarkedForm):
    """What an organization may hold of each item; an empty field: no quota of its own."""

    mark = "quota"

    def more_fields(self) -> dict[str, forms.Field]:
        return {item: quota_field(item, required=False) for item in QuotaItem.values}


class BusinessSystemForm(SoundForm):
    name = forms.CharField(label=_("Name of the business system"), max_length=120)
    number = forms.CharField(label=_("System service number"), max_length=48)
    organization = forms.UUIDField(label=_("Organization"))
    parent = forms.UUIDField(label=_("Part of"), required=False)


class BusinessSystemsChosenForm(SoundForm):
    chosen = forms.MultipleChoiceField(label=_("Business systems"))

    def __init__(self, data: Any, rows: Iterable[BusinessSystem]) -> None:
        super().__init__(data)
        self.fields["chosen"].choices = [(str(row.uid), row.name) for row in rows]  # type: ignore[attr-defined]


class ProgressForm(SoundForm):
    stage = forms.ChoiceField(
        label=_("Stage"), choices=Stage.choices, widget=forms.Select({"class": "form-select"})
    )
    done_percent = forms.IntegerField(
        label=_("Done, %"), min_value=0, max_value=100, widget=forms.NumberInput({"class": "form-control"})
    )
    note = forms.CharField(
        label=_("What was done"),
        max_length=1000,
        widget=forms.Textarea({"class": "form-control", "rows": 3, "maxlength": 1000}),
    )


class DefaultSystemForm(SoundForm):
    business_system = forms.UUIDField(label=_("Business system"), required=False)


class MemberSearchForm(SoundForm):
    search = forms.CharField(label=_("Login account"), required=False, max_length=64)
    name = forms.CharField(label=_("Organization name"), required=False, max_length=120)


class TakePartForm(SoundForm):
    member = forms.UUIDField(label=_("Member"))


class PeopleFilterForm(SoundForm):
    search = forms.CharField(label=_("Login account or name"), required=False, max_length=64)
    organization = forms.UUIDField(label=_("Organization"), required=False)
    role = forms.CharField(label=_("Role"), required=False, max_length=48)


class RolesForm(SoundForm):
    roles = RoleCodesField()


class PersonAddForm(RolesForm):
    username = forms.CharField(label=_("Login account"), max_length=64)
    organization = forms.UUIDField(label=_("Organization"), required=False)


class PersonForm(PersonAddForm, PersonEditForm):
    pass


class InviteForm(RolesForm, PersonEditForm):
    organization = forms.UUIDField(label=_("Organization"), required=False)
    days = forms.IntegerField(label=_("Valid for (days)"), min_value=1, max_value=30)
    by_mail = forms.BooleanField(label=_("Send the link by mail"), required=False)


class ImportForm(SoundForm):
    days = forms.IntegerField(label=_("Valid for (days)"), min_value=1, max_value=30)
    by_mail = forms.BooleanField(label=_("Send the links by mail"), required=False)


class JoinForm(SoundForm):
    username = forms.CharField(label=_("Login account"), max_length=64)
    password = forms.CharField(label=_("Password"), max_length=256, strip=False)


class JoinNewForm(JoinForm):
    display_name = forms.CharField(label=pgettext_lazy("person", "Name"), max_length=120)
