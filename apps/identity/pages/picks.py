"""What a field offers in which rows are chosen (`apps.kernel.pick_list`): people here, and how any rows are shown."""

from collections.abc import Callable, Iterable

from django.http import HttpResponse
from django.shortcuts import render

from apps.identity.models import User
from apps.identity.pages.requests import PortalRequest
from apps.identity.selectors import people_matching
from apps.kernel.pick_list import Pick
from apps.tenancy.selectors import tenant_active_list

# So many are offered: who sees none of those meant types more of the name.
OFFERED = 20
_TEXT_MAX = 80


def picks_shown(request: PortalRequest, find: Callable[[list[str]], Iterable[Pick]]) -> HttpResponse:
    """The rows that have every word of `q`; `find` gives one more than are offered, where there are more."""
    text = request.GET.get("q", "")[:_TEXT_MAX].strip()
    rows = list(find(text.split()))
    context = {"rows": rows[:OFFERED], "has_more": len(rows) > OFFERED, "text": text}
    answer = render(request, "identity/_picks.html", context)
    answer.headers["Cache-Control"] = "no-store"
    return answer


def people_shown(request: PortalRequest) -> HttpResponse:
    """People who may sign in; with `tenant`, its schema, members of it alone, and nobody where there is none."""
    schema = request.GET.get("tenant", "")
    tenant = tenant_active_list().filter(schema_name=schema).first() if schema else None
    if schema and tenant is None:
        return picks_shown(request, lambda _words: [])
    return picks_shown(
        request,
        lambda words: people_picks(people_matching(words, tenant)[: OFFERED + 1], has_tenant=not schema),
    )


def people_picks(users: Iterable[User], *, has_tenant: bool = False) -> list[Pick]:
    """People as they are chosen: by login account, and with `has_tenant` by where they belong."""
    return [
        Pick(user.username, user.display_name or user.username, _note(user, has_tenant)) for user in users
    ]


def _note(user: User, has_tenant: bool) -> str:
    tenants = [each.tenant.name for each in user.memberships.all()] if has_tenant else []
    return " · ".join([user.username, *tenants])
