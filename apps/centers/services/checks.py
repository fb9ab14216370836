"""What centres and specifications may be called and where they may lie. Internal to the app's services."""

import math
import re
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from apps.centers.adapters.kinds import CenterKind, kinds
from apps.centers.models import GRADE_MOST, ID_PATTERN, PRICE_MOST, SECONDS_MOST, TEXT_BYTES
from apps.kernel.control_characters import control_fault
from apps.kernel.errors import InvalidInput

# Of a setting or a secret: a chain of certificates, or a key.
VALUE_MOST = 32_768
_WORDS_OF_PAGES = frozenset({"join", "mapping", "new"})


def id_fault(text: str) -> str:
    """What is wrong with a centre's or a specification's code; empty where nothing is."""
    if text in _WORDS_OF_PAGES:
        return _("The portal's own pages are called so: choose another word.")
    if re.fullmatch(ID_PATTERN, text):
        return ""
    return _("Small letters, digits and dashes, at most 32, a letter or digit first.")


def text_fault(text: str, *, is_required: bool = True) -> str:
    """What is wrong with a name: the tables take less than 64 bytes, of which a Chinese character is three."""
    if fault := control_fault(text):
        return fault
    if is_required and not text.strip():
        return _("Fill this in.")
    if len(text.encode("utf-8", "replace")) > TEXT_BYTES:
        return _("At most %(most)s bytes: a Chinese character is three.") % {"most": TEXT_BYTES}
    return ""


def number_fault(value: float | int | None, least: float, most: float) -> str:
    """What is wrong with a figure; nothing said is not wrong."""
    if value is None or (math.isfinite(value) and least <= value <= most):
        return ""
    return _("From %(least)s to %(most)s.") % {"least": f"{least:,.0f}", "most": f"{most:,.0f}"}


def price_fault(value: int | None) -> str:
    """What is wrong with a price in the least unit of money."""
    return number_fault(value, 0, PRICE_MOST)


def faults_raise(faults: Mapping[str, str]) -> None:
    """InvalidInput naming each field with something wrong; nothing where there is none."""
    found = {name: text for name, text in faults.items() if text}
    if found:
        raise InvalidInput(fields=found)


def facts_check(facts: Mapping[str, Any]) -> None:
    """InvalidInput unless a centre may be told of in these words and figures: those of `Center` by their names."""
    longitude, latitude = facts["longitude"], facts["latitude"]
    faults = {
        "name": text_fault(facts["name"]),
        "region": text_fault(facts["region"], is_required=False),
        "longitude": number_fault(longitude, -180, 180),
        "latitude": number_fault(latitude, -90, 90),
        "security_grade": number_fault(facts["security_grade"], 1, GRADE_MOST),
        "stale_after_s": number_fault(facts["stale_after_s"], 1, SECONDS_MOST),
        "lost_after_s": number_fault(facts["lost_after_s"], 2, SECONDS_MOST),
    }
    if (longitude is None) != (latitude is None):
        faults["longitude" if longitude is None else "latitude"] = _(
            "Say both longitude and latitude, or neither."
        )
    if not faults["lost_after_s"] and facts["lost_after_s"] <= facts["stale_after_s"]:
        faults["lost_after_s"] = _("More than the time after which it is unknown.")
    faults_raise(faults)


def kind_check(kind: str) -> CenterKind:
    """The kind of that code. InvalidInput where there is none."""
    found = kinds().get(kind)
    if found is None:
        text = _("There is no kind of centre named %(kind)s.") % {"kind": kind[:48]}
        raise InvalidInput(text, fields={"kind": text})
    return found


def values_check(kind: CenterKind, given: Mapping[str, Any], *, are_secret: bool) -> dict[str, str]:
    """The values of a kind's fields, secret or not, without the empty ones. InvalidInput by field."""
    faults: dict[str, str] = {}
    found: dict[str, str] = {}
    for name, value in given.items():
        field = kind.field_named(name)
        if field is None or field.is_secret != are_secret:
            faults[name[:48]] = _("A centre of this kind has no such field.")
        elif not isinstance(value, str) or len(value) > VALUE_MOST:
            faults[name] = _("A text of at most %(most)s characters.") % {"most": VALUE_MOST}
        elif fault := control_fault(value, has_lines=field.is_long):
            faults[name] = fault
        elif value.strip():
            # A browser ends lines with two characters.
            found[name] = value.replace("\r\n", "\n").strip()
    for field in kind.fields:
        if field.is_secret == are_secret and field.is_required and field.name not in found:
            faults.setdefault(field.name, _("Fill this in."))
    faults_raise(faults)
    return found
