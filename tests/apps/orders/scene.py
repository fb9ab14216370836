"""The way of one order in acme, step by step: people of both sides, a commodity, quota, an account."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import uuid4

from apps.approvals.models import HumanTask
from apps.approvals.services import task_decide
from apps.billing.models import Charge
from apps.catalog.models import Commodity
from apps.catalog.selectors.commodities import commodity_get
from apps.catalog.services.processes import process_template_import
from apps.kernel.actor import SYSTEM
from apps.orders.models import ApplicationForm, Order
from apps.orders.services.deliveries import order_deliver
from apps.orders.services.drafts import form_draft
from apps.orders.services.submissions import form_submit
from apps.orders.types import LineInput
from apps.scheduling.models import Workload
from apps.scheduling.selectors.workloads import quota_get
from apps.scheduling.services.queues.queue_settings import queue_ensure
from apps.scheduling.services.quota.quotas import quota_set
from apps.scheduling.services.workloads.slice_reports import slice_ended
from apps.tenancy.models import Tenant
from tests.apps.catalog.market import AMOUNTS, DEFINITIONS, commodity_make
from tests.conftest import Person
from tests.harness.money import account_funded

TOTALS = {
    "instances": 4,
    "compute_percent": 200,
    "gpu_memory_mib": 81920,
    "host_cpu_milli": 64_000,
    "host_memory_mib": 512 * 1024,
}
HOUR_TOTAL = Decimal("7.16")


@dataclass
class Scene:
    """`ann` applies, `boss` and `manager` decide, `worker` delivers by hand."""

    tenant: Tenant
    ann: Person
    boss: Person
    manager: Person
    worker: Person
    commodity: Commodity

    def draft(self, count: int = 1, **changes: Any) -> ApplicationForm:
        line = LineInput(self.commodity.uid, dict(AMOUNTS), count)
        given = {"lines": [line], "duration_s": 3600, **changes}
        return form_draft(actor=self.ann.actor, **given)

    def submitted(self, count: int = 1, **changes: Any) -> ApplicationForm:
        return form_submit(actor=self.ann.actor, form_uid=self.draft(count, **changes).uid)

    def task(self, form: ApplicationForm) -> HumanTask:
        return HumanTask.objects.get(instance__subject_uid=form.uid, state="waiting")

    def decide(self, form: ApplicationForm, *decisions: str) -> ApplicationForm:
        """`boss` decides first, `manager` next."""
        for decision in decisions:
            task = self.task(form)
            person = self.manager if task.operator_roles else self.boss
            comment = "Not now" if decision == "refuse" else ""
            task_decide(actor=person.actor, task_uid=task.uid, decision=decision, comment=comment)
        form.refresh_from_db()
        return form

    def ordered(self, count: int = 1, **changes: Any) -> Order:
        form = self.decide(self.submitted(count, **changes), "approve", "approve")
        return form.orders.get()

    def delivered(self) -> Order:
        return order_deliver(actor=SYSTEM, order_uid=self.ordered().uid)

    def held(self, item: str = "instances") -> tuple[int, int]:
        """What is in process and used of a quota item."""
        figures = quota_get(self.tenant)[item]
        return figures.in_process, figures.used

    def charge(self, order: Order) -> Charge:
        return Charge.objects.of(self.tenant).get(order_uid=order.uid)


def scene_make(tenant: Tenant, member: Callable[..., Person], operator: Callable[..., Person]) -> Scene:
    schema = tenant.schema_name
    commodity_make()
    process = process_template_import(
        actor=SYSTEM, key="end", xml=(DEFINITIONS / "termination_approval.bpmn").read_bytes()
    )
    commodity = commodity_get(tenant=tenant, uid=Commodity.objects.get().uid)
    type(commodity.termination_app).objects.filter(pk=commodity.termination_app_id).update(
        process_template=process
    )
    account_funded(tenant)
    queue_ensure(actor=SYSTEM)
    for item, total in TOTALS.items():
        quota_set(actor=SYSTEM, tenant=tenant, item=item, total=total)
    return Scene(
        tenant,
        member(schema, "tenant_front_line", "ann"),
        member(schema, "tenant_decision_maker", "boss"),
        operator("operations_manager", schema=schema, username="manager"),
        operator("front_line", schema=schema, username="worker"),
        commodity,
    )


def workload_of(order: Order) -> Workload:
    return Workload.objects.across().get(order_uid=order.uid)


def runs_now(order: Order) -> None:
    """As if its slices ran: what the nodes report is the fleet's and the scheduler's own test."""
    Workload.objects.across().filter(order_uid=order.uid).update(state="running")


def ends_now(order: Order, at: Any, *, failed: bool = False, reason_code: str = "completed") -> None:
    """The last slice of the order's workload ends."""
    slice_ended(
        actor=SYSTEM,
        workload_uid=order.workload_uid,
        slice_uid=str(uuid4()),
        at=at,
        failed=failed,
        reason_code=reason_code,
        reason=reason_code,
    )
