"""What amounts are called on pages, and how they are said: with their units, never as codes."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from django.utils.translation import gettext as _

from apps.centers.adapters.base import Quantities
from apps.centers.adapters.kinds import CenterKind, kinds
from apps.centers.models import Center, CenterSample, CenterTenant
from apps.centers.states import AMOUNT_LABELS, Serves
from apps.centers.types import AMOUNTS

ACCELERATORS = ("gpu", "npu", "mlu")


@dataclass(frozen=True, slots=True)
class AmountRow:
    """One resource of a centre, in words."""

    code: str
    label: str
    total: str
    used: str
    free: str


def amount_said(name: str, amount: int) -> str:
    """An amount with its unit, memory and storage to a tenth of a GiB."""
    if name not in ("memory", "storage"):
        return f"{amount:,}"
    gib = amount / 1024 if name == "memory" else float(amount)
    return f"{amount:,} MiB" if 0 < gib < 1 else f"{gib:,.1f}".removesuffix(".0") + " GiB"


def sample_rows(sample: CenterSample) -> Iterator[AmountRow]:
    """Tables 2 and 4 of a centre: each resource with its total, what is in use and what is free."""
    total, used, free = sample.total, sample.used, sample.free
    for name in AMOUNTS:
        said = [amount_said(name, getattr(part, name)) for part in (total, used, free)]
        yield AmountRow(name, str(AMOUNT_LABELS[name]), *said)


def quantities_said(amounts: Quantities) -> str:
    """What a specification holds, in one line."""
    parts = [
        f"{AMOUNT_LABELS[name]} {amount_said(name, getattr(amounts, name))}"
        for name in AMOUNTS
        if getattr(amounts, name)
    ]
    return " · ".join(parts)


def accelerators_said(sample: CenterSample) -> str:
    """How many accelerators of all kinds are free of how many there are."""
    free, total = sample.free, sample.total
    counts = [sum(getattr(part, name) for name in ACCELERATORS) for part in (free, total)]
    return f"{counts[0]:,} / {counts[1]:,}"


def has_secrets(code: str) -> bool:
    """Whether a centre of that kind has a credential; True where its adapter is installed no more."""
    found = kinds().get(code)
    return found is None or found.has_secrets


def kind_said(code: str) -> str:
    """What a kind of centre is called; its code where its adapter is installed no more."""
    found = kinds().get(code)
    return str(found.label) if found else code


@dataclass(frozen=True, slots=True)
class TenantsRow:
    """A tenant that is named at a centre: `account` there, "" where it is the centre's own, which others may share."""

    code: str
    name: str
    account: str
    is_shared: bool
    named: CenterTenant


def tenants_said(center: Center, named: Iterable[CenterTenant]) -> list[TenantsRow]:
    """The tenants of a centre, each with its account and whether others' work runs under that, too."""
    rows = list(named)
    kind = kinds().get(center.kind)
    keeps_apart = kind is not None and kind.keeps_apart
    labels = {field.name: str(field.label) for field in kind.account_fields} if kind else {}
    sharers = sum(not each.account for each in rows) + (center.serves == Serves.ALL)
    return [
        TenantsRow(
            code=each.tenant.schema_name,
            name=each.tenant.name,
            account=" · ".join(f"{labels.get(name, name)}: {value}" for name, value in each.account.items()),
            is_shared=not keeps_apart and not each.account and sharers > 1,
            named=each,
        )
        for each in rows
    ]


def sharing_said(kind: CenterKind | None) -> str:
    """What tenants that share a centre of a kind can do to each other's work there; "" where it keeps them apart."""
    if kind is not None and kind.keeps_apart:
        return ""
    if kind is not None and kind.sharing:
        return str(kind.sharing)
    return _("Nothing is known of whether a centre of this kind keeps the work of its tenants apart.")
