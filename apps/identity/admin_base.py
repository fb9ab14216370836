"""What every table of the operators' admin stands on: rows are read there, and changed by services alone.

An `OperatorAdmin` shows a model; what may be done with it are its `Act`s. An act is a form and the one service that
takes its input: it is confirmed by POST, a refusal is shown with its cause and cure, and nothing has changed then.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from django import forms
from django.contrib import messages
from django.contrib.admin import AdminSite, ModelAdmin, TabularInline, display
from django.contrib.admin.utils import label_for_field, unquote
from django.db.models import Model
from django.forms.models import _get_foreign_key
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.formats import number_format
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from apps.identity.pages.requests import inside
from apps.identity.pages.table_cells import Cell, cell
from apps.kernel.actor import Actor
from apps.kernel.errors import Forbidden, NotFound, WeirError
from apps.kernel.forms import SoundForm
from apps.kernel.money import bill_round

if TYPE_CHECKING:
    _Table = ModelAdmin[Any]
    _Rows = TabularInline[Any, Any]
else:
    _Table, _Rows = ModelAdmin, TabularInline
Text = str | Promise
# Of rows that belong to another, more are looked for in their own table.
_SHOWN_WITHIN = 100


def money(amount: Decimal | int) -> str:
    """An amount of CNY for a column: two places, grouped."""
    return number_format(bill_round(Decimal(amount)), decimal_pos=2, force_grouping=True)


C = TypeVar("C", bound=Callable[..., object])


def column(*, description: Text, ordering: str | None = None, is_state: bool = False) -> Callable[[C], C]:
    """A method that makes a column's text. Where it `is_state` it returns the state's code and its word, which are
    shown as the badge that the state has on every other page."""

    def decorate(method: C) -> C:
        shown = _as_badge(method) if is_state else method
        decorated: C = display(description=cast(Any, description), ordering=ordering)(cast(Any, shown))
        return decorated

    return decorate


def _as_badge(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def shown(*args: Any) -> str:
        code, word = method(*args)
        return render_to_string("_badge.html", {"state": code, "label": word})

    return shown


@dataclass(frozen=True, slots=True)
class Secret:
    """What an act made that is shown this once and kept nowhere."""

    message: Text
    secret: str


class ActForm(SoundForm):
    """The input of an act. `row` is what the act is done to; None for an act on the whole table."""

    def __init__(self, *args: Any, row: Any = None, **kwargs: Any) -> None:
        self.row = row
        super().__init__(*args, **kwargs)
        self.prepare()
        for field in self.fields.values():
            _dress(field.widget)

    def prepare(self) -> None:
        """Add or fill fields that depend on `row`."""


def _dress(widget: forms.Widget) -> None:
    """Give a plain widget the look of the portal's fields; a browser's own pickers serve dates and times."""
    if isinstance(widget, forms.CheckboxInput):
        look = "form-check-input"
    elif isinstance(widget, forms.CheckboxSelectMultiple | forms.RadioSelect):
        look = ""
    elif isinstance(widget, forms.Select):
        look = "form-select"
    else:
        look = "form-control"
    widget.attrs["class"] = " ".join([widget.attrs.get("class", ""), look]).strip()


class MomentField(forms.DateTimeField):
    """An instant in the reader's zone, picked to the minute."""

    def __init__(self, **kwargs: Any) -> None:
        widget = forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M")
        super().__init__(widget=widget, **kwargs)


@dataclass(frozen=True, slots=True)
class Act:
    """Something that may be done from the operators' admin.

    Args:
        name: its part of the address.
        permission: what the actor must hold; the service demands it again.
        run: calls the service with `(actor, row, given)` and returns what to tell, or a `Secret`.
        applies: whether a row is in a state in which the act makes sense; the service decides.
        initial: the values that the form starts with, from the row.
    """

    name: str
    label: Text
    permission: str
    run: Callable[[Actor, Any, Mapping[str, Any]], Text | Secret]
    form: type[ActForm] = ActForm
    hint: Text = ""
    is_danger: bool = False
    applies: Callable[[Any], bool] = lambda row: True
    initial: Callable[[Any], Mapping[str, Any]] = lambda row: {}


