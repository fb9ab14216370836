"""Every route is guarded on purpose: it says its plane and its permission, or why it needs none."""

import importlib
import re
from functools import cache
from pathlib import Path

import pytest
import yaml
from django.urls import URLPattern, URLResolver

from apps.identity.api.base import ApiView
from apps.kernel.planes import in_tenant
from apps.orgs.models import RoleBinding

OPEN = {
    "sign_in": "signing in is how one gets in",
    "sign_out": "ends the caller's own token",
    "me": "tells the caller about himself",
    "tokens": "the caller's own tokens",
    "token": "the caller's own token",
    "password_change": "the caller's own password",
}


# What somebody without a role opens: the sign-in and the probes, what is about himself, lists of what is asked of him
# (which are empty), the coupons that the centre offers to everybody, the help, and the menu and the search, of these
# alone.
OWN_PAGES = {
    "", "account/password/", "account/tokens/", "client/", "coupons/", "healthz", "help/", "help/api/",
    "help/whats-new/", "inbox/", "menu/counts/", "messages/", "messages/bell/", "password/forgotten/", "readyz",
    "search/", "tickets/",
}  # fmt: skip


def routes(module):
    def walk(patterns, prefix=""):
        for pattern in patterns:
            if isinstance(pattern, URLResolver):
                yield from walk(pattern.url_patterns, prefix + str(pattern.pattern))
            elif isinstance(pattern, URLPattern):
                yield prefix + str(pattern.pattern), pattern

    return list(walk(importlib.import_module(module).urlpatterns))


API = [(path, pattern) for path, pattern in routes("portal.urls_api") if path.startswith("api/v1/")]


@pytest.mark.req("PLAT-CMP-4", "PLAT-SEC-5")
@pytest.mark.parametrize(("path", "pattern"), API, ids=[path for path, _ in API])
def test_api_routes_stand_on_the_one_base_and_say_what_they_demand(path, pattern):
    view = pattern.callback.view_class
    assert issubclass(view, ApiView)
    assert view.plane in {"tenant", "provider", "both"}
    assert view.permission or pattern.name in OPEN or getattr(view, "open_because", ""), (
        f"{path}: name a permission, or say in `open_because` why none is needed"
    )


_FILLED = {"uuid": "00000000-0000-4000-8000-000000000000", "slug": "none", "str": "none", "int": "1"}


@pytest.mark.django_db
@pytest.mark.req("PLAT-SEC-3")
def test_who_holds_no_role_is_refused_by_every_address_that_demands_a_function(member):
    person = member("acme", "tenant_front_line")
    with in_tenant("acme"):
        RoleBinding.objects.all().delete()
    api = person.api()
    answers = {}
    for path, pattern in API:
        view = pattern.callback.view_class
        if view.permission:
            address = re.sub(r"<(\w+):\w+>", lambda found: _FILLED[found[1]], path)
            method = next(name for name in ("get", "post", "put", "patch", "delete") if hasattr(view, name))
            answers[path] = getattr(api, method)(f"/{address}").status_code
    assert len(answers) > 200
    assert {path: code for path, code in answers.items() if code != 403} == {}


@pytest.mark.django_db
@pytest.mark.req("PLAT-SEC-3")
def test_who_holds_no_role_opens_no_page_but_those_about_himself(member):
    person = member("acme", "tenant_front_line")
    with in_tenant("acme"):
        RoleBinding.objects.all().delete()
    browser, opened = person.page(), set()
    for path, _pattern in routes("portal.urls_tenant"):
        address = re.sub(r"<(\w+):\w+>", lambda found: _FILLED[found[1]], path)
        if (
            not path.startswith("api/")
            and "(?P" not in address
            and browser.get(f"/{address}").status_code == 200
        ):
            opened.add(path)
    assert opened == OWN_PAGES


def test_exemptions_are_still_needed():
    names = {pattern.name for _path, pattern in API}
    assert set(OPEN) <= names


POSTS = {
    path.removeprefix("api/v1/"): pattern.callback.view_class
    for path, pattern in API
    if hasattr(pattern.callback.view_class, "post")
}
# What takes no idempotency key, each with its reason beside the view.
NO_KEY = {
    "setup",
    "auth/login",
    "auth/password/forgotten",
    "auth/password/reset",
    "invitations/accept",
    "quotes",
    "workloads/dry-run",
    "queue-file/plan",
    "conformance/verify",
    "centers/<str:ai_center_id>/sample",
    "placements/try",
    "volumes/<uuid:uid>/uploads",
    "volumes/<uuid:uid>/bundle",
    "volumes/<uuid:uid>/bundle/read",
}
SHOWS_SECRET = {
    "tenants",
    "tokens",
    "agent-tokens",
    "people",
    "people/import",
    "operators/import",
    "people/<uuid:uid>/reset-password",
    "invitations",
    "operators",
    "operators/<uuid:uid>/reset-password",
    "access-keys",
    "workloads/<uuid:uid>/web",
    "workloads/<uuid:uid>/exec",
    "workloads/<uuid:uid>/port-forward",
    "workloads/<uuid:uid>/service-keys",
}


def test_every_post_takes_an_idempotency_key_or_says_why_not():
    assert len(POSTS) > 80
    assert {path for path, view in POSTS.items() if view.no_key_because} == NO_KEY
    assert all(view.dispatch is ApiView.dispatch for view in POSTS.values()), (
        "the key is looked at in one place"
    )


def test_an_answer_that_holds_a_secret_is_not_kept():
    assert {path for path, view in POSTS.items() if view.shows_secret} == SHOWS_SECRET


@pytest.mark.parametrize("path", sorted(POSTS))
def test_a_described_secret_is_never_kept(path):
    """By what the API says of itself: an answer with a field that is shown once."""
    schema = _answer_of(path)
    assert not schema or POSTS[path].shows_secret or POSTS[path].no_key_because, path


@cache
def _described():
    path = Path(__file__).resolve().parents[2] / "docs" / "openapi.yaml"
    return yaml.load(path.read_text(), yaml.CSafeLoader)


def _answer_of(path):
    """The fields of a POST's answer that are shown once, as docs/openapi.yaml describes them."""
    found = _described()["paths"]["/api/v1/" + re.sub(r"<\w+:(\w+)>", r"{\1}", path).replace("{pk}", "{id}")][
        "post"
    ]["responses"]
    texts = [
        name
        for answer in found.values()
        for media in answer.get("content", {}).values()
        for name, field in _fields(media["schema"])
        if "shown once" in str(field.get("description", "")).lower()
    ]
    return texts


def _fields(schema):
    name = schema.get("$ref", "").rpartition("/")[2]
    return list(_described()["components"]["schemas"][name].get("properties", {}).items()) if name else []
