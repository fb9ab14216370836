"""What a tenant gives up of a running share is his again, and anybody's, when its node has taken it away."""

import pytest

from apps.fleet.models import Device, Slice
from apps.kernel.actor import SYSTEM
from apps.scheduling.selectors.workloads import quota_get
from apps.scheduling.services.cycle.cluster_cache import ClusterCache
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.scheduling.services.queues.queue_settings import queue_ensure
from apps.scheduling.services.quota.quotas import quota_defaults, quota_set
from tests.apps.fleet.agent import Agent, report
from tests.harness.money import account_ready

API = "/api/v1/workloads"
WORK = {"name": "train", "argv": ["python", "-c", "1"], "compute_percent": 60, "memory_mib": 1024}

pytestmark = pytest.mark.req("POOL-12.2", "POOL-12.6")


@pytest.fixture
def alice(db, acme, member):
    quota_defaults(actor=SYSTEM, tenant=acme)
    account_ready(acme)
    queue_ensure(actor=SYSTEM)
    return member("acme", "tenant_front_line").api()


def running(api, node, **more):
    """A running work of one share, and its slice."""
    found = api.post(API, {**WORK, **more}, format="json").json()
    cycle_run(actor=SYSTEM)
    row = Slice.plain.get(workload_uid=found["uid"])
    node.sync()
    node.sync(slices=[report(row, compute_percent=row.compute_percent, memory_mib=row.memory_mib)])
    return f"{API}/{found['uid']}", row


def used(tenant):
    found = quota_get(tenant)
    return found["compute_percent"].used, found["gpu_memory_mib"].used


def held():
    device = Device.objects.get()
    return device.held_percent, device.held_mib


def test_quota_and_device_are_free_when_the_node_has_shrunk_the_share(alice, acme):
    node = Agent()
    path, row = running(alice, node)
    quota_set(actor=SYSTEM, tenant=acme, item="compute_percent", total=60)
    shown = alice.post(f"{path}/resize", {"compute_percent": 10, "memory_mib": 64}, format="json").json()
    assert (shown["compute_percent"], shown["memory_mib"]) == (10, 64)
    assert used(acme) == held() == (60, 1024)
    refused = alice.post(API, {**WORK, "compute_percent": 50}, format="json").json()
    assert refused.get("error", {}).get("code") == "quota_exceeded" or refused["reason_code"]
    node.sync(slices=[report(row, generation=2, compute_percent=10, memory_mib=64)])
    assert used(acme) == held() == (10, 64)


def test_a_work_stopped_while_it_shrinks_leaves_nothing_held(alice, acme):
    node = Agent()
    path, row = running(alice, node)
    alice.post(f"{path}/resize", {"compute_percent": 10}, format="json")
    alice.post(f"{path}/stop", {"reason": "enough"}, format="json")
    node.sync(slices=[report(row, "exited", generation=3, compute_percent=60, memory_mib=1024)])
    assert used(acme) == held() == (0, 0)


def test_the_scheduler_sees_what_is_still_held_and_hears_when_it_is_not(alice):
    node = Agent()
    path, row = running(alice, node)
    cache = ClusterCache()
    cache.begin()

    def free_percent():
        cache.follow()
        (work,) = cache.running.values()
        return 100 - sum(grant.compute_percent for grant in work.grants)

    alice.post(f"{path}/resize", {"compute_percent": 10, "memory_mib": 64}, format="json")
    assert free_percent() == 40
    node.sync(slices=[report(row, generation=2, compute_percent=10, memory_mib=64)])
    assert free_percent() == 90
