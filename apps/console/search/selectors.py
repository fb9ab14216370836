"""One search over pages, acts and records: each kind within what the reader may see, the best of each."""

from collections.abc import Iterable

from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.utils.translation import override

from apps.console.navigation.selectors import navigation_for
from apps.console.search.acts import IN_TENANT, OPERATORS
from apps.console.search.operators import found_by_operator
from apps.console.search.tenant import found_in_tenant
from apps.console.search.types import Found, Hit
from apps.kernel.actor import Actor
from apps.tenancy.models import Tenant

SHORTEST = 2
_PAGES = 6


def found(actor: Actor, tenant: Tenant | None, text: str) -> list[Found]:
    """What `text` finds: pages and acts by their names in either language, and from two characters on records too.

    Without a text the acts, and the pages of the menu.
    """
    words = text.split()
    groups = [
        Found("act", _("Do"), _acts(actor, tenant, words)),
        Found("page", _("Pages"), _pages(actor, tenant, words)),
    ]
    if len(text) >= SHORTEST:
        records = found_in_tenant(actor, tenant, words) if tenant else found_by_operator(actor, words)
        groups = [*records, *groups] if _is_number(text) else [*groups, *records]
    return [group for group in groups if group.hits]


def _is_number(text: str) -> bool:
    """Whether records are looked for first: numbers of records have digits, names of pages none."""
    return any(map(str.isdigit, text))


def _acts(actor: Actor, tenant: Tenant | None, words: list[str]) -> list[Hit]:
    acts = [act for act in (IN_TENANT if tenant else OPERATORS) if act.is_open_to(actor)]
    hits = [Hit(act.label, reverse(act.view), act.icon) for act in acts if _is_called(act.label, words)]
    return hits[:_PAGES]


def _pages(actor: Actor, tenant: Tenant | None, words: list[str]) -> list[Hit]:
    groups = navigation_for(actor, in_tenant=tenant is not None)
    entries = [(group, entry) for group in groups for entry in group.entries]
    hits = [
        Hit(entry.label, entry.url, entry.icon, group.label)
        for group, entry in entries
        if _is_called(entry.label, words) or (words and _is_called(group.label, words))
    ]
    return hits[:_PAGES] if words else hits


def _is_called(label: object, words: Iterable[str]) -> bool:
    """Whether a name has all words, in the reader's language or in English."""
    with override("en"):
        names = f"{label} ".casefold()
    names += str(label).casefold()
    return all(word.casefold() in names for word in words)
