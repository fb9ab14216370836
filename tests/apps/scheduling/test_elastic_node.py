"""Elastic work on a node that speaks to the service: its worker count, what it is billed, all through messages."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from apps.billing.models import UsageRecord
from apps.billing.selectors.costs import workload_cost
from apps.billing.services.rating import usage_rate
from apps.fleet.models import Node, Slice, Watch
from apps.fleet.services.nodes.node_liveness import nodes_check
from apps.kernel.actor import SYSTEM
from apps.scheduling.models import WorkloadSize
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.scheduling.services.queues.queue_settings import direct_commodity_set, policy_set, queue_ensure
from apps.scheduling.services.quota.quotas import quota_set
from apps.scheduling.services.workload_control import workload_scale
from apps.scheduling.services.workloads.submission.submit import workload_request
from apps.scheduling.states import QuotaItem
from apps.scheduling.tasks import sizes_sweep
from apps.scheduling.types import WorkloadRequest
from tests.apps.catalog.market import commodity_make
from tests.apps.fleet.speaking import interval
from tests.apps.scheduling.working_node import WorkingNode
from tests.harness.money import account_ready


class ElasticNode(WorkingNode):
    """Its works are told their size, and confirm it when `confirms` says so."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.sizes, self.confirms = {}, True

    def hear(self, reply):
        self.sizes |= {wish.slice_uid: wish.size for wish in reply.desired if wish.size}
        super().hear(reply)

    def told(self, uid):
        size = self.sizes.get(uid)
        step = size.step if size and self.confirms else 0
        return super().told(uid).model_copy(update={"size_step": step})

    def workers(self):
        """How many shares the works of running slices believe that there are, each."""
        return [self.sizes[uid].shares for uid, state in self.runs.items() if state == "running"]

    def settle(self, row):
        """Everybody hears of everything, as hints and sweeps would have it."""
        for _round in range(3):
            self.turn()
            sizes_sweep()
        row.refresh_from_db()


@pytest.fixture
def node(db, acme):
    account_ready(acme)
    for item in QuotaItem.values:
        quota_set(actor=SYSTEM, tenant=acme, item=item, total=100_000)
    queue_ensure(actor=SYSTEM)
    policy_set(actor=SYSTEM, changes={"hysteresis_s": 0})
    return ElasticNode(devices=2)


@pytest.fixture
def submit(acme, member):
    owner = member("acme", "tenant_front_line").actor

    def make(**asked):
        given = {"name": "job", "argv": ("true",), "compute_percent": 20, "memory_mib": 512}
        return workload_request(actor=owner, tenant=acme, asked=WorkloadRequest(**(given | asked)))

    return make


def is_silent(node_name, for_s):
    """The checks have gone on all the while."""
    now = timezone.now()
    Watch.objects.update_or_create(
        is_only=True, defaults={"checked_at": now, "listening_since_at": now - timedelta(days=3)}
    )
    Node.objects.filter(name=node_name).update(last_seen_at=now - timedelta(seconds=for_s))
    nodes_check(actor=SYSTEM)
    Node.objects.filter(name=node_name).update(lost_at=now - timedelta(seconds=for_s))
    nodes_check(actor=SYSTEM)


def begin(row, ago_s):
    """All its shares that have not ended began so long ago, to the second."""
    at = datetime.now(UTC).replace(microsecond=0) - timedelta(seconds=ago_s)
    parts = Slice.plain.filter(workload_uid=row.uid, final_at=None)
    parts.update(started_at=at, created_at=at)
    return at


@pytest.mark.req("ELA-906")
def test_the_worker_count_in_the_work_equals_the_record(node, acme, submit):
    row = submit(shares=3, min_shares=1)
    cycle_run(actor=SYSTEM)
    node.settle(row)
    assert (row.active_shares, node.workers()) == (3, [3, 3, 3])
    workload_scale(actor=SYSTEM, tenant=acme, workload_uid=row.uid, shares=2)
    node.confirms = False
    node.settle(row)
    assert node.workers() == [2, 2, 2], "told, and not stopped before the work has confirmed"
    assert WorkloadSize.objects.get(workload=row).confirmed == 3
    node.confirms = True
    node.settle(row)
    assert (row.active_shares, node.workers()) == (2, [2, 2])
    assert WorkloadSize.objects.get(workload=row).confirmed == 2
    workload_scale(actor=SYSTEM, tenant=acme, workload_uid=row.uid, shares=3)
    cycle_run(actor=SYSTEM)
    node.settle(row)
    assert (row.active_shares, node.workers()) == (3, [3, 3, 3])
    assert sorted(node.sizes[uid].share for uid in node.runs if node.runs[uid] == "running") == [0, 1, 2]
    codes = list(row.decisions.filter(kind="scaled").values_list("code", flat=True))
    assert codes == ["owner", "confirmed", "plan", "confirmed"]