class Guarded:
    """Seen with `view_permission` of the active role; never added, changed or deleted in place."""

    view_permission: ClassVar[str]

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return inside(request).actor.kind == "operator" and inside(request).actor.may(self.view_permission)

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


def _names_translated(model: type[Model]) -> None:
    """A field that was given no name of its own is called by its word, in the reader's language."""
    for field in model._meta.fields:
        if field._verbose_name is None:
            field.verbose_name = gettext_lazy(field.name.replace("_", " "))


class OperatorInline(Guarded, _Rows):
    """Rows that belong to the row shown, seen by whoever sees that."""

    def __init__(self, parent_model: type[Model], admin_site: AdminSite) -> None:
        super().__init__(parent_model, admin_site)
        _names_translated(self.model)

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return True

    def rows_of(self, request: HttpRequest, row: Model) -> tuple[list[Model], bool]:
        """Those of `row`, at most as many as a reader looks through, and whether there are more."""
        key = _get_foreign_key(self.parent_model, self.model, fk_name=self.fk_name)
        names = {field.name for field in self.model._meta.fields if field.is_relation}
        rows = self.get_queryset(request).filter(**{key.name: row})
        found = list(rows.select_related(*names & set(self.fields or ()))[: _SHOWN_WITHIN + 1])
        return found[:_SHOWN_WITHIN], len(found) > _SHOWN_WITHIN


