"""The menu as one reader has it: which pages, which of them is open, and what waits on them."""

from collections.abc import Iterator
from typing import Any

from django.db.models import QuerySet

from apps.approvals.selectors import task_list
from apps.billing.selectors.bills import bill_list
from apps.billing.states import BillState
from apps.cases.permissions import INBOX, TICKETS
from apps.cases.selectors import case_inbox, case_tickets
from apps.console.navigation.menu import Entry, Group, open_groups, place_of
from apps.console.navigation.operators import OPERATORS
from apps.console.navigation.tenant import TENANT
from apps.console.operations.selectors import alarm_open_list, waiting_list
from apps.fleet.selectors import node_lost_list
from apps.kernel.actor import Actor
from apps.kernel.counting import badge_counts
from apps.orders.selectors import cart_list
from apps.scheduling.selectors.workloads import workload_list
from apps.scheduling.states import FINAL_STATES
from apps.tenancy.models import Tenant
from apps.tickets.selectors import ticket_list

HOMES = ("console:home", "operator:home")


def navigation_for(actor: Actor, *, in_tenant: bool) -> list[Group]:
    """The groups with at least one page that the actor may open, with those pages only."""
    return open_groups(TENANT if in_tenant else OPERATORS, actor)


def place_in(groups: list[Group], view: str, path: str) -> tuple[Group, Entry] | None:
    """The group and the entry of the menu that the page at `path` belongs to."""
    return place_of(groups, view, path, HOMES)


def menu_counts(actor: Actor, tenant: Tenant | None) -> dict[str, int]:
    """What waits, by the names that entries have in `counted`, as far as the actor may see it and a badge says it: one
    query.

    What is not waiting is not named.
    """
    counts = badge_counts(dict(_in_tenant(actor, tenant) if tenant else _on_operators_side(actor)))
    return {name: count for name, count in counts.items() if count}


def _in_tenant(actor: Actor, tenant: Tenant) -> Iterator[tuple[str, QuerySet[Any]]]:
    if actor.may("approvals.decide"):
        yield "approvals", task_list(actor=actor)
    if actor.may("resources.view"):
        yield "running", workload_list(tenant, actor=actor).exclude(state__in=FINAL_STATES)
    if actor.may("orders.apply"):
        yield "cart", cart_list(actor=actor)
    if actor.may("tickets.open") or actor.may("tickets.work"):
        yield "tickets", ticket_list(actor=actor, tab="todo")
    if actor.may("billing.view"):
        yield "bills", bill_list(actor=actor).filter(state__in=(BillState.MADE, BillState.CONFIRMED))


def _on_operators_side(actor: Actor) -> Iterator[tuple[str, QuerySet[Any]]]:
    if actor.kind != "operator":
        return
    if actor.may("alarms.view"):
        yield "alarms", alarm_open_list()
    if actor.may_any(*INBOX):
        yield "approvals", case_inbox(actor=actor)
    if actor.may_any(*TICKETS):
        yield "tickets", case_tickets(actor=actor, tab="todo")
    if actor.may("resources.view"):
        yield "waiting", waiting_list()
    if actor.may("fleet.view"):
        yield "nodes_lost", node_lost_list()


def menu_topics(actor: Actor, tenant: Tenant | None) -> list[str]:
    """What the menu hears of beside what is the reader's own: after these its figures may be others."""
    if tenant is not None:
        return []
    wanted: tuple[tuple[str, tuple[str, ...]], ...] = (
        ("alarms", ("alarms.view",)),
        ("cases", (*INBOX, *TICKETS)),
    )
    return [topic for topic, needed in wanted if actor.kind == "operator" and actor.may_any(*needed)]
