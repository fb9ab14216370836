"""Every route is guarded on purpose: it says its plane and its permission, or why it needs none."""

import importlib

import pytest
from django.urls import URLPattern, URLResolver

from apps.identity.api.base import ApiView

OPEN = {
    "sign_in": "signing in is how one gets in",
    "sign_out": "ends the caller's own token",
    "me": "tells the caller about himself",
    "tokens": "the caller's own tokens",
    "token": "the caller's own token",
}


def routes(module):
    def walk(patterns, prefix=""):
        for pattern in patterns:
            if isinstance(pattern, URLResolver):
                yield from walk(pattern.url_patterns, prefix + str(pattern.pattern))
            elif isinstance(pattern, URLPattern):
                yield prefix + str(pattern.pattern), pattern

    return list(walk(importlib.import_module(module).urlpatterns))


API = [(path, pattern) for path, pattern in routes("portal.urls_api") if path.startswith("api/v1/")]


@pytest.mark.parametrize(("path", "pattern"), API, ids=[path for path, _ in API])
def test_api_routes_stand_on_the_one_base_and_say_what_they_demand(path, pattern):
    view = pattern.callback.view_class
    assert issubclass(view, ApiView)
    assert view.plane in {"tenant", "provider", "both"}
    assert view.permission or pattern.name in OPEN or getattr(view, "open_because", ""), (
        f"{path}: name a permission, or say in `open_because` why none is needed"
    )


def test_exemptions_are_still_needed():
    names = {pattern.name for _path, pattern in API}
    assert set(OPEN) <= names


SPENDS_OR_ALLOCATES = {
    "coupon-activities/<uuid:uid>/claim",
    "bills",
    "bills/<uuid:uid>/confirm",
    "bills/<uuid:uid>/pay",
    "tenants",
    "tenants/<slug:schema>/deposit",
    "tasks/<uuid:uid>/decide",
    "cart",
    "application-forms",
    "application-forms/<uuid:uid>/submit",
    "orders/<uuid:uid>/terminate",
    "tickets/<uuid:uid>/execute",
}
GIVES_A_SECRET = {"auth/login", "tokens", "agent-tokens"}


def test_what_spends_or_allocates_takes_an_idempotency_key_and_what_gives_a_secret_keeps_no_answer():
    posts = {
        path.removeprefix("api/v1/"): pattern.callback.view_class.idempotent
        for path, pattern in API
        if hasattr(pattern.callback.view_class, "post")
    }
    assert {path for path in SPENDS_OR_ALLOCATES if not posts[path]} == set()
    assert {path for path in GIVES_A_SECRET if posts[path]} == set()