@pytest.mark.req("ELA-901", "ELA-906")
def test_work_goes_on_without_a_lost_node_and_returns_to_it(node, acme, submit):
    other = ElasticNode("n2")
    row = submit(shares=3, min_shares=1, compute_percent=60, requeue_on_loss=True)
    cycle_run(actor=SYSTEM)
    for each in (node, other, node):
        each.settle(row)
    assert (row.state, node.workers(), other.workers()) == ("running", [3, 3], [3])
    is_silent("n2", 60)
    node.settle(row)
    assert (row.state, row.active_shares, node.workers()) == ("running", 2, [2, 2])
    assert sorted(node.sizes[uid].share for uid in node.runs) == [0, 1]
    codes = list(row.decisions.filter(kind="scaled").values_list("code", flat=True))
    assert codes == ["lost", "confirmed"]
    other.settle(row)
    assert other.workers() == [], "what it still ran is stopped"
    cycle_run(actor=SYSTEM)
    for each in (other, node):
        each.settle(row)
    assert (row.active_shares, node.workers(), other.workers()) == (3, [3, 3], [3])
    assert row.attempt == 1


@pytest.mark.req("ELA-909")
@pytest.mark.parametrize("requeue_on_loss", [True, False])
def test_what_a_lost_share_says_of_itself_later_is_not_billed_beside_its_replacement(
    node, acme, submit, requeue_on_loss
):
    direct_commodity_set(actor=SYSTEM, commodity=commodity_make())
    other = ElasticNode("n2")
    row = submit(shares=3, min_shares=1, compute_percent=60, requeue_on_loss=requeue_on_loss)
    cycle_run(actor=SYSTEM)
    for each in (node, other, node):
        each.settle(row)
    at = begin(row, 280)
    lost = Slice.plain.get(workload_uid=row.uid, node__name="n2")
    other.say(usage=[interval(lost, 1, begin=at, seconds=60)])
    is_silent("n2", 2 * 24 * 3600)
    node.settle(row)
    assert (row.state, row.active_shares) == ("running", 2)
    other.say(usage=[interval(lost, 2, begin=at + timedelta(seconds=60), seconds=200)])
    while usage_rate(actor=SYSTEM):
        pass
    billed = UsageRecord.plain.filter(slice_uid=lost.uid)
    assert sum(billed.values_list("seconds", flat=True)) == 60


@pytest.mark.req("ELA-909", "ELA-1805")
def test_the_bill_equals_the_sum_of_size_times_time(node, acme, submit):
    """Three shares for 80 s, two for 80 s, three for 80 s, against one rigid share of 80 s."""
    direct_commodity_set(actor=SYSTEM, commodity=commodity_make())
    one, row = submit(), submit(shares=3, min_shares=1)
    cycle_run(actor=SYSTEM)
    node.settle(row)
    first_at = begin(row, 240)
    begin(one, 240)
    rigid = Slice.plain.get(workload_uid=one.uid)
    stays = {part.uid for part in Slice.plain.filter(workload_uid=row.uid)}
    workload_scale(actor=SYSTEM, tenant=acme, workload_uid=row.uid, shares=2)
    node.turn()
    leaver = Slice.plain.get(uid=next(uid for uid in stays if node.sizes[str(uid)].share == 2))
    node.say(usage=[interval(part, 1, begin=first_at, seconds=80) for part in (rigid, leaver)])
    node.settle(row)
    workload_scale(actor=SYSTEM, tenant=acme, workload_uid=row.uid, shares=3)
    cycle_run(actor=SYSTEM)
    node.settle(row)
    joined = Slice.plain.exclude(uid__in=stays).get(workload_uid=row.uid)
    Slice.plain.filter(pk=joined.pk).update(created_at=first_at, started_at=first_at + timedelta(seconds=160))
    kept = Slice.plain.filter(uid__in=stays - {leaver.uid})
    node.say(
        usage=[
            *(interval(part, 1, begin=first_at, seconds=240) for part in kept),
            interval(joined, 1, begin=first_at + timedelta(seconds=160), seconds=80),
        ]
    )
    while usage_rate(actor=SYSTEM):
        pass
    segments = UsageRecord.plain.filter(workload_uid=row.uid)
    assert sorted(segments.values_list("seconds", flat=True)) == [80, 80, 240, 240]
    share_80_s = workload_cost(tenant=acme, workload_uid=one.uid)
    assert share_80_s > 0
    size_times_time = 3 * 80 + 2 * 80 + 3 * 80
    assert workload_cost(tenant=acme, workload_uid=row.uid) * 80 == share_80_s * size_times_time
