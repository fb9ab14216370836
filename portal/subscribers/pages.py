"""What open pages are told, so that they show it without being loaded again."""

from collections.abc import Callable
from typing import Any

from apps.billing.events import BalanceChanged, BillConfirmed, BillMade, BillPaid, UsageRated
from apps.cases.events import CaseChanged
from apps.fleet import events as fleet
from apps.kernel.actor import Actor
from apps.notices.push import push, push_many
from apps.scheduling.events import WorkloadChanged, WorkloadsChanged, WorkloadsSubmitted

Money = UsageRated | BillMade | BillConfirmed | BillPaid | BalanceChanged


def workload(event: WorkloadChanged, actor: Actor) -> None:
    push(f"workload.{event.workload_uid}")
    push(f"tenant.{event.schema}.resources")
    push("pool")


def workloads(event: WorkloadsChanged, actor: Actor) -> None:
    schemas = {schema for schema, _uid in event.workloads}
    topics = [f"workload.{uid}" for _schema, uid in event.workloads]
    push_many([*topics, *(f"tenant.{schema}.resources" for schema in schemas), "pool"])


def submitted(event: WorkloadsSubmitted, actor: Actor) -> None:
    push_many([f"tenant.{event.schema}.resources", "pool"])


def money(event: Money, actor: Actor) -> None:
    push(f"tenant.{event.tenant}.billing")


def log_grew(event: fleet.LogGrew, actor: Actor) -> None:
    push(f"log.{event.workload_uid}")


def metrics_grew(event: fleet.MetricsGrew, actor: Actor) -> None:
    push(f"metrics.{event.workload_uid}")


def case(event: CaseChanged, actor: Actor) -> None:
    push("cases", "changed", kind=event.kind)


def topic(name: str) -> Callable[[Any, Actor], None]:
    """Tells the pages of one topic that something has changed."""
    return lambda event, actor: push(name)
