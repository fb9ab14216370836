"""What operators do with the catalogue from their pages: each form with the one service it feeds."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.catalog.models import (
    Coupon,
    CouponActivity,
    CouponBudget,
)
from apps.catalog.services import components, coupons
from apps.identity.admin_base import ActForm, MomentField
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


class BudgetForm(ActForm):
    year = forms.IntegerField(label=gettext_lazy("Year"), min_value=2000, max_value=9999)
    amount = forms.DecimalField(label=gettext_lazy("Amount (CNY)"), min_value=0, decimal_places=2)


class ActivityForm(ActForm):
    name_zh = forms.CharField(label=gettext_lazy("Name in Chinese"), max_length=120)
    name_en = forms.CharField(label=gettext_lazy("Name in English"), max_length=120)
    face_value = forms.DecimalField(label=gettext_lazy("Face value (CNY)"), decimal_places=2)
    quantity = forms.IntegerField(label=gettext_lazy("Quantity"), min_value=1)
    per_tenant_limit = forms.IntegerField(label=gettext_lazy("Most per tenant"), min_value=1, initial=1)
    minimum_spend = forms.DecimalField(
        label=gettext_lazy("Minimum spend (CNY)"), min_value=0, decimal_places=2, initial=0
    )
    ratio_percent = forms.IntegerField(
        label=gettext_lazy("Pays at most of a bill (%)"), min_value=1, max_value=100, initial=100
    )
    valid_from = MomentField(label=gettext_lazy("Valid from"))
    valid_until = MomentField(label=gettext_lazy("Valid until"))


class RecallForm(ActForm):
    reason = forms.CharField(label=gettext_lazy("Reason"), max_length=200)


def component_create(actor: Actor, row: None, given: Given) -> str:
    return _("Made: %(name)s.") % {"name": components.component_create(actor=actor, **given)}


def coupon_budget_set(actor: Actor, row: CouponBudget | None, given: Given) -> str:
    made = coupons.coupon_budget_set(actor=actor, **given)
    return _("The coupon budget of %(year)s is set.") % {"year": made.year}


def coupon_activity_create(actor: Actor, row: None, given: Given) -> str:
    return _("Made: %(name)s.") % {"name": coupons.coupon_activity_create(actor=actor, **given)}


def coupon_activity_issue(actor: Actor, row: CouponActivity, given: Given) -> str:
    coupons.coupon_activity_issue(actor=actor, activity_uid=row.uid)
    return _("Tenants can claim coupons of %(name)s.") % {"name": row}


def coupon_activity_end(actor: Actor, row: CouponActivity, given: Given) -> str:
    coupons.coupon_activity_end(actor=actor, activity_uid=row.uid)
    return _("%(name)s is ended; claimed coupons stay good.") % {"name": row}


def coupon_recall(actor: Actor, row: Coupon, given: Given) -> str:
    coupons.coupon_recall(actor=actor, coupon_uid=row.uid, reason=given["reason"])
    return _("Coupon %(code)s is recalled.") % {"code": row.code}
