"""What the members of a gang are told of each other, and whose output is whose."""

from dataclasses import replace

import pytest

from apps.fleet.models import GangSize, LogChunk, Node, Slice
from apps.fleet.selectors import log_read
from apps.fleet.services.slices.gangs import MEETING_PORTS
from apps.kernel.actor import SYSTEM
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.scheduling.services.workload_control import workload_requeue
from apps.scheduling.services.workloads.resizing.elastic_size import sizes_prune
from apps.scheduling.services.workloads.submission.submit import workload_request
from apps.scheduling.types import WorkloadRequest
from tests.apps.scheduling.pool import node_make, tenant_ready
from tests.apps.scheduling.test_shell import ends, parts, runs

ASKED = WorkloadRequest(name="ddp", argv=("true",), compute_percent=60, memory_mib=100, shares=2)


@pytest.fixture
def acme_ready(db, acme):
    """Two nodes of two cards."""
    for number in (1, 2):
        node_make(f"n{number}", devices=2, memory_mib=1000)
        Node.objects.filter(name=f"n{number}").update(address=f"10.0.0.{number}")
    return tenant_ready(acme)


def placed(tenant, **more):
    row = workload_request(actor=SYSTEM, tenant=tenant, asked=replace(ASKED, **more))
    cycle_run(actor=SYSTEM)
    row.refresh_from_db()
    assert row.state == "placed"
    return row


def told(row):
    """By share what it is told."""
    places = GangSize.objects.get(workload_uid=row.uid).places
    return {place["share"]: place for place in places.values()}


@pytest.mark.req("ELA-501", "ELA-906")
def test_a_gang_on_one_node_meets_there_and_one_of_two_nodes_at_its_first_share(acme_ready):
    near = placed(acme_ready, single_node=True)
    assert {(each["shares"], each["master_addr"]) for each in told(near).values()} == {(2, "127.0.0.1")}
    far = placed(acme_ready, shares=4, shares_per_replica=1, compute_percent=30, distinct_devices=True)
    first = Slice.plain.get(workload_uid=far.uid, share=0)
    assert {each["master_addr"] for each in told(far).values()} == {first.node.address}
    ports = [{each["master_port"] for each in told(row).values()} for row in (near, far)]
    assert all(len(found) == 1 and found <= set(MEETING_PORTS) for found in ports)
    assert ports[0] != ports[1]


@pytest.mark.req("ELA-906")
def test_work_of_one_share_is_told_nothing_and_a_gang_is_forgotten_with_its_end(acme_ready):
    alone = placed(acme_ready, shares=1)
    assert not GangSize.objects.filter(workload_uid=alone.uid).exists()
    row = placed(acme_ready)
    runs(row)
    for part in parts(row):
        ends(part, code="completed")
    row.refresh_from_db()
    assert row.is_final
    assert sizes_prune(actor=SYSTEM) == 1


@pytest.mark.req("ELA-503", "ELA-504")
def test_output_is_read_by_share_and_attempt(acme_ready):
    row = placed(acme_ready)
    runs(row)
    workload_requeue(actor=SYSTEM, tenant=acme_ready, workload_uid=row.uid)
    for part in parts(row):
        ends(part, requeue=True)
    cycle_run(actor=SYSTEM)
    made = Slice.plain.filter(workload_uid=row.uid).order_by("pk").values_list("share", "attempt")
    assert list(made) == [(0, 1), (1, 1), (0, 2), (1, 2)]
    for part in Slice.plain.filter(workload_uid=row.uid):
        text = f"{part.share} in {part.attempt}\n"
        LogChunk.objects.create(slice=part, offset=0, size=len(text), text=text)
        Slice.plain.filter(pk=part.pk).update(log_next=len(text))
    found = log_read(workload_uid=row.uid, share=1)
    assert (found.text, found.share, found.attempt) == ("1 in 1\n", 1, 1)
    found = log_read(workload_uid=row.uid, share=1, offset=found.next_offset)
    assert (found.text, found.share, found.attempt) == ("1 in 2\n", 1, 2)
    assert log_read(workload_uid=row.uid, share=0, attempt=2).text == "0 in 2\n"
    assert log_read(workload_uid=row.uid, attempt=2).text == "0 in 2\n"
    nobody = log_read(workload_uid=row.uid, share=7)
    assert (nobody.text, nobody.share, nobody.ended) == ("", 7, False)


@pytest.mark.req("ELA-504")
def test_page_and_api_show_the_output_that_is_chosen(acme_ready, member):
    alice = member("acme", "tenant_front_line")
    row = workload_request(actor=alice.actor, tenant=acme_ready, asked=ASKED)
    cycle_run(actor=SYSTEM)
    for part in Slice.plain.filter(workload_uid=row.uid):
        LogChunk.objects.create(slice=part, offset=0, size=6, text=f"from {part.share}")
    page = alice.page().get(f"/resources/{row.uid}/?share=1")
    assert 'data-test="log-choice"' in page.content.decode()
    assert f"/resources/{row.uid}/log/?offset=0&amp;share=1&amp;attempt=1" in page.content.decode()
    piece = alice.page().get(f"/resources/{row.uid}/log/?offset=0&share=1&attempt=1").content.decode()
    assert "from 1" in piece
    assert "offset=6&amp;share=1&amp;attempt=1" in piece
    told = alice.api().get(f"/api/v1/workloads/{row.uid}/logs?share=1").json()
    assert told == {"text": "from 1", "share": 1, "attempt": 1, "next_offset": 6, "ended": False}
    assert alice.api().get(f"/api/v1/workloads/{row.uid}/logs?share=one").status_code == 400
