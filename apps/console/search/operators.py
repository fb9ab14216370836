"""What an operator finds, over all tenants."""

from collections.abc import Iterator

from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from apps.billing.selectors.bills import bill_list
from apps.cases.selectors import case_matches
from apps.console.operations.selectors import state_label
from apps.console.search.types import Found, Hit
from apps.fleet.selectors import device_list, node_list
from apps.identity.selectors import operator_list, tenants_people_list
from apps.kernel.actor import Actor
from apps.kernel.words import having
from apps.scheduling.addresses import work_page
from apps.scheduling.selectors.workloads import queue_list, workloads_matching
from apps.tenancy.selectors import tenant_list

MOST = 5


def found_by_operator(actor: Actor, words: list[str]) -> list[Found]:
    """Records of every kind that the actor's role may see."""
    if actor.kind != "operator":
        return []
    return [group for group in _kinds(actor, words) if group.hits]


def _kinds(actor: Actor, words: list[str]) -> Iterator[Found]:
    if actor.may("cases.view"):
        yield Found("case", _("Applications, orders, tickets"), _cases(actor, words))
    if actor.may("resources.view"):
        yield Found("work", _("Workloads"), _work(words))
    if actor.may("scheduling.view"):
        yield Found("queue", _("Queues"), _queues(words))
    if actor.may("fleet.view"):
        yield Found("node", _("Nodes"), _nodes(words))
        yield Found("device", _("Devices"), _devices(words))
    if actor.may("tenancy.view"):
        yield Found("tenant", _("Tenants"), _tenants(words))
    if actor.may("identity.view"):
        yield Found("person", _("People"), _people(actor, words))
    if actor.may("billing.view"):
        yield Found("bill", _("Bills"), _bills(actor, words))


def _cases(actor: Actor, words: list[str]) -> list[Hit]:
    return [
        Hit(f"{row.no} {row.title}", row.operator_link, "folders",
            f"{row.tenant.name} · {state_label(row.kind, row.state)}")
        for row in case_matches(actor=actor, words=words)[:MOST]
    ]  # fmt: skip


def _work(words: list[str]) -> list[Hit]:
    rows = workloads_matching(words).select_related("tenant")[:MOST]
    return [
        Hit(
            f"{row.no} {row.name}",
            work_page(row),
            "stack-2",
            f"{row.tenant.name} · {row.get_state_display()}",
        )
        for row in rows
    ]


def _queues(words: list[str]) -> list[Hit]:
    rows = queue_list().filter(having(words, "code", "name_zh", "name_en"))[:MOST]
    return [Hit(str(row), reverse("scheduling_admin:queue", args=[row.code]), "list-tree") for row in rows]


def _nodes(words: list[str]) -> list[Hit]:
    rows = node_list().filter(having(words, "name", "address", "uid")).prefetch_related(None)[:MOST]
    return [
        Hit(row.name, reverse("fleet:node", args=[row.uid]), "server", row.get_state_display())
        for row in rows
    ]


def _devices(words: list[str]) -> list[Hit]:
    rows = device_list().filter(having(words, "uid", "model", "vendor", "node__name"))[:MOST]
    return [
        Hit(
            f"{row.node.name} #{row.index}",
            reverse("fleet:device", args=[row.uid]),
            "cpu",
            f"{row.model} · {row.get_health_display()}",
        )
        for row in rows
    ]


def _tenants(words: list[str]) -> list[Hit]:
    rows = tenant_list().filter(having(words, "name", "schema_name"))[:MOST]
    return [
        Hit(row.name, reverse("operator:tenant", args=[row.schema_name]), "building", row.schema_name)
        for row in rows
    ]


def _people(actor: Actor, words: list[str]) -> list[Hit]:
    wanted: Q = having(words, "username", "display_name", "email")
    operators = operator_list(actor=actor).filter(wanted)[:MOST]
    hits = [
        Hit(row.display_name, reverse("operators:operator", args=[row.uid]), "users", row.username)
        for row in operators
    ]
    others = tenants_people_list(actor=actor).filter(wanted)[: MOST - len(hits)]
    return hits + [
        Hit(row.display_name, reverse("admin:identity_user_change", args=[row.pk]), "users", row.username)
        for row in others
    ]


def _bills(actor: Actor, words: list[str]) -> list[Hit]:
    rows = bill_list(actor=actor).filter(having(words, "no"))[:MOST]
    return [
        Hit(
            row.no,
            reverse("operator:bill", args=[row.uid]),
            "receipt",
            f"{row.tenant.name} · {row.get_state_display()}",
        )
        for row in rows
    ]
