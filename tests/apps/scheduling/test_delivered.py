"""On a resource's page: what was sold beside what is kept for it and measured; and of a session its key."""

import pytest

from apps.fleet.models import Node, Slice
from apps.fleet.selectors import slice_list
from apps.kernel.actor import SYSTEM
from apps.scheduling.errors import HostTooSmall
from apps.scheduling.models import Workload
from apps.scheduling.selectors.usage.delivered import DeliveredLine, delivered_lines
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.scheduling.services.workloads.submission.submit import workload_request
from apps.scheduling.types import WorkloadRequest

pytestmark = pytest.mark.django_db
ASKED = {
    "compute_percent": 30,
    "memory_mib": 1024,
    "shares": 2,
    "host_cpu_milli": 1500,
    "host_memory_mib": 512,
}


def submitted(person, tenant, **more):
    asked = WorkloadRequest(**{"name": "train", "argv": ("python",), **ASKED, **more})
    return workload_request(actor=person.actor, tenant=tenant, asked=asked)


def lines_of(row):
    return delivered_lines(row.tenant, row, list(slice_list(workload_uids=[row.uid])))


@pytest.mark.req("PLAT-SVC-18")
def test_what_is_sold_kept_and_measured_stands_side_by_side(alice, acme):
    row = submitted(alice, acme)
    sold = {"compute_share": 60, "gpu_memory": 2048, "cpu": 3.0, "memory": 1024}
    assert lines_of(row) == [DeliveredLine(code, amount, None, None) for code, amount in sold.items()]
    cycle_run(actor=SYSTEM)
    one, two = Slice.plain.filter(workload_uid=row.uid).order_by("pk")
    figures = {
        "delivered_percent": 12.5,
        "memory_used_mib": 300,
        "disk_used_mib": 70,
        "disk_limit_mib": 10_240,
    }
    Slice.plain.filter(pk=one.pk).update(**figures, host_cpu_used_milli=1400, host_memory_used_mib=200)
    Slice.plain.filter(pk=two.pk).update(host_cpu_used_milli=100, host_enforced_by="watch")
    assert lines_of(row) == [
        DeliveredLine("compute_share", 60, 60, 12.5),
        DeliveredLine("gpu_memory", 2048, 2048, 300),
        DeliveredLine("cpu", 3.0, 3.0, 1.5),
        DeliveredLine("memory", 1024, 1024, 200),
    ]
    page = alice.page().get(f"/resources/{row.uid}/").content.decode()
    assert page.count('data-test="delivered-line"') == 4
    assert "12.5 %" in page
    text = " ".join(page.split())
    assert page.count('data-test="slice-host"') == 2
    assert "1.40 / 1.5 cores" in text
    assert "200 MiB / 512 MiB" in text
    assert "– / 512 MiB" in text, "its node does not measure it"
    assert "watching main memory; nothing holds the processor" in text
    assert page.count('data-test="slice-disk"') == 1, "of a node that watches it"
    assert "70 MiB / 10 GiB" in page
    assert "compute_share<" not in page, "parts have names"


@pytest.mark.req("PLAT-SVC-18", "PLAT-OPS-22")
def test_scratch_disk_is_kept_by_nodes_that_offer_it_alone(alice, acme):
    with pytest.raises(HostTooSmall, match="Not enough scratch disk"):
        submitted(alice, acme, scratch_disk_mib=20_480)
    node = Node.objects.get()
    Node.objects.filter(pk=node.pk).update(info={**node.info, "scratch_disk_mib": 50_000})
    rows = [submitted(alice, acme, scratch_disk_mib=20_480) for _ in range(2)]
    cycle_run(actor=SYSTEM)
    first, second = (Slice.plain.filter(workload_uid=row.uid) for row in rows)
    assert [part.scratch_disk_mib for part in first] == [20_480] * 2
    assert not second, "the other has 10,000 MiB beside it"
    assert Workload.plain.get(pk=rows[1].pk).reason_code == "scratch_disk"
    first.update(disk_used_mib=512)
    line = lines_of(rows[0])[-1]
    assert line == DeliveredLine("scratch_disk", None, 40, 1)
    page = alice.page().get(f"/resources/{rows[0].uid}/").content.decode()
    assert ("Scratch disk" in page, "40 GiB" in page) == (True, True)


@pytest.mark.req("POOL-12.3", "PLAT-SVC-8")
def test_the_key_of_a_session_is_shown_to_its_owner_alone(alice, acme, member, operator):
    more = {"kind": "session", "argv": (), "shares": 1, "host_cpu_milli": 0, "host_memory_mib": 0}
    row = submitted(alice, acme, **more)
    path, page = f"/resources/{row.uid}/key/", alice.page()
    assert 'data-test="session-waits"' in page.get(path).content.decode()
    cycle_run(actor=SYSTEM)
    seen = page.get(f"/resources/{row.uid}/").content.decode()
    assert f'href="{path}"' in seen
    assert 'data-test="session-waits"' in page.get(path).content.decode()
    part = Slice.plain.get(workload_uid=row.uid)
    found = {"session": {"host": "10.0.0.7", "port": 30001, "fingerprint": "ab" * 32}}
    Slice.plain.filter(pk=part.pk).update(state="running", **found)
    answer = page.get(path)
    text = answer.content.decode()
    assert "connect(&quot;10.0.0.7&quot;, 30001, &quot;abab" in text
    assert "no-store" in answer["Cache-Control"]
    colleague = member("acme", "tenant_front_line").page()
    assert colleague.get(path).status_code in (403, 404)
    assert operator("system_administrator").page().get(f"/t/acme{path}").status_code == 403
    assert member("globex", "tenant_front_line").page().get(path).status_code == 404
    program = submitted(alice, acme)
    assert page.get(f"/resources/{program.uid}/key/").status_code == 404
