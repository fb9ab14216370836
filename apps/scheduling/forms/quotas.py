"""Amounts of quotas as people give them: shares, percent, MiB, and cores of which thousandths are kept."""

from decimal import Decimal
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.kernel.unit_fields import MEMORY, UnitField
from apps.scheduling.states import QuotaItem

_MOST = 10**12
_MEMORY: dict[str, Any] = {
    QuotaItem.GPU_MEMORY_MIB: _("Accelerator memory"),
    QuotaItem.HOST_MEMORY_MIB: _("Host memory"),
    QuotaItem.STORAGE_MIB: _("Storage"),
}


class CoresField(forms.DecimalField):
    """Cores, of which a thousandth is the least: kept as a number of thousandths."""

    def __init__(self, **options: Any) -> None:
        super().__init__(decimal_places=3, max_digits=13, **options)

    def clean(self, value: Any) -> Any:
        cores = super().clean(value)
        return None if cores is None else int(cores * 1000)

    def prepare_value(self, value: Any) -> Any:
        return cores_of(value) if isinstance(value, int) else value


def cores_of(milli: int) -> str:
    """Thousandths of cores as a number of cores, as an input shows it."""
    return f"{Decimal(milli) / 1000:f}".rstrip("0").rstrip(".") if milli % 1000 else str(milli // 1000)


def quota_field(item: str, **options: Any) -> forms.Field:
    """The field of one item's amount, labelled with its unit, or with a choice of units."""
    if item in _MEMORY:
        return UnitField(MEMORY, most=_MOST, **{"label": _MEMORY[item], **options})
    given = {"label": QuotaItem(item).label, "min_value": 0, **options}
    if item == QuotaItem.HOST_CPU_MILLI:
        return CoresField(**given)
    return forms.IntegerField(max_value=_MOST, **given)
