"""What amounts are called on pages, and how they are said: with their units, never as codes."""

from collections.abc import Iterator
from dataclasses import dataclass

from apps.centers.adapters.base import Quantities
from apps.centers.adapters.kinds import kinds
from apps.centers.models import CenterSample
from apps.centers.states import AMOUNT_LABELS
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
