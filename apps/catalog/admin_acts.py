"""What operators do with the catalogue from their pages: each form with the one service it feeds."""

import json
from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.catalog.models import (
    Category,
    Commodity,
    Component,
    Coupon,
    CouponActivity,
    CouponBudget,
    FormTemplate,
    PriceLine,
    ProcessApp,
    ProcessTemplate,
)
from apps.catalog.selectors import price_version_list
from apps.catalog.services import commodities, coupons, prices, processes
from apps.catalog.types import ComponentRange, PriceInput
from apps.identity.admin_base import ActForm, MomentField
from apps.kernel.actor import Actor
from apps.kernel.errors import InvalidInput
from apps.tenancy.selectors import tenant_list

Given = Mapping[str, Any]
TEXT = forms.Textarea(attrs={"rows": 4})


class NamedForm(ActForm):
    code = forms.SlugField(label=gettext_lazy("Code"), max_length=48)
    name_zh = forms.CharField(label=gettext_lazy("Name in Chinese"), max_length=120)
    name_en = forms.CharField(label=gettext_lazy("Name in English"), max_length=120)


class CategoryForm(NamedForm):
    parent = forms.ModelChoiceField(
        Category.objects.filter(parent=None), label=gettext_lazy("Parent"), required=False
    )


class ComponentForm(NamedForm):
    unit = forms.CharField(label=gettext_lazy("Unit"), max_length=16)
    amount_unit = forms.CharField(label=gettext_lazy("Unit of amounts"), max_length=16, required=False)
    per_unit = forms.IntegerField(label=gettext_lazy("Amount units per unit"), min_value=1, initial=1)


class FormTemplateForm(NamedForm):
    kind = forms.ChoiceField(label=gettext_lazy("Kind"), choices=FormTemplate.Kind.choices)
    fields_json = forms.JSONField(label=gettext_lazy("Fields"), initial=list, required=False)


class ProcessTemplateForm(ActForm):
    key = forms.SlugField(label=gettext_lazy("Key"), max_length=80)
    name_zh = forms.CharField(label=gettext_lazy("Name in Chinese"), max_length=120, required=False)
    name_en = forms.CharField(label=gettext_lazy("Name in English"), max_length=120, required=False)
    file = forms.FileField(
        label=gettext_lazy("BPMN file"),
        help_text=gettext_lazy("No code may be in it; what the engine does not run is refused by its name."),
    )


class ProcessAppForm(NamedForm):
    category = forms.ModelChoiceField(Category.objects.all(), label=gettext_lazy("Category"))
    form_template = forms.ModelChoiceField(FormTemplate.objects.all(), label=gettext_lazy("Form template"))
    process_template = forms.ModelChoiceField(
        ProcessTemplate.objects.defer("xml"), label=gettext_lazy("Process template")
    )


class RebindForm(ActForm):
    process_template = forms.ModelChoiceField(
        ProcessTemplate.objects.defer("xml"), label=gettext_lazy("Process template")
    )


class ChangeForm(ActForm):
    name_zh = forms.CharField(label=gettext_lazy("Name in Chinese"), max_length=120)
    name_en = forms.CharField(label=gettext_lazy("Name in English"), max_length=120)
    intro_zh = forms.CharField(label=gettext_lazy("Introduction in Chinese"), widget=TEXT, required=False)
    intro_en = forms.CharField(label=gettext_lazy("Introduction in English"), widget=TEXT, required=False)
    supplier = forms.CharField(label=gettext_lazy("Supplier"), max_length=120, required=False)
    min_duration_s = forms.IntegerField(label=gettext_lazy("Shortest duration (s)"), min_value=1, initial=60)
    max_duration_s = forms.IntegerField(
        label=gettext_lazy("Longest duration (s)"), min_value=1, initial=30 * 86400
    )
    max_count = forms.IntegerField(label=gettext_lazy("Most shares"), min_value=1, initial=64)
    work = forms.JSONField(
        label=gettext_lazy("Work"),
        help_text=gettext_lazy('The program with its arguments: {"argv": ["python", "train.py"], "env": {}}'),
        initial=lambda: {"argv": [], "env": {}},
    )


class CommodityChangeForm(ChangeForm):
    version = forms.IntegerField(widget=forms.HiddenInput)


