"""What operators do with tenants' quotas on their pages."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.identity.admin_base import Act, ActForm
from apps.kernel.actor import Actor
from apps.kernel.errors import InvalidInput
from apps.scheduling.forms.quotas import quota_field
from apps.scheduling.models import TenantQuota
from apps.scheduling.permissions import SchedulingPermission as P
from apps.scheduling.selectors.usage.model_usage import pool_models
from apps.scheduling.services.quota.ending import quota_remove
from apps.scheduling.services.quota.quotas import quota_set
from apps.scheduling.states import QuotaItem
from apps.tenancy.selectors import tenant_list

Given = Mapping[str, Any]


class QuotaForm(ActForm):
    tenant = forms.ModelChoiceField(tenant_list(), label=gettext_lazy("Tenant"))
    item = forms.ChoiceField(label=gettext_lazy("Item"), choices=QuotaItem.choices)
    model = forms.ChoiceField(
        label=gettext_lazy("Accelerator model"),
        required=False,
        help_text=gettext_lazy("Only what lies on devices of this model, beside the quota of the whole."),
    )
    total = forms.DecimalField(
        label=gettext_lazy("Total"),
        min_value=0,
        decimal_places=3,
        help_text=gettext_lazy("Whole numbers; memory in MiB, CPU in cores down to a thousandth."),
    )

    def prepare(self) -> None:
        self.fields["model"].choices = [("", gettext_lazy("any")), *((name, name) for name in pool_models())]


class TotalForm(ActForm):
    def prepare(self) -> None:
        self.fields["total"] = quota_field(self.row.item, label=gettext_lazy("Total"))


def _quota_set(actor: Actor, row: None, given: Given) -> str:
    total = given["total"]
    whole = total * 1000 if given["item"] == QuotaItem.HOST_CPU_MILLI else total
    if whole != int(whole):
        raise InvalidInput(fields={"total": _("a whole number")})
    quota = quota_set(actor=actor, **{**given, "total": int(whole)})
    return _("The quota of %(tenant)s is set.") % {"tenant": quota.tenant}


def _quota_change(actor: Actor, row: TenantQuota, given: Given) -> str:
    quota_set(actor=actor, tenant=row.tenant, item=row.item, total=given["total"], model=row.model)
    return _("The quota of %(tenant)s is set.") % {"tenant": row.tenant}


def _quota_remove(actor: Actor, row: TenantQuota, given: Given) -> str:
    quota_remove(actor=actor, tenant=row.tenant, item=row.item, model=row.model)
    return _("The quota of %(tenant)s is taken away.") % {"tenant": row.tenant}


QUOTA_ADD = Act("add", gettext_lazy("Set a quota"), P.MANAGE, _quota_set, QuotaForm)
QUOTA_ACTS = [
    Act(
        "set",
        gettext_lazy("Change the total"),
        P.MANAGE,
        _quota_change,
        TotalForm,
        hint=gettext_lazy("What is held beyond it stays; new asks are refused."),
        initial=lambda row: {"total": row.total},
    ),
    Act(
        "remove",
        gettext_lazy("Take it away"),
        P.MANAGE,
        _quota_remove,
        hint=gettext_lazy(
            "The tenant is given no more then; on a model only the quota of the whole bounds it."
        ),
        is_danger=True,
    ),
]
