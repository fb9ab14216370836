"""Which tour somebody is offered, and where in it a page is."""

from django.urls import reverse

from apps.console.navigation.selectors import navigation_for
from apps.console.tours.stops import PROVIDER_TOURS, TENANT_TOURS, Stop
from apps.kernel.actor import Actor

# More than this is no tour but a manual.
_LONGEST = 8


def stops_for(actor: Actor) -> list[Stop]:
    """The tour of the actor's role, its pages as far as he may open them, in order.

    A role that the centre or the tenant made itself gets what the built-in roles' tours say of its pages. Operators
    inside a tenant are visitors and get none.
    """
    is_tenant = bool(actor.tenant)
    if not actor.is_user or not actor.role or (is_tenant and actor.kind != "user"):
        return []
    groups = navigation_for(actor, in_tenant=is_tenant)
    open_views = {entry.view for group in groups for entry in group.entries}
    tours = TENANT_TOURS if is_tenant else PROVIDER_TOURS
    chosen = tours.get(actor.role) or [stop for tour in tours.values() for stop in tour]
    by_view = {stop.view: stop for stop in reversed(chosen)}
    return [by_view.pop(stop.view) for stop in chosen if stop.view in open_views and stop.view in by_view][
        :_LONGEST
    ]


def stop_address(stops: list[Stop], number: int) -> str:
    """The page of a stop, the first being 1; empty where there is none."""
    return f"{reverse(stops[number - 1].view)}?tour={number}" if 0 < number <= len(stops) else ""