class CommodityForm(ChangeForm):
    number = forms.CharField(label=gettext_lazy("Service number"), max_length=32)
    category = forms.ModelChoiceField(Category.objects.all(), label=gettext_lazy("Category"))
    process_app = forms.ModelChoiceField(ProcessApp.objects.all(), label=gettext_lazy("Application for new"))
    termination_app = forms.ModelChoiceField(
        ProcessApp.objects.all(), label=gettext_lazy("Application for termination")
    )
    field_order = ("number", "name_zh", "name_en", "category", "process_app", "termination_app")

    def prepare(self) -> None:
        """One line for each prepared component: it is part of the commodity when it is filled in (PLAT-OPS-10)."""
        for part in Component.objects.all():
            self.fields[f"part_{part.code}"] = forms.CharField(
                label=f"{part.name} ({part.amount_unit})",
                required=False,
                help_text=gettext_lazy("Least, most, default, step: 10 100 25 5. Empty: not a part."),
            )

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        given["components"] = []
        for name in [name for name in self.fields if name.startswith("part_")]:
            numbers = str(given.pop(name, "")).split()
            if not numbers:
                continue
            if len(numbers) != 4 or not all(number.isdecimal() for number in numbers):
                self.add_error(name, _("Four whole numbers: least, most, default, step."))
                continue
            least, most, default, step = map(int, numbers)
            given["components"].append(ComponentRange(name.removeprefix("part_"), least, most, default, step))
        return given


class TenantsForm(ActForm):
    is_for_all = forms.BooleanField(label=gettext_lazy("For all tenants"), required=False)
    tenants = forms.ModelMultipleChoiceField(
        tenant_list(), label=gettext_lazy("Or only for these"), required=False
    )


class PriceForm(ActForm):
    effective_from = MomentField(
        label=gettext_lazy("Effective from"), required=False, help_text=gettext_lazy("Empty: from now on.")
    )

    def prepare(self) -> None:
        for part in self.row.components.select_related("component"):
            self._add(part.component)

    def _add(self, part: Component) -> None:
        code = part.code
        self.fields[f"unit_{code}"] = forms.ChoiceField(
            label=_("%(name)s: price for") % {"name": part.name}, choices=PriceLine.OFFERED_UNITS
        )
        self.fields[f"method_{code}"] = forms.ChoiceField(
            label=_("%(name)s: tier method") % {"name": part.name}, choices=PriceLine.METHODS
        )
        self.fields[f"tiers_{code}"] = forms.CharField(
            label=_("%(name)s: tiers, CNY per %(unit)s") % {"name": part.name, "unit": part.unit},
            widget=forms.Textarea(attrs={"rows": 3}),
            help_text=gettext_lazy("One tier a line, up to and price: “100 1”, then “* 2” for all above."),
        )

    def lines(self, given: Given) -> list[PriceInput]:
        codes = [name.removeprefix("unit_") for name in self.fields if name.startswith("unit_")]
        return [
            PriceInput(
                component=code,
                tiers=_tiers(code, given[f"tiers_{code}"]),
                unit=given[f"unit_{code}"],
                tier_method=given[f"method_{code}"],
            )
            for code in codes
        ]

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        if not self.errors:
            try:
                given["lines"] = self.lines(given)
            except InvalidInput as error:
                self.add_error(None, str(error.message))
        return given


def _tiers(code: str, text: str) -> list[list[Any]]:
    tiers = []
    for line in filter(None, map(str.strip, text.splitlines())):
        words = line.split()
        if len(words) != 2:
            raise InvalidInput(_("%(code)s: “%(line)s” is not a tier.") % {"code": code, "line": line[:40]})
        tiers.append([None if words[0] == "*" else words[0], words[1]])
    return tiers


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


def category_create(actor: Actor, row: None, given: Given) -> str:
    return _("Made: %(name)s.") % {"name": commodities.category_create(actor=actor, **given)}


def component_create(actor: Actor, row: None, given: Given) -> str:
    return _("Made: %(name)s.") % {"name": commodities.component_create(actor=actor, **given)}


def form_template_create(actor: Actor, row: None, given: Given) -> str:
    values = {name: value for name, value in given.items() if name != "fields_json"}
    made = processes.form_template_create(actor=actor, fields=given["fields_json"] or [], **values)
    return _("Made: %(name)s.") % {"name": made}


