"""A card that gives few sizes, from its node's report to the refusal that its user reads (ELA-105)."""

import pytest

from apps.fleet.models import Device
from apps.kernel.actor import SYSTEM
from apps.scheduling.errors import AmountsFixed, NoSuchSize
from apps.scheduling.models import Workload
from apps.scheduling.selectors.workloads import workload_reason
from apps.scheduling.services.cycle.cluster_cache import ClusterCache
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.scheduling.services.queues.queue_settings import queue_ensure
from apps.scheduling.services.workloads.resizing.resizing import workload_resize
from apps.scheduling.services.workloads.submission.submit import workload_request
from apps.scheduling.types import WorkloadRequest
from tests.apps.fleet.agent import device_report
from tests.apps.scheduling.pool import tenant_ready
from tests.apps.scheduling.working_node import WorkingNode

pytestmark = [pytest.mark.django_db, pytest.mark.req("ELA-105")]
SIZES = [
    {"compute_percent": 14, "memory_mib": 1000, "count": 7},
    {"compute_percent": 42, "memory_mib": 4000, "count": 2},
]


@pytest.fixture
def node(acme):
    tenant_ready(acme)
    queue_ensure(actor=SYSTEM)
    made = WorkingNode(devices=1, memory_mib=8192)
    made.devices = (device_report(slice_sizes=SIZES),)
    made.say()
    return made


def submit(tenant, percent, mib, **more):
    asked = WorkloadRequest(name="w", argv=("true",), compute_percent=percent, memory_mib=mib, **more)
    return workload_request(actor=SYSTEM, tenant=tenant, asked=asked)


def test_what_a_card_says_of_its_sizes_is_planned_by_and_nothing_else_is_billed(node, acme):
    rows = [submit(acme, 42, 4000) for _ in range(3)]
    cycle_run(actor=SYSTEM)
    for row in rows:
        row.refresh_from_db()
    assert [row.state for row in rows] == ["placed", "placed", "pending"]
    (part,) = rows[0].allocations.all()
    assert (part.compute_percent, part.memory_mib) == (42, 4000), (
        "what its node makes is what is held and billed"
    )
    assert workload_reason(rows[2])
    with pytest.raises(AmountsFixed, match="fixed sizes"):
        workload_resize(actor=SYSTEM, tenant=acme, workload_uid=rows[0].uid, compute_percent=14)


def test_another_share_is_refused_at_once_with_the_size_to_ask_for(node, acme):
    with pytest.raises(NoSuchSize, match="ask for 42 % with 4000 MiB"):
        submit(acme, 30, 1024)
    with pytest.raises(NoSuchSize, match="the largest is 42 % with 4000 MiB"):
        submit(acme, 50, 1024)
    assert not Workload.plain.exists()


def test_the_leader_hears_of_other_sizes(node):
    cache = ClusterCache()
    cache.begin()
    (device,) = Device.objects.all()
    Device.objects.filter(pk=device.pk).update(slice_sizes=SIZES[:1])
    cache.follow()
    assert [len(each.sizes) for each in cache.state.devices.values()] == [1]
