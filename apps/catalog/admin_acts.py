"""What operators do with the catalogue from their pages: each form with the one service it feeds."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.catalog.services import components
from apps.identity.admin_base import ActForm
from apps.kernel.actor import Actor

Given = Mapping[str, Any]


class NamedForm(ActForm):
    code = forms.SlugField(label=gettext_lazy("Code"), max_length=48)
    name_zh = forms.CharField(label=gettext_lazy("Name in Chinese"), max_length=120)
    name_en = forms.CharField(label=gettext_lazy("Name in English"), max_length=120)


class ComponentForm(NamedForm):
    unit = forms.CharField(label=gettext_lazy("Unit"), max_length=16)
    amount_unit = forms.CharField(label=gettext_lazy("Unit of amounts"), max_length=16, required=False)
    per_unit = forms.IntegerField(label=gettext_lazy("Amount units per unit"), min_value=1, initial=1)


def component_create(actor: Actor, row: None, given: Given) -> str:
    return _("Made: %(name)s.") % {"name": components.component_create(actor=actor, **given)}
