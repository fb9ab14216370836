"""What every page stands on: who may open it, whole or in part, and where it goes on to."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any
from urllib.parse import urlsplit

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render, resolve_url
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme, urlencode
from django.utils.translation import gettext as _

from apps.identity.pages.requests import PortalRequest
from apps.kernel.errors import Forbidden, InvalidInput, NotFound, WeirError

View = Callable[..., HttpResponseBase]
LOGIN = "/login/"
ROLE_SESSION_KEY = "weir_role"
ROWS_PER_PAGE = 20


def page(permission: str = "", *, changes: str = "", plane: str = "tenant") -> Callable[[View], View]:
    """Make a view a page for signed-in people whose active role holds `permission`.

    What is sent to it, not only asked of it, demands `changes` too, before anything that was sent is read: who may look
    alone is told that, not what is wrong with his input. Who is not signed in is sent to sign in and back. `plane`
    "tenant": a tenant must be entered. Times are shown in the zone of that tenant, else in the centre's
    (`portal.middleware.centre_defaults`).
    """

    def decorate(view: View) -> View:
        @wraps(view)
        def run(request: PortalRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if not request.actor.is_user:
                return go(request, f"{LOGIN}?{urlencode({'next': _whole_path(request)})}")
            if plane == "tenant" and request.entered_tenant is None:
                raise NotFound()
            for needed in _needed(request, permission, changes):
                request.actor.require(needed)
            with _refused_as_labelled():
                if request.entered_tenant is None:
                    return view(request, *args, **kwargs)
                with timezone.override(request.entered_tenant.timezone):
                    return view(request, *args, **kwargs)

        return run

    return decorate


# The forms that the present page has read.
_forms: ContextVar[list[Any]] = ContextVar("forms")


@contextmanager
def _refused_as_labelled() -> Iterator[None]:
    """What a service refuses is called as the form calls it that the page has read, not as the API does."""
    forms: list[Any] = []
    token = _forms.set(forms)
    try:
        yield
    except WeirError as error:
        for form in forms:
            _relabel(error, form)
        raise
    finally:
        _forms.reset(token)


def _relabel(error: WeirError, form: Any) -> None:
    found = [(_label(form, input_) or name, text, input_) for name, text, input_ in error.rows]
    error.fields = {name: text for name, text, _input in found}
    error.inputs = {name: input_ for name, _text, input_ in found}


def _label(form: Any, name: str) -> str:
    return _spoken_label(form.fields[name]) if name in form.fields else ""


def _spoken_label(field: Any) -> str:
    """What a refusal calls a field: its `told_label` where several of a form have the same label."""
    return str(getattr(field, "told_label", "") or field.label or "")


def _needed(request: PortalRequest, permission: str, changes: str) -> list[str]:
    is_read = request.method in ("GET", "HEAD", "OPTIONS")
    return [needed for needed in (permission, "" if is_read else changes) if needed]


def operator_page(*permissions: str, changes: str = "") -> Callable[[View], View]:
    """A page for operators whose active role holds one of `permissions`: a tenant's people are refused (PLAT-GEN-11).
    `changes`: as of `page`."""

    def decorate(view: View) -> View:
        @page(plane="provider")
        @wraps(view)
        def run(request: PortalRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if request.actor.kind != "operator":
                raise Forbidden(_("This is for operators."))
            request.actor.require_any(*permissions)
            for needed in _needed(request, "", changes):
                request.actor.require(needed)
            return view(request, *args, **kwargs)

        return run

    return decorate


def _whole_path(request: PortalRequest) -> str:
    """Where to come back to: a part of a page comes back to the page it is part of, what was sent to where it was
    typed."""
    if request.htmx:
        return request.htmx.current_url_abs_path or "/"
    if request.method in ("GET", "HEAD"):
        return request.get_full_path()
    typed_on = urlsplit(request.headers.get("Referer", ""))
    return typed_on.path if typed_on.netloc == request.get_host() else "/"


def show(request: PortalRequest, name: str, context: dict[str, Any], *, status: int = 200) -> HttpResponse:
    """Render `<app>/<page>.html`, or for HTMX its part `<app>/_<page>.html`, which the page includes."""
    # Going back, HTMX asks for the whole page again.
    if request.htmx and not request.htmx.history_restore_request:
        folder, _slash, leaf = name.rpartition("/")
        name = f"{folder}/_{leaf}"
    response = render(request, f"{name}.html", context, status=status)
    response.headers["Vary"] = "HX-Request"
    # A part must not be shown in place of its page when the reader goes back.
    response.headers["Cache-Control"] = "no-store"
    return response


def go(request: PortalRequest, to: Any, *args: Any, **kwargs: Any) -> HttpResponse:
    """Go on to another page after something was done."""
    url = resolve_url(to, *args, **kwargs)
    return HttpResponse(headers={"HX-Redirect": url}) if request.htmx else redirect(url)


def next_url(request: PortalRequest, otherwise: str = "/") -> str:
    """The `next` asked for when it stays on this host, else `otherwise`."""
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    is_ours = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure())
    return wanted if wanted and is_ours else otherwise


def paged(request: PortalRequest, rows: QuerySet[Any] | Sequence[Any], per_page: int = ROWS_PER_PAGE) -> Page:
    """The page of `rows` that the query's `page` names; the nearest one when it names none."""
    return Paginator(rows, per_page).get_page(request.GET.get("page"))


def filter_query(chosen: dict[str, Any]) -> str:
    """What a list is narrowed by, to be put behind another query: `&search=…`, or nothing."""
    query = urlencode({name: value for name, value in chosen.items() if value})
    return f"&{query}" if query else ""


def cleaned(form: Any) -> dict[str, Any]:
    """The cleaned values of a form; InvalidInput naming each field otherwise."""
    if (forms := _forms.get(None)) is not None:
        forms.append(form)
    if form.is_valid():
        return form.cleaned_data
    names = {name: _spoken_label(field) or name for name, field in form.fields.items()}
    fields = {names.get(name, name): " ".join(texts) for name, texts in form.errors.items()}
    inputs = {names[name]: form.add_prefix(name) for name in form.errors if name in names}
    raise InvalidInput(_("The input is not valid."), fields=fields, inputs=inputs)
