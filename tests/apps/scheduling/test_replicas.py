"""Work of replicas of several cards: asked for, priced, told, scaled, moved and shown as such (ELA-505)."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.billing.models import Charge
from apps.fleet.models import Device, GangSize
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import InvalidInput, QuotaExceeded
from apps.scheduling.engine.model.types import ElasticChange, Grant
from apps.scheduling.errors import GangTooLarge, NotMovable
from apps.scheduling.models import Allocation, ScalingRule, Workload, WorkloadSize
from apps.scheduling.selectors.queues.arrivals import mix_read
from apps.scheduling.selectors.workloads import quota_get
from apps.scheduling.services.cycle.apply_changes import workload_elastic
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.scheduling.services.queues.queue_settings import direct_commodity_set
from apps.scheduling.services.quota.quotas import quota_set
from apps.scheduling.services.scaling import scaling_rules_apply, work_rule_make
from apps.scheduling.services.workload_control import workload_scale
from apps.scheduling.services.workloads.bulk import workload_submit_many
from apps.scheduling.services.workloads.resizing.elastic_size import size_settle, sizes_prune
from apps.scheduling.services.workloads.resizing.session_moves import workload_migrate
from apps.scheduling.services.workloads.submission.submit import workload_request
from apps.scheduling.types import WorkloadRequest
from tests.apps.catalog.market import commodity_make
from tests.apps.scheduling.pool import node_make, tenant_ready
from tests.apps.scheduling.test_bulk import steer
from tests.apps.scheduling.test_elastic_size import confirm, last_code, leaves
from tests.apps.scheduling.test_shell import ends, parts, runs

pytestmark = pytest.mark.req("ELA-505")
CARDS = 4
ASKED = WorkloadRequest(
    name="train", argv=("true",), compute_percent=100, memory_mib=1000, replicas=2, shares_per_replica=CARDS
)
ELASTIC = replace(ASKED, replicas=3, min_replicas=1, preemptible=True)


@pytest.fixture
def acme_ready(db, acme):
    """Three nodes of four cards."""
    for name in ("n1", "n2", "n3"):
        node_make(name, devices=CARDS, memory_mib=1000)
    return tenant_ready(acme)


def ask(tenant, asked=ASKED, **more):
    return workload_request(actor=SYSTEM, tenant=tenant, asked=replace(asked, **more))


def started(tenant, asked=ASKED, **more):
    row = ask(tenant, asked, **more)
    cycle_run(actor=SYSTEM)
    runs(row)
    return row


def nodes(row):
    """By replica, the nodes of its shares."""
    held = Allocation.objects.filter(workload=row, state="active", is_beside=False).order_by("share")
    names = list(held.values_list("device__node__name", flat=True))
    return [set(names[at : at + CARDS]) for at in range(0, len(names), CARDS)]


def places(row):
    told = GangSize.objects.get(workload_uid=row.uid).places
    names = ("share", "shares", "step", "shares_per_replica")
    return sorted(tuple(place[name] for name in names) for place in told.values())


# --- asked for ---------------------------------------------------------------------------------------------------


@pytest.mark.req("ELA-501", "ELA-811")
def test_two_replicas_of_four_hold_eight_cards_a_node_for_each(acme_ready):
    direct_commodity_set(actor=SYSTEM, commodity=commodity_make())
    row = ask(acme_ready)
    assert (row.shares, row.shares_per_replica, row.replicas, row.current_replicas) == (8, 4, 2, 0)
    assert quota_get(acme_ready)["instances"].in_process == 8
    cycle_run(actor=SYSTEM)
    row.refresh_from_db()
    assert (row.state, row.current_replicas) == ("placed", 2)
    assert [len(found) for found in nodes(row)] == [1, 1]
    assert nodes(row)[0] != nodes(row)[1]
    figures = quota_get(acme_ready)
    assert (figures["instances"].used, figures["compute_percent"].used) == (8, 800)
    assert Charge.objects.of(acme_ready).get(workload_uid=row.uid).count == 8


def test_shares_and_replicas_are_two_ways_to_say_one_thing(acme_ready):
    assert ask(acme_ready, replicas=None, shares=8).replicas == 2
    assert ask(acme_ready, replicas=None).replicas == 1, "one, where nobody says how many"
    assert ask(acme_ready, shares=8).shares == 8
    elastic = ask(acme_ready, ELASTIC)
    assert (elastic.shares, elastic.min_shares, elastic.min_replicas) == (12, 4, 1)
    alone = ask(
        acme_ready, WorkloadRequest(name="one", argv=("true",), compute_percent=10, memory_mib=1, replicas=3)
    )
    assert (alone.shares, alone.shares_per_replica) == (3, 1)


@pytest.mark.req("ELA-507")
@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"shares_per_replica": 0}, "shares_per_replica"),
        ({"shares_per_replica": 513}, "shares_per_replica"),
        ({"replicas": 0}, "replicas"),
        ({"replicas": -1}, "replicas"),
        ({"replicas": 200}, "shares"),
        ({"shares": 9}, "replicas"),
        ({"replicas": None, "shares": 9}, "shares"),
        ({"min_replicas": 3}, "min_shares"),
        ({"min_shares": 3}, "min_shares"),
        ({"min_replicas": 1, "min_shares": 8}, "min_replicas"),
    ],
)
def test_what_contradicts_itself_is_refused_and_nothing_is_kept(acme_ready, more, field):
    with pytest.raises(InvalidInput) as refused:
        ask(acme_ready, **more)
    assert field in refused.value.fields
    assert not Workload.objects.of(acme_ready).exists()


@pytest.mark.req("ELA-507")
def test_a_replica_larger_than_any_node_is_refused_at_once(acme_ready):
    with pytest.raises(
        GangTooLarge, match="No single node has room for a replica of 5 shares; the best would take 4"
    ):
        ask(acme_ready, shares_per_replica=5)
    with pytest.raises(GangTooLarge, match="Only 3 of the 4 replicas of 4 shares would fit"):
        ask(acme_ready, replicas=4)
    with pytest.raises(InvalidInput, match="device"):
        ask(acme_ready, device=Device.objects.first().uid, distinct_devices=True)
    assert ask(acme_ready, shares=12, replicas=None, shares_per_replica=2).replicas == 6


@pytest.mark.req("ELA-507")
def test_the_quota_counts_cards_and_not_replicas(acme_ready):
    quota_set(actor=SYSTEM, tenant=acme_ready, item="instances", total=7)
    with pytest.raises(QuotaExceeded):
        ask(acme_ready)
    assert ask(acme_ready, replicas=1).shares == 4


def test_many_at_once_are_as_one_by_one(acme_ready):
    rows = workload_submit_many(
        actor=SYSTEM, tenant=acme_ready, asked=[replace(ASKED, name=f"j{n}", replicas=1) for n in range(3)]
    )
    cycle_run(actor=SYSTEM)
    assert sorted(name for row in rows for name in nodes(row)[0]) == ["n1", "n2", "n3"]


# --- told --------------------------------------------------------------------------------------------------------


@pytest.mark.req("ELA-906")
def test_rigid_work_of_replicas_is_told_its_places_and_forgotten_in_the_end(acme_ready):
    row = started(acme_ready)
    assert places(row) == [(share, 8, 1, 4) for share in range(8)]
    assert sizes_prune(actor=SYSTEM) == 0
    for part in parts(row):
        ends(part)
    row.refresh_from_db()
    assert row.state == "finished"
    assert sizes_prune(actor=SYSTEM) == 1


# --- scaled ------------------------------------------------------------------------------------------------------


@pytest.mark.req("ELA-809", "ELA-906")
def test_it_gives_up_a_whole_replica_for_more_important_work(acme_ready):
    row = started(acme_ready, ELASTIC)
    ask(acme_ready, ASKED, replicas=1, shares_per_replica=1, name="small", priority=5)
    cycle_run(actor=SYSTEM)
    row.refresh_from_db()
    assert (row.active_shares, row.current_replicas) == (8, 2)
    assert Allocation.objects.filter(workload=row, is_beside=True, state="active").count() == CARDS
    leaves(row)
    size_settle(actor=SYSTEM, workload_uid=row.uid)
    assert quota_get(acme_ready)["instances"].used == 8
    cycle_run(actor=SYSTEM)
    assert Workload.plain.get(name_en="small").state == "placed"


@pytest.mark.req("ELA-905")
def test_its_owner_scales_it_by_replicas(acme_ready):
    row = started(acme_ready, ELASTIC)
    with pytest.raises(InvalidInput, match="6 shares are no whole replicas of 4"):
        steer(workload_scale, row, shares=6)
    with pytest.raises(InvalidInput):
        steer(workload_scale, row)
    with pytest.raises(InvalidInput):
        steer(workload_scale, row, shares=4, replicas=2)
    assert steer(workload_scale, row, replicas=2).active_shares == 8
    assert steer(workload_scale, row, shares=4).current_replicas == 1


@pytest.mark.req("ELA-907")
def test_a_rule_moves_it_by_replicas_and_a_window_by_its_shares(acme_ready):
    row = started(acme_ready, ELASTIC)
    rule = {"by": "queue_depth", "low": 0, "high": 1, "cooldown_s": 0}
    work_rule_make(actor=SYSTEM, tenant=acme_ready, workload_uid=row.uid, given=rule)
    ask(acme_ready, replicas=1)
    scaling_rules_apply(actor=SYSTEM)
    row.refresh_from_db()
    assert (row.wanted_shares, row.active_shares) == (8, 8)
    ScalingRule.objects.all().delete()
    days = [(day, 0, 1440) for day in range(7)]
    window = {"by": "window", "shares": 6, "windows": days, "cooldown_s": 0}
    with pytest.raises(InvalidInput):
        work_rule_make(actor=SYSTEM, tenant=acme_ready, workload_uid=row.uid, given=window)
    ScalingRule.objects.create(workload=row, by="window", shares=6, windows=days, cooldown_s=0)
    scaling_rules_apply(actor=SYSTEM)
    row.refresh_from_db()
    assert row.active_shares == 4, "six shares are one whole replica"


@pytest.mark.req("ELA-706", "ELA-906")
def test_a_replica_that_cannot_start_leaves_with_all_that_grew_behind_it(acme_ready):
    """One grows to three; a card of the second refuses."""
    row = started(acme_ready, ELASTIC)
    confirm(row, 1)
    steer(workload_scale, row, replicas=1)
    confirm(row, 2)
    leaves(row)
    size_settle(actor=SYSTEM, workload_uid=row.uid)
    Workload.plain.filter(pk=row.pk).update(shares=12)
    held = set(row.allocations.filter(state="active").values_list("device__node_id", flat=True))
    free = Device.objects.exclude(node_id__in=held).select_related("node").order_by("pk")
    grants = tuple(Grant(each.uid, each.node.uid, 100, each.memory_mib) for each in free)
    workload_elastic(actor=SYSTEM, change=ElasticChange(str(row.uid), 11, grants[:7]))
    assert row.allocations.filter(state="active").count() == 4, "no part of a replica is taken in"
    workload_elastic(actor=SYSTEM, change=ElasticChange(str(row.uid), 12, grants))
    row.refresh_from_db()
    assert row.active_shares == 12
    ends(row.allocations.select_related("workload").get(state="active", share=5), code="refused", failed=True)
    row.refresh_from_db()
    assert (row.state, row.active_shares, row.current_replicas) == ("running", 4, 1)
    leaves(row)
    assert len(parts(row)) == 4
    assert quota_get(acme_ready)["instances"].used == 4
    confirm(row, WorkloadSize.objects.get(workload=row).step)
    assert (WorkloadSize.objects.get(workload=row).is_open, last_code(row)) == (False, "confirmed")


@pytest.mark.req("ELA-812", "ELA-811")
def test_what_is_preempted_or_lost_gives_up_all_of_every_replica(acme_ready):
    row = started(acme_ready, requeue_on_loss=True)
    ends(parts(row)[2], code="lost", failed=True, requeue=True)
    row.refresh_from_db()
    assert row.state == "stopping"
    for part in parts(row):
        ends(part, code="lost", failed=True, requeue=True)
    row.refresh_from_db()
    assert (row.state, row.current_replicas, row.replicas) == ("pending", 0, 2)
    cycle_run(actor=SYSTEM)
    assert [len(found) for found in nodes(row)] == [1, 1]
    assert places(row) == [(share, 8, 2, 4) for share in range(8)]


@pytest.mark.req("POOL-12.23")
def test_a_share_of_a_replica_is_moved_only_within_its_node(acme_ready):
    row = started(
        acme_ready,
        WorkloadRequest(
            name="s", kind="session", compute_percent=10, memory_mib=10, replicas=1, shares_per_replica=2
        ),
        distinct_devices=True,
    )
    elsewhere = Device.objects.exclude(node=row.allocations.first().device.node).first()
    with pytest.raises(NotMovable, match="together on node"):
        steer(workload_migrate, row, device=elsewhere.uid)
    with pytest.raises(NotMovable, match="together on node"):
        steer(workload_migrate, row, node=elsewhere.node.name)


def test_what_came_is_told_to_the_placing_as_gangs_of_a_node(acme_ready):
    ask(acme_ready)
    (kind,) = mix_read((timezone.now() + timedelta(days=1)).date())
    assert kind.shares == CARDS


# --- its faces ---------------------------------------------------------------------------------------------------

API = "/api/v1/workloads"
BODY = {
    "name": "train", "argv": ["true"], "compute_percent": 100, "memory_mib": 1000, "replicas": 2,
    "shares_per_replica": CARDS,
}  # fmt: skip


@pytest.fixture
def alice(acme_ready, member):
    return member("acme", "tenant_front_line")


@pytest.mark.req("ELA-501", "ELA-905")
def test_the_api_takes_and_tells_replicas(alice):
    api = alice.api()
    told = api.post(f"{API}/dry-run", BODY, format="json").json()
    assert (told["shares"], told["shares_per_replica"]) == (8, 4)
    found = api.post(API, BODY | {"min_replicas": 1}, format="json").json()
    names = ("shares", "min_shares", "shares_per_replica", "replicas", "min_replicas", "current_replicas")
    assert [found[name] for name in names] == [8, 4, 4, 2, 1, 0]
    cycle_run(actor=SYSTEM)
    assert api.get(f"{API}/{found['uid']}").json()["current_replicas"] == 2
    scaled = api.post(f"{API}/{found['uid']}/scale", {"replicas": 1}, format="json").json()
    assert (scaled["replicas"], scaled["shares"]) == (1, 4)
    refused = api.post(API, BODY | {"shares": 9}, format="json")
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "invalid_input")
    large = api.post(API, BODY | {"shares_per_replica": 5}, format="json")
    assert large.json()["error"]["code"] == "gang_too_large"
    defaults = {"name": "x", "argv": ["true"], "compute_percent": 1, "memory_mib": 1}
    found = api.post(API, defaults, format="json").json()
    assert [found[name] for name in names] == [1, None, 1, 1, None, 0]
    assert (found["priority"], found["preemptible"], found["state"]) == (0, False, "pending")


def test_the_form_takes_and_the_page_shows_replicas(alice, acme_ready):
    browser = alice.page()
    form = {
        "name": "train", "kind": "program", "command": "true", "compute_percent": "100", "memory_mib": "1000",
        "shares": "8", "shares_per_replica": "4", "queue": "default",
    }  # fmt: skip
    assert 'name="shares_per_replica"' in browser.get("/resources/submit/").content.decode()
    told = browser.post("/resources/submit/dry-run/", form).content.decode()
    assert "2 replicas of 4 shares, each on one node" in told
    browser.post("/resources/submit/", form)
    row = Workload.plain.get()
    assert (row.replicas, row.shares_per_replica) == (2, 4)
    page = " ".join(browser.get(f"/resources/{row.uid}/").content.decode().split())
    assert "2 replicas of 4 shares, each on one node" in page
    assert 'step="4"' in page
    assert "2 × 4" in " ".join(browser.get("/resources/").content.decode().split())
    browser.post("/resources/submit/", {**form, "shares_per_replica": ""})
    assert Workload.plain.latest("pk").shares_per_replica == 1