class OperatorAdmin(Guarded, _Table):
    """A table of the admin. `add_act` stands behind the Add button, or a page of its own: `add_page`, its permission
    and its view's name. `row_acts` stand behind the buttons of a row. Rows that have a page of the portal lead there:
    `page` is its view's name and the field that its address is made of, which is empty where it needs none; who lacks
    `page_permission` is not led there.
    `above_list` is a template shown above the rows."""

    add_act: ClassVar[Act | None] = None
    add_page: ClassVar[tuple[str, str] | None] = None
    row_acts: ClassVar[Sequence[Act]] = ()
    page: ClassVar[tuple[str, str] | None] = None
    page_permission: ClassVar[str] = ""
    above_list: ClassVar[str] = ""
    list_per_page = 50
    show_full_result_count = False
    actions = None

    def __init__(self, model: type[Model], admin_site: AdminSite) -> None:
        super().__init__(model, admin_site)
        _names_translated(model)

    def get_urls(self) -> list[URLPattern]:
        """The admin's own addresses, and one for each act of a row."""
        name = f"{self.opts.app_label}_{self.opts.model_name}"
        acts = [
            path(
                # Never the address of a page that the admin has itself, such as `change`.
                f"<path:object_id>/do-{act.name.replace('_', '-')}/",
                self.admin_site.admin_view(partial(self._row_act_view, act)),
                name=f"{name}_act_{act.name}",
            )
            for act in self.row_acts
        ]
        return [*acts, *super().get_urls()]

    def _row_act_view(self, act: Act, request: HttpRequest, object_id: str) -> HttpResponse:
        return self.act_view(request, act, object_id)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        if self.add_page is not None:
            return inside(request).actor.may(self.add_page[0])
        return self.add_act is not None and inside(request).actor.may(self.add_act.permission)

    def page_of(self, row: Model) -> str:
        """The address of a row's own page of the portal; empty where it has none."""
        if self.page is None:
            return ""
        view, field = self.page
        found = row
        for name in filter(None, field.split("__")):
            found = getattr(found, name)
        return reverse(view, args=[found] if field else [])

    def _leads_to_page(self, request: HttpRequest) -> bool:
        return not self.page_permission or inside(request).actor.may(self.page_permission)

    def acts_open(self, request: HttpRequest, row: Model) -> list[tuple[Act, str]]:
        """The acts that the actor may do and that the row's state allows for, with their addresses."""
        name = f"admin:{self.opts.app_label}_{self.opts.model_name}_act"
        return [
            (act, reverse(f"{name}_{act.name}", args=[row.pk]))
            for act in self.row_acts
            if inside(request).actor.may(act.permission) and act.applies(row)
        ]

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        inside(request).actor.require(self.view_permission)
        return super().changelist_view(request, {"table": self, **(extra_context or {})})

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """A row with all it holds and the rows that belong to it; what may be done with it stands beside."""
        inside(request).actor.require(self.view_permission)
        if request.method not in ("GET", "HEAD"):
            raise Forbidden()
        row = self._row(request, object_id)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "row": row,
            "cells": [cell(name, row, self, inside(request).actor) for name in self.shown_fields()],
            "belonging": [
                (str(inline.opts.verbose_name_plural), *self._inline_rows(request, inline, row))
                for inline in self.get_inline_instances(request, row)
                if isinstance(inline, OperatorInline)
            ],
            "acts": self.acts_open(request, row),
            "page_url": self.page_of(row) if self._leads_to_page(request) else "",
        }
        return TemplateResponse(request, "admin/change_form.html", context)

    def _inline_rows(
        self, request: HttpRequest, inline: OperatorInline, row: Model
    ) -> tuple[list[str], list[list[Cell]], bool]:
        rows, has_more = inline.rows_of(request, row)
        names = [str(name) for name in inline.fields or ()]
        heads = [str(label_for_field(name, inline.model, inline)) for name in names]
        reader = inside(request).actor
        return heads, [[cell(name, each, inline, reader) for name in names] for each in rows], has_more

    def shown_fields(self) -> list[str]:
        """What is shown of a row: the fields named, else all that are not left out."""
        if self.fields:
            return [str(name) for name in self.fields]
        left_out = {"id", *(self.exclude or ())}
        return [field.name for field in self.opts.fields if field.name not in left_out]

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """What happened to a row stands in the operation log."""
        raise NotFound()

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if self.add_page is not None:
            inside(request).actor.require(self.add_page[0])
            return redirect(self.add_page[1])
        if self.add_act is None:
            raise NotFound()
        return self.act_view(request, self.add_act, None)

    def act_view(self, request: HttpRequest, act: Act, object_id: str | None) -> HttpResponse:
        """Ask for the act's input, then do it; a refusal is shown in its place."""
        inside(request).actor.require(act.permission)
        row = self._row(request, object_id) if object_id is not None else None
        if request.method != "POST":
            form = act.form(row=row, initial=dict(act.initial(row)) if row else {})
            return self._act_page(request, act, row, form)
        form = act.form(request.POST, request.FILES, row=row)
        if not form.is_valid():
            return self._act_page(request, act, row, form, status=400)
        try:
            done = act.run(inside(request).actor, row, form.cleaned_data)
        except WeirError as error:
            return self._act_page(request, act, row, form, problem=error, status=error.status)
        if isinstance(done, Secret):
            return self._act_page(request, act, row, form, done=done)
        messages.success(request, str(done))
        return redirect(self._back(row))

    def _row(self, request: HttpRequest, object_id: str) -> Model:
        row = self.get_object(request, unquote(object_id)) if self.has_view_permission(request) else None
        if row is None:
            raise NotFound()
        return row

    def _back(self, row: Model | None) -> str:
        name = f"admin:{self.opts.app_label}_{self.opts.model_name}"
        return reverse(f"{name}_change", args=[row.pk]) if row else reverse(f"{name}_changelist")

    def _act_page(
        self,
        request: HttpRequest,
        act: Act,
        row: Model | None,
        form: ActForm,
        *,
        problem: WeirError | None = None,
        done: Secret | None = None,
        status: int = 200,
    ) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": act.label,
            "subtitle": row,
            "act": act,
            "row": row,
            "form": form,
            "problem": problem,
            "done": done,
            "back": self._back(row),
        }
        return TemplateResponse(request, "operator/act.html", context, status=status)
