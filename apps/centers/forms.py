"""The shape of what the pages of centres and network specifications are sent."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.centers.adapters.kinds import CenterKind, KindField
from apps.centers.models import (
    GRADE_MOST,
    PRICE_MOST,
    SECONDS_MOST,
    Center,
    CenterTenant,
    ResourceSpec,
    SpecOffer,
)
from apps.centers.services.checks import VALUE_MOST
from apps.centers.services.tenants import ACCOUNT_MOST
from apps.centers.states import AMOUNT_LABELS, CenterStatus, Serves, ServiceType
from apps.centers.types import AMOUNTS, SPEC_AMOUNT_MOST
from apps.kernel.forms import SoundForm
from apps.kernel.unit_fields import MEMORY, SECONDS, UnitField
from apps.tenancy.models import Tenant

_MINOR = 100
# What the form calls the fields of a kind, which may have names of ours.
KIND_PREFIX = "kind_"
_STATUSES = [("", ""), *((str(code), label) for code, label in CenterStatus.choices)]


class MarkedForm(SoundForm):
    """Its fields look like those of all pages, and are found by tests."""

    mark = ""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():
            self.dress(name, field)

    def dress(self, name: str, field: forms.Field) -> None:
        """Give a field the classes of its kind."""
        looks = "form-select" if isinstance(field.widget, forms.Select) else "form-control"
        if isinstance(field.widget, (forms.CheckboxInput, forms.CheckboxSelectMultiple)):
            looks = "form-check-input"
        field.widget.attrs |= {"class": looks, "data-test": f"{self.mark}-{name.replace('_', '-')}"}


class CentersForm(SoundForm):
    search = forms.CharField(required=False, max_length=63)
    status = forms.ChoiceField(choices=_STATUSES, required=False)


class SpecsForm(SoundForm):
    search = forms.CharField(required=False, max_length=63)


class CenterForm(MarkedForm):
    """What is said of a centre, and the values of its kind's fields; the secret ones of one that is changed may be left
    empty."""

    mark = "center"
    name = forms.CharField(label=_("Name"), max_length=63)
    region = forms.CharField(label=_("Region"), max_length=63, required=False)
    longitude = forms.FloatField(label=_("Longitude"), min_value=-180, max_value=180, required=False)
    latitude = forms.FloatField(label=_("Latitude"), min_value=-90, max_value=90, required=False)
    security_grade = forms.IntegerField(
        label=_("Security grade"),
        min_value=1,
        max_value=GRADE_MOST,
        initial=1,
        help_text=_("From 1 to 5: work that asks for a higher grade is not sent there."),
    )
    stale_after_s = UnitField(SECONDS, least=1, most=SECONDS_MOST, label=_("Unknown after"), initial=30)
    lost_after_s = UnitField(
        SECONDS,
        least=2,
        most=SECONDS_MOST,
        label=_("Unavailable after"),
        initial=300,
        help_text=_("Both: how long it may be silent."),
    )

    def __init__(self, *args: Any, kind: CenterKind, row: Center | None = None, **kwargs: Any) -> None:
        if row is not None:
            said = {name: getattr(row, name) for name in self.base_fields}
            kwargs["initial"] = said | {f"{KIND_PREFIX}{name}": text for name, text in row.settings.items()}
        super().__init__(*args, **kwargs)
        if row is None:
            code = forms.CharField(
                label=_("Code"), max_length=32, help_text=_("Small letters, digits and dashes: lake-1.")
            )
            self.fields = {"ai_center_id": code, **self.fields}
            self.dress("ai_center_id", code)
        _kind_fields_add(self, kind, wanted=(False, True))
        if row is not None:
            for each in kind.fields:
                if each.is_secret:
                    field = self.fields[f"{KIND_PREFIX}{each.name}"]
                    field.required, field.help_text = False, _("Only with another address or authority.")

    def facts(self, given: dict[str, Any]) -> dict[str, Any]:
        """Of what was sent, what is said of the centre."""
        return {name: given[name] for name in self.base_fields}


class ServesForm(MarkedForm):
    """Whom a centre serves; where its kind keeps nobody apart, that all may share it is said beside it."""

    mark = "serves"
    serves = forms.ChoiceField(label=_("Sends work there"), choices=Serves.choices)

    def __init__(self, *args: Any, kind: CenterKind, row: Center, **kwargs: Any) -> None:
        kwargs["initial"] = {"serves": row.serves}
        super().__init__(*args, **kwargs)
        if not kind.keeps_apart:
            field = forms.BooleanField(
                label=_("Tenants may share this centre: I know that it does not keep their work apart."),
                required=False,
            )
            self.fields["may_share"] = field
            self.dress("may_share", field)


ACCOUNT_PREFIX = "account_"


class TenantForm(MarkedForm):
    """A tenant of a centre, and the account there that its work runs under; left empty it is the centre's own."""

    mark = "tenant"
    tenant = forms.ChoiceField(label=_("Tenant"))

    def __init__(
        self,
        *args: Any,
        kind: CenterKind,
        tenants: Iterable[Tenant],
        row: CenterTenant | None = None,
        **kwargs: Any,
    ) -> None:
        if row is not None:
            said = {f"{ACCOUNT_PREFIX}{name}": value for name, value in row.account.items()}
            kwargs["initial"] = said | {"tenant": row.tenant.schema_name}
        super().__init__(*args, **kwargs)
        choice = self.fields["tenant"]
        assert isinstance(choice, forms.ChoiceField)
        choice.choices = [(each.schema_name, each.name) for each in tenants]
        for each in kind.account_fields:
            field = forms.CharField(
                label=str(each.label),
                help_text=str(each.help),
                required=False,
                max_length=ACCOUNT_MOST,
                widget=forms.TextInput({"autocomplete": "off", "spellcheck": "false"}),
            )
            self.fields[f"{ACCOUNT_PREFIX}{each.name}"] = field
            self.dress(f"{ACCOUNT_PREFIX}{each.name}", field)


