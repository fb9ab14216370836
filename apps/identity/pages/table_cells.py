"""How *All tables* writes what stands in a column: words for choices and truths, links for rows of other tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.admin import AdminSite
from django.contrib.admin.utils import label_for_field, lookup_field
from django.core.exceptions import ObjectDoesNotExist
from django.db.models import Field, ForeignKey, Model
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.timezone import localtime
from django.utils.translation import gettext as _

from apps.kernel.actor import Actor

NOTHING = "–"


@dataclass(frozen=True, slots=True)
class Cell:
    """What stands in one column of one row."""

    name: str
    label: str
    text: Any
    is_figure: bool = False


def cell(name: str, row: Model, table: Any, reader: Actor) -> Cell:
    """The column `name` of a row, as the reader sees it; `table` is the admin that shows it, or its part of a page."""
    label = str(label_for_field(name, type(row), table))
    try:
        field, _attribute, value = lookup_field(name, row, table)
    except ObjectDoesNotExist:
        return Cell(name, label, NOTHING)
    if field is None:
        return Cell(name, label, NOTHING if value in (None, "") else value)
    if isinstance(field, ForeignKey):
        return Cell(name, label, _linked(getattr(row, field.name), table.admin_site, reader))
    if field.flatchoices:
        value = dict(field.flatchoices).get(value, value)
    return Cell(name, label, text_of(value), is_figure=_is_figure(field))


def _is_figure(field: "Field[Any, Any]") -> bool:
    whole = ("IntegerField", "BigIntegerField", "PositiveIntegerField", "PositiveBigIntegerField")
    return field.get_internal_type() in (*whole, "DecimalField", "FloatField") and not field.flatchoices


def _linked(row: Model | None, site: AdminSite, reader: Actor) -> str:
    """A row of another table, and the way to it where the reader may see that table."""
    if row is None:
        return NOTHING
    table = site.get_model_admin(type(row)) if site.is_registered(type(row)) else None
    if table is None or not reader.may(getattr(table, "view_permission", "")):
        return str(row)
    name = f"admin:{row._meta.app_label}_{row._meta.model_name}_change"
    return format_html('<a href="{}">{}</a>', reverse(name, args=[row.pk]), row)


def text_of(value: Any) -> Any:
    """A value of a column in words: no `None`, no `True`, no brackets."""
    if value is None or value == "" or value in ([], {}):
        return NOTHING
    if isinstance(value, bool):
        return _("Yes") if value else _("No")
    if isinstance(value, datetime):
        return localtime(value).strftime("%Y-%m-%d %H:%M:%S")
    if isinstance(value, Mapping):
        pairs = ((name, text_of(each)) for name, each in value.items())
        return format_html_join("", '<div class="text-break">{}: {}</div>', pairs)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return format_html_join(", ", "{}", ((text_of(each),) for each in value))
    return str(value)
