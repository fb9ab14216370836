"""What every table of the operators' admin stands on: rows are read there, and changed by services alone.

An `OperatorAdmin` shows a model; what may be done with it are its `Act`s. An act is a form and the one service that
takes its input: it is confirmed by POST, a refusal is shown with its cause and cure, and nothing has changed then.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar, TypeVar

from django import forms
from django.contrib import messages
from django.contrib.admin import AdminSite
from django.contrib.admin.utils import unquote
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.formats import number_format
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy
from unfold.admin import ModelAdmin, TabularInline
from unfold.decorators import display
from unfold.enums import ActionVariant
from unfold.widgets import (
    CHECKBOX_CLASSES,
    INPUT_CLASSES,
    SELECT_CLASSES,
    TEXTAREA_CLASSES,
)

from apps.identity.pages.requests import inside
from apps.kernel.actor import Actor
from apps.kernel.errors import NotFound, WeirError
from apps.kernel.forms import SoundForm
from apps.kernel.money import bill_round

Text = str | Promise


def money(amount: Decimal | int) -> str:
    """An amount of CNY for a column: two places, grouped."""
    return number_format(bill_round(Decimal(amount)), decimal_pos=2, force_grouping=True)


C = TypeVar("C", bound=Callable[..., object])


def column(
    *, description: Text, ordering: str | None = None, label: Mapping[str, str] | None = None
) -> Callable[[C], C]:
    """A method that makes a column's text; `label`: the colour of a badge by its value. Unfold's own says no types."""
    decorate: Callable[[C], C] = display(description=description, ordering=ordering, label=label)
    return decorate


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
    """Give a plain widget the look of the operators' admin; a browser's own pickers serve dates and times."""
    if isinstance(widget, forms.CheckboxInput | forms.CheckboxSelectMultiple):
        classes = CHECKBOX_CLASSES
    elif isinstance(widget, forms.Select):
        classes = SELECT_CLASSES
    elif isinstance(widget, forms.Textarea):
        classes = [*TEXTAREA_CLASSES, "max-w-2xl", "w-full"]
    elif isinstance(widget, forms.FileInput):
        classes = []
    else:
        classes = INPUT_CLASSES
    widget.attrs["class"] = " ".join([widget.attrs.get("class", ""), *classes]).strip()


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
    icon: str = "bolt"
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


class OperatorInline(Guarded, TabularInline):
    """Rows that belong to the row shown, seen by whoever sees that."""

    extra = 0
    can_delete = False
    hide_title = True
    show_change_link = False

    def __init__(self, parent_model: type[Model], admin_site: AdminSite) -> None:
        super().__init__(parent_model, admin_site)
        _names_translated(self.model)

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return True

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> Sequence[Any]:
        return self.fields or ()


class OperatorAdmin(Guarded, ModelAdmin):
    """A table of the admin. `add_act` stands behind the Add button, or a page of its own: `add_page`, its permission
    and its view's name. `row_acts` stand behind the buttons of a row."""

    add_act: ClassVar[Act | None] = None
    add_page: ClassVar[tuple[str, str] | None] = None
    row_acts: ClassVar[Sequence[Act]] = ()
    list_per_page = 50
    list_filter_submit = False
    show_full_result_count = False
    actions = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for act in cls.row_acts:
            setattr(cls, f"act_{act.name}", _method(act))
        cls.actions_detail = [f"act_{act.name}" for act in cls.row_acts]

    def __init__(self, model: type[Model], admin_site: AdminSite) -> None:
        super().__init__(model, admin_site)
        _names_translated(model)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        if self.add_page is not None:
            return inside(request).actor.may(self.add_page[0])
        return self.add_act is not None and inside(request).actor.may(self.add_act.permission)

    def get_actions_detail(self, request: HttpRequest, object_id: str) -> list[Any]:
        """The acts that the actor may do and that the row's state allows for."""
        row = self.get_object(request, unquote(str(object_id)))
        open_names = {
            self.get_unfold_action(f"act_{act.name}").action_name
            for act in self.row_acts
            if row is not None and inside(request).actor.may(act.permission) and act.applies(row)
        }
        return [item for item in self._get_base_actions_detail() if item.action_name in open_names]

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


def _method(act: Act) -> Callable[..., HttpResponse]:
    """The view of a row's act, with what the admin's buttons want to know of it."""

    def run(self: OperatorAdmin, request: HttpRequest, object_id: str) -> HttpResponse:
        return self.act_view(request, act, object_id)

    run.short_description = act.label  # type: ignore[attr-defined]
    # Never the address of a page that the admin has itself, such as `change`.
    run.url_path = f"do-{act.name}".replace("_", "-")  # type: ignore[attr-defined]
    run.icon = act.icon  # type: ignore[attr-defined]
    run.variant = ActionVariant.DANGER if act.is_danger else ActionVariant.DEFAULT  # type: ignore[attr-defined]
    run.attrs = {"data-test": f"act-{act.name}"}  # type: ignore[attr-defined]
    return run
