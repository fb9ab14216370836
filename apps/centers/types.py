"""Amounts as tables 2 and 3 write them: whole numbers inside, texts such as "2Gi" in a specification."""

import re
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from apps.centers.adapters.base import Quantities
from apps.kernel.errors import InvalidInput

# Of any amount: what every program that reads JSON holds exactly, and far more than there is.
AMOUNT_MOST = 10**15
# Of anything in a specification: one replica's.
SPEC_AMOUNT_MOST = 10**9
AMOUNTS = ("cpu", "gpu", "npu", "mlu", "memory", "storage", "user_define")
_PLAIN = re.compile(r"[0-9]{1,10}")
_WITH_UNIT = re.compile(r"([0-9]{1,10})(Mi|Gi|Ti)?", re.IGNORECASE)
# By the amount's name: how many of its least unit a unit is.
_SIZES = {
    "memory": {"": 1, "mi": 1, "gi": 1024, "ti": 1024**2},
    "storage": {"": 1, "gi": 1, "ti": 1024},
}


def quantity_texts(amounts: Quantities) -> dict[str, str]:
    """`resource_quantity` of table 3: what is not 0, memory and storage with their units."""
    found: dict[str, str] = {}
    for name in AMOUNTS:
        amount = getattr(amounts, name)
        if amount:
            found[name] = _text(name, amount)
    return found


def _text(name: str, amount: int) -> str:
    if name == "memory":
        return f"{amount // 1024}Gi" if amount % 1024 == 0 else f"{amount}Mi"
    return f"{amount}Gi" if name == "storage" else str(amount)


def quantities_read(given: Mapping[str, Any]) -> Quantities:
    """A `resource_quantity` as it was given: whole numbers, as texts or figures. Memory counts in MB and takes Mi, Gi
    and Ti, storage counts in GB and takes Gi and Ti. Raises InvalidInput."""
    wrong: dict[str, object] = {}
    amounts: dict[str, int] = {}
    for name, value in given.items():
        if name not in AMOUNTS:
            wrong[f"resource_quantity.{name}"[:80]] = _("There is no such resource.")
            continue
        amount = _read(name, value)
        if amount is None or amount > SPEC_AMOUNT_MOST:
            wrong[f"resource_quantity.{name}"] = _("A whole number of at most %(most)s.") % {
                "most": SPEC_AMOUNT_MOST
            }
        else:
            amounts[name] = amount
    if not wrong and not any(amounts.values()):
        wrong["resource_quantity"] = _("Say an amount of one resource at least.")
    if wrong:
        raise InvalidInput(fields=wrong)
    return Quantities(**amounts)


def _read(name: str, value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    text = str(value).strip() if isinstance(value, (int, str)) else ""
    if name not in _SIZES:
        return int(text) if _PLAIN.fullmatch(text) else None
    found = _WITH_UNIT.fullmatch(text)
    size = _SIZES[name].get((found[2] or "").lower()) if found else None
    return int(found[1]) * size if found and size else None
