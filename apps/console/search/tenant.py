"""What somebody finds within a tenant: what each list of it shows to the same reader, and nothing else."""

from collections.abc import Iterator

from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from apps.assets.selectors import asset_list
from apps.billing.selectors.bills import bill_list
from apps.catalog.selectors.commodities import commodity_list
from apps.console.search.types import Found, Hit
from apps.kernel.actor import Actor
from apps.kernel.words import having
from apps.orders.selectors import form_list, order_list
from apps.orgs.selectors.people import person_list
from apps.scheduling.selectors.workloads import workload_list
from apps.storage.selectors import volume_list
from apps.tenancy.models import Tenant
from apps.tickets.selectors import ticket_list

MOST = 5


def found_in_tenant(actor: Actor, tenant: Tenant, words: list[str]) -> list[Found]:
    """Records of every kind that the actor's role and data permission reach."""
    return [group for group in _kinds(actor, tenant, words) if group.hits]


def _kinds(actor: Actor, tenant: Tenant, words: list[str]) -> Iterator[Found]:
    if actor.may("resources.view"):
        yield Found("work", _("My resources"), _work(actor, tenant, words))
    if actor.may("orders.view"):
        yield Found("form", _("My applications"), _forms(actor, words))
        yield Found("order", _("My orders"), _orders(actor, words))
    if actor.may("orders.view") or actor.may("tickets.open") or actor.may("tickets.work"):
        yield Found("ticket", _("My tickets"), _tickets(actor, words))
    if actor.may("catalog.view"):
        yield Found("commodity", _("Catalogue"), _commodities(tenant, words))
    if actor.may("storage.view"):
        yield Found("volume", _("My files"), _volumes(actor, words))
        yield Found("asset", _("My assets"), _assets(actor, words))
    if actor.may("orgs.view"):
        yield Found("person", _("People"), _people(actor, words))
    if actor.may("billing.view"):
        yield Found("bill", _("Bills"), _bills(actor, words))


def _work(actor: Actor, tenant: Tenant, words: list[str]) -> list[Hit]:
    rows = workload_list(tenant, actor=actor).filter(having(words, "no", "name_zh", "name_en"))
    return [
        Hit(
            f"{row.no} {row.name}",
            reverse("workloads:workload", args=[row.uid]),
            "cpu",
            row.get_state_display(),
        )
        for row in rows.prefetch_related(None)[:MOST]
    ]


def _forms(actor: Actor, words: list[str]) -> list[Hit]:
    rows = form_list(actor=actor).filter(having(words, "no", "applicant_name"))[:MOST]
    return [
        Hit(f"{row.no} {row.get_kind_display()}", reverse("orders:form", args=[row.uid]), "file-text",
            row.get_state_display())
        for row in rows
    ]  # fmt: skip


def _orders(actor: Actor, words: list[str]) -> list[Hit]:
    rows = order_list(actor=actor).filter(having(words, "no", "commodity_name_zh", "commodity_name_en"))
    return [
        Hit(f"{row.no} {row.commodity_name}", reverse("orders:order", args=[row.uid]), "package",
            row.get_state_display())
        for row in rows[:MOST]
    ]  # fmt: skip


def _tickets(actor: Actor, words: list[str]) -> list[Hit]:
    rows = ticket_list(actor=actor).filter(having(words, "no", "title_zh", "title_en"))[:MOST]
    return [
        Hit(
            f"{row.no} {row.title}",
            reverse("tickets:ticket", args=[row.uid]),
            "tool",
            row.get_state_display(),
        )
        for row in rows
    ]


def _commodities(tenant: Tenant, words: list[str]) -> list[Hit]:
    rows = commodity_list(tenant=tenant).filter(having(words, "number", "name_zh", "name_en"))[:MOST]
    return [
        Hit(row.name, reverse("catalog:commodity", args=[row.uid]), "building-store", row.number)
        for row in rows
    ]


def _volumes(actor: Actor, words: list[str]) -> list[Hit]:
    rows = volume_list(actor=actor).filter(having(words, "name"))[:MOST]
    return [Hit(row.name, reverse("files:volume", args=[row.uid]), "folder") for row in rows]


def _assets(actor: Actor, words: list[str]) -> list[Hit]:
    rows = asset_list(actor=actor).filter(having(words, "name", "introduction"))[:MOST]
    return [
        Hit(row.name, reverse("assets:asset", args=[row.uid]), "database", row.get_kind_display())
        for row in rows
    ]


def _people(actor: Actor, words: list[str]) -> list[Hit]:
    rows = person_list(actor=actor).filter(having(words, "user__username", "user__display_name"))
    return [
        Hit(row.user.display_name, reverse("people:person", args=[row.user.uid]), "users", row.user.username)
        for row in rows.select_related("user")[:MOST]
    ]


def _bills(actor: Actor, words: list[str]) -> list[Hit]:
    rows = bill_list(actor=actor).filter(having(words, "no"))[:MOST]
    return [
        Hit(row.no, reverse("billing:bill", args=[row.uid]), "receipt", row.get_state_display())
        for row in rows
    ]