def process_template_import(actor: Actor, row: None, given: Given) -> str:
    made = processes.process_template_import(
        actor=actor,
        key=given["key"],
        xml=given["file"].read(),
        name_zh=given["name_zh"],
        name_en=given["name_en"],
    )
    return _("Imported: %(name)s, version %(version)s.") % {"name": made, "version": made.version[:12]}


def process_app_create(actor: Actor, row: None, given: Given) -> str:
    return _("Made: %(name)s.") % {"name": processes.process_app_create(actor=actor, **given)}


def process_app_publish(actor: Actor, row: ProcessApp, given: Given) -> str:
    processes.process_app_publish(actor=actor, process_app_uid=row.uid)
    return _("%(name)s is published.") % {"name": row}


def process_app_unpublish(actor: Actor, row: ProcessApp, given: Given) -> str:
    processes.process_app_unpublish(actor=actor, process_app_uid=row.uid)
    return _("%(name)s is not published any more.") % {"name": row}


def process_app_rebind(actor: Actor, row: ProcessApp, given: Given) -> str:
    processes.process_app_rebind(actor=actor, process_app_uid=row.uid, **given)
    return _("New forms of %(name)s follow this process.") % {"name": row}


def commodity_create(actor: Actor, row: None, given: Given) -> str:
    return _("Made: %(name)s.") % {"name": commodities.commodity_create(actor=actor, **given)}


def commodity_change(actor: Actor, row: Commodity, given: Given) -> str:
    changes = {name: value for name, value in given.items() if name != "version"}
    commodities.commodity_change(
        actor=actor, commodity_uid=row.uid, version=given["version"], changes=changes
    )
    return _("%(name)s is changed; orders made before keep what they froze.") % {"name": row}


def commodity_initial(row: Commodity) -> Given:
    values = {name: getattr(row, name) for name in CommodityChangeForm.base_fields}
    return values | {"work": json.loads(json.dumps(row.work))}


def commodity_list(actor: Actor, row: Commodity, given: Given) -> str:
    commodities.commodity_list_(actor=actor, commodity_uid=row.uid)
    return _("%(name)s is in the catalogue.") % {"name": row}


def commodity_delist(actor: Actor, row: Commodity, given: Given) -> str:
    commodities.commodity_delist(actor=actor, commodity_uid=row.uid)
    return _("%(name)s is out of the catalogue.") % {"name": row}


def commodity_enable(actor: Actor, row: Commodity, given: Given) -> str:
    commodities.commodity_enable(actor=actor, commodity_uid=row.uid)
    return _("%(name)s can be applied for.") % {"name": row}


def commodity_disable(actor: Actor, row: Commodity, given: Given) -> str:
    commodities.commodity_disable(actor=actor, commodity_uid=row.uid)
    return _("%(name)s cannot be applied for.") % {"name": row}


def commodity_tenants(actor: Actor, row: Commodity, given: Given) -> str:
    commodities.commodity_tenants_set(
        actor=actor,
        commodity_uid=row.uid,
        is_for_all=given["is_for_all"],
        tenants=list(given["tenants"]),
    )
    return _("Who may apply for %(name)s is changed.") % {"name": row}


def tenants_initial(row: Commodity) -> Given:
    return {"is_for_all": row.is_for_all, "tenants": [grant.tenant_id for grant in row.grants.all()]}


def price_initial(row: Commodity) -> Given:
    """The newest prices, to start the next ones from."""
    version = price_version_list(commodity=row).first()
    values = {}
    for line in version.lines.all() if version else ():
        code = line.component.code
        tiers = [f"{'*' if upto is None else upto} {price}" for upto, price in line.tiers]
        values |= {
            f"unit_{code}": line.unit,
            f"method_{code}": line.tier_method,
            f"tiers_{code}": "\n".join(tiers),
        }
    return values


def price_publish(actor: Actor, row: Commodity, given: Given) -> str:
    made = prices.price_publish(
        actor=actor, commodity_uid=row.uid, lines=given["lines"], effective_from=given["effective_from"]
    )
    return _("Price version %(number)s of %(name)s is published.") % {"number": made.number, "name": row}


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
