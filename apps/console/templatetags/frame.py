"""The frame of every page: its menu, and where in it the page stands."""

from typing import Any

from django import template
from django.template import Context

from apps.console.navigation.menu import Entry, Group, counts_within
from apps.console.navigation.selectors import navigation_for, place_in
from apps.kernel.counting import badge_text

register = template.Library()
register.filter("badge_text", badge_text)
# The groups that a reader has unfolded, by their codes: his own wish, kept by his browser.
MENU_COOKIE = "weir_menu"
_UNFOLDED = "home"


@register.simple_tag(takes_context=True)
def place_in_menu(context: Context) -> dict[str, Any]:
    """The reader's menu, and the group and the entry that the open page belongs to; none where it stands apart."""
    request = context["request"]
    groups = navigation_for(context["actor"], in_tenant=request.entered_tenant is not None)
    match = request.resolver_match
    found = place_in(groups, match.view_name if match else "", request.path)
    group, entry = found or (None, None)
    is_own_page = bool(entry and match and match.view_name == entry.view)
    return {"groups": groups, "group": group, "entry": entry, "is_own_page": is_own_page}


@register.simple_tag(takes_context=True)
def is_unfolded(context: Context, group: Group, here: dict[str, Any]) -> bool:
    """Whether a group of the menu stands open: the page's own always, others as the reader left them."""
    wanted = context["request"].COOKIES.get(MENU_COOKIE, _UNFOLDED).split(".")
    return group == here["group"] or group.code in wanted


@register.filter
def waiting_in(counts: dict[str, int], group: Group) -> int:
    """What waits on the pages of a group, to be said on its head."""
    return counts_within(group, counts)


@register.filter
def counted_at(counts: dict[str, int], entry: Entry) -> int:
    """The figure of an entry; 0 where nothing waits."""
    return counts.get(entry.counted, 0)
