"""The pages of *All tables*: which there are, and the rows of one as cells."""

from typing import Any

from django import template
from django.apps import apps
from django.contrib import admin
from django.contrib.admin.templatetags.admin_list import result_headers
from django.contrib.admin.views.main import PAGE_VAR, ChangeList
from django.template import Context
from django.urls import reverse

from apps.console.tables import TABLES, table_name
from apps.identity.pages.requests import inside
from apps.identity.pages.table_cells import cell

register = template.Library()


@register.simple_tag(takes_context=True)
def all_tables(context: Context) -> list[dict[str, Any]]:
    """The tables that the reader may look at, by group, each with its address."""
    found = []
    for label, tables in TABLES:
        rows = []
        for table in tables:
            model = apps.get_model(table.model)
            if admin.site.get_model_admin(model).has_view_permission(context["request"]):
                url = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
                rows.append({"name": table.name, "url": url, "code": table.model})
        if rows:
            found.append({"label": label, "tables": rows})
    return found


@register.filter
def admin_address(opts: Any, page: str) -> str:
    """The name of a page of a model's table: `changelist` or `add`."""
    return f"admin:{opts.app_label}_{opts.model_name}_{page}"


@register.simple_tag
def named_table(opts: Any) -> Any:
    """What the table of a model is called."""
    return table_name(opts.label_lower)


@register.simple_tag
def heads(shown: ChangeList) -> list[dict[str, Any]]:
    """The heads of a table's columns, each with the address that sorts by it."""
    return list(result_headers(shown))


@register.simple_tag(takes_context=True)
def lines(context: Context, shown: ChangeList) -> list[dict[str, Any]]:
    """The rows of the present page of a table: each one's cells, and its address."""
    reader = inside(context["request"]).actor
    links = set(shown.list_display_links or shown.list_display[:1])
    return [
        {
            "cells": [
                (cell(str(name), row, shown.model_admin, reader), name in links)
                for name in shown.list_display
            ],
            "url": _url(shown, row),
        }
        for row in shown.result_list
    ]


def _url(shown: ChangeList, row: Any) -> str:
    return str(shown.url_for_result(row))


@register.simple_tag
def page_address(shown: ChangeList, number: int) -> str:
    """The address of another page of the rows that are shown, under the same conditions."""
    return str(shown.get_query_string({PAGE_VAR: number}))


@register.simple_tag
def choices_of(spec: Any, shown: ChangeList) -> list[dict[str, Any]]:
    """What a filter offers, each with its address."""
    return list(spec.choices(shown))