def account_values(kind: CenterKind, given: dict[str, Any]) -> dict[str, str]:
    """Of what was sent, the values of an account of a kind."""
    return {each.name: given[f"{ACCOUNT_PREFIX}{each.name}"] for each in kind.account_fields}


class CredentialForm(MarkedForm):
    """Another credential: the secret fields of a kind."""

    mark = "credential"

    def __init__(self, *args: Any, kind: CenterKind, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _kind_fields_add(self, kind, wanted=(True,))


def _kind_fields_add(form: MarkedForm, kind: CenterKind, *, wanted: Iterable[bool]) -> None:
    for each in kind.fields:
        if each.is_secret not in wanted:
            continue
        # What a browser keeps for a sign-in here is no credential of a centre.
        attrs = {"autocomplete": "new-password" if each.is_secret else "off", "spellcheck": "false"}
        widget: forms.Widget = forms.TextInput(attrs)
        if each.is_long:
            widget = forms.Textarea(attrs | {"rows": 4})
        elif each.is_secret:
            widget = forms.PasswordInput(attrs)
        if each.choices is not None:
            form.fields[f"{KIND_PREFIX}{each.name}"] = _choice(each)
            form.dress(f"{KIND_PREFIX}{each.name}", form.fields[f"{KIND_PREFIX}{each.name}"])
            continue
        field = forms.CharField(
            label=str(each.label),
            help_text=str(each.help),
            required=each.is_required,
            max_length=VALUE_MOST,
            widget=widget,
        )
        form.fields[f"{KIND_PREFIX}{each.name}"] = field
        form.dress(f"{KIND_PREFIX}{each.name}", field)


def _choice(each: KindField) -> forms.ChoiceField:
    """A field of a kind that is chosen from a list."""
    offered = [("", ""), *(each.choices() if each.choices else ())]
    return forms.ChoiceField(
        label=str(each.label), help_text=str(each.help), required=each.is_required, choices=offered
    )


def kind_values(kind: CenterKind, given: dict[str, Any], *, are_secret: bool) -> dict[str, str]:
    """Of what was sent, the values of a kind's fields."""
    names = [each.name for each in kind.fields if each.is_secret == are_secret]
    return {name: given[f"{KIND_PREFIX}{name}"] for name in names if f"{KIND_PREFIX}{name}" in given}


def _price(**more: Any) -> forms.DecimalField:
    most = Decimal(PRICE_MOST) / _MINOR
    return forms.DecimalField(min_value=0, max_value=most, decimal_places=2, max_digits=14, **more)


def price_minor(amount: Decimal | None) -> int | None:
    """A price as people write it, in the least unit of money."""
    return None if amount is None else int(amount * _MINOR)


def price_shown(minor: int | None) -> Decimal | None:
    """A price in the least unit of money, as people write it."""
    return None if minor is None else Decimal(minor) / _MINOR


class SpecForm(MarkedForm):
    """A specification; its code cannot be changed."""

    mark = "spec"
    resource_spec_name = forms.CharField(label=_("Name"), max_length=63)
    service_types = forms.MultipleChoiceField(
        label=_("Job types"),
        choices=ServiceType.choices,
        initial=[ServiceType.BATCH],
        widget=forms.CheckboxSelectMultiple,
    )
    price = _price(label=_("Price of an hour (CNY)"), initial=0)
    field_order = ("resource_spec_id", "resource_spec_name", "price", "service_types", *AMOUNTS)

    def __init__(self, *args: Any, row: ResourceSpec | None = None, **kwargs: Any) -> None:
        if row is not None:
            said = {name: getattr(row.quantities, name) or None for name in AMOUNTS}
            own = {"resource_spec_name": row.resource_spec_name, "service_types": row.service_types}
            kwargs["initial"] = said | own | {"price": price_shown(row.price_minor)}
        super().__init__(*args, **kwargs)
        if row is None:
            self.fields["resource_spec_id"] = forms.CharField(
                label=_("Code"), max_length=32, help_text=_("Small letters, digits and dashes: gpu-1.")
            )
        for name in AMOUNTS:
            self.fields[name] = _amount_field(name)
        for name in ("resource_spec_id", *AMOUNTS):
            if name in self.fields:
                self.dress(name, self.fields[name])
        self.order_fields(self.field_order)

    def quantity(self, given: dict[str, Any]) -> dict[str, Any]:
        """Of what was sent, the amounts."""
        return {name: given[name] for name in AMOUNTS if given[name]}


def _amount_field(name: str) -> forms.Field:
    label = str(AMOUNT_LABELS[name])
    if name == "memory":
        return UnitField(MEMORY, most=SPEC_AMOUNT_MOST, label=label, required=False)
    if name == "storage":
        label = str(_("Storage (GiB)"))
    return forms.IntegerField(min_value=0, max_value=SPEC_AMOUNT_MOST, label=label, required=False)


class OfferForm(MarkedForm):
    """How a centre offers a specification; what is left empty is not known."""

    mark = "offer"
    center = forms.ChoiceField(label=_("AI computing centre"))
    price = _price(
        label=_("Price of an hour there (CNY)"), required=False, help_text=_("Empty: the specification's.")
    )
    cost = _price(
        label=_("What the centre gets for an hour (CNY)"),
        required=False,
        help_text=_("As agreed with it. Empty: nothing is owed to it."),
    )
    performance = forms.FloatField(
        label=_("Measured performance"),
        min_value=0,
        required=False,
        help_text=_("By one measure for all centres: more is better."),
    )
    idle_power_w = forms.FloatField(label=_("Power while idle (W)"), min_value=0, required=False)
    running_power_w = forms.FloatField(label=_("Power while running (W)"), min_value=0, required=False)

    def __init__(
        self, *args: Any, centers: Iterable[Center], row: SpecOffer | None = None, **kwargs: Any
    ) -> None:
        if row is not None:
            names = ("performance", "idle_power_w", "running_power_w")
            said = {name: getattr(row, name) for name in names}
            kwargs["initial"] = said | {
                "center": row.center.ai_center_id,
                "price": price_shown(row.price_minor),
                "cost": price_shown(row.cost_minor),
            }
        super().__init__(*args, **kwargs)
        choice = self.fields["center"]
        assert isinstance(choice, forms.ChoiceField)
        choice.choices = [(center.ai_center_id, center.name) for center in centers]
