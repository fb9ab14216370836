"""A pool for scheduling tests: nodes and devices as rows, work through the services."""

from uuid import uuid4

from django.utils import timezone

from apps.fleet.models import Device, Node
from apps.kernel.actor import SYSTEM
from apps.scheduling.services.queues.queue_settings import queue_ensure
from apps.scheduling.services.quota.quotas import quota_set
from apps.scheduling.services.workloads.submission.order_work import workload_submit
from apps.scheduling.states import QuotaItem
from apps.scheduling.types import Amounts, OrderedWork
from tests.harness.money import account_ready

WORK = {"argv": ["python", "-m", "node_agent.examples.train"], "env": {}}


def node_make(name="n1", devices=1, memory_mib=8192, **device):
    """A ready node with equal devices."""
    queue_ensure(actor=SYSTEM)
    node = Node.objects.create(uid=f"node-{name}", name=name, last_seen_at=timezone.now())
    for index in range(devices):
        Device.objects.create(
            uid=f"{name}-d{index}",
            node=node,
            index=index,
            vendor="cpu",
            model="CPU",
            memory_mib=memory_mib,
            reported_mib=memory_mib,
            **device,
        )
    return node


def submit(tenant, *, percent=50, mib=1024, shares=1, **more):
    """One workload of a new order."""
    order_uid = more.pop("order_uid", None) or uuid4()
    return workload_submit(
        actor=SYSTEM,
        tenant=tenant,
        order_uid=order_uid,
        order_no=f"O-{order_uid.hex[:6]}",
        name_en="Environment",
        name_zh="环境",
        ordered=OrderedWork(
            Amounts(shares, percent, mib),
            more.pop("work", WORK),
            **{name: more.pop(name) for name in ("queue", "vendor", "model") if name in more},
        ),
        **more,
    )


def tenant_ready(tenant):
    """The tenant with an account and room in its quota."""
    account_ready(tenant)
    for item in QuotaItem.values:
        quota_set(actor=SYSTEM, tenant=tenant, item=item, total=100_000)
    return tenant
