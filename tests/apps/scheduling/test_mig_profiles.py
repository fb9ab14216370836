"""MIG profiles by name: what cards report, found by what their vendor calls it, in work and specifications."""

import pytest

from apps.fleet.errors import NoSuchMigProfile
from apps.fleet.mig_profiles import mig_profiles
from apps.fleet.models import Device, Spec
from apps.fleet.services.specs import spec_make
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import InvalidInput
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.scheduling.services.queues.queue_settings import queue_ensure
from apps.scheduling.services.workloads.submission.submit import workload_request
from apps.scheduling.types import WorkloadRequest
from tests.apps.fleet.agent import device_report
from tests.apps.scheduling.pool import tenant_ready
from tests.apps.scheduling.working_node import WorkingNode

pytestmark = [pytest.mark.django_db, pytest.mark.req("ELA-105", "POOL-12.14")]
# What an A100 of 40 GiB and an H100 of 80 GiB report.
A100 = [
    {"compute_percent": 14, "memory_mib": 4864, "count": 7, "name": "1g.5gb"},
    {"compute_percent": 42, "memory_mib": 19968, "count": 2, "name": "3g.20gb"},
]
H100 = [
    {"compute_percent": 14, "memory_mib": 9856, "count": 7, "name": "1g.10gb"},
    {"compute_percent": 42, "memory_mib": 40448, "count": 2, "name": "3g.40gb"},
]


def card(node: WorkingNode, model: str, sizes: list[dict[str, object]], mib: int) -> None:
    report = device_report(
        uid=f"{node.info.name}-d0",
        slice_sizes=sizes,
        slice_drivers=("mig",),
        model=model,
        vendor="nvidia",
        memory_mib=mib,
    )
    node.devices = (report,)
    node.say()


@pytest.fixture
def node(acme):
    tenant_ready(acme)
    queue_ensure(actor=SYSTEM)
    made = WorkingNode(devices=1, memory_mib=81_559)
    card(made, "NVIDIA H100 80GB HBM3", H100, 81_559)
    # Its model is another than that of what was there before: an operator has accepted it.
    Device.objects.update(is_sliced=True, is_enabled=True)
    return made


def submit(tenant, **asked):
    wanted = WorkloadRequest(name="w", argv=("true",), **asked)
    return workload_request(actor=SYSTEM, tenant=tenant, asked=wanted)


def test_work_names_a_profile_and_gets_just_it(node, acme):
    row = submit(acme, mig_profile="1g.10gb")
    assert (row.mig_profile, row.driver, row.compute_percent, row.memory_mib) == ("1g.10gb", "mig", 14, 9856)
    cycle_run(actor=SYSTEM)
    row.refresh_from_db()
    assert row.state == "placed", (row.reason_code, row.reason)
    (part,) = row.allocations.all()
    assert (part.compute_percent, part.memory_mib) == (14, 9856)
    assert part.slice_uid


def test_what_is_not_there_is_refused_with_what_is(node, acme):
    with pytest.raises(NoSuchMigProfile) as caught:
        submit(acme, mig_profile="2g.20gb")
    assert "There are: 1g.10gb, 3g.40gb." in str(caught.value.cure)
    Device.objects.update(slice_sizes=[])
    with pytest.raises(NoSuchMigProfile) as caught:
        submit(acme, mig_profile="1g.10gb")
    assert str(caught.value.cure) == "The centre has no card in MIG mode."


@pytest.mark.parametrize(
    "more",
    [
        {"compute_percent": 14},
        {"memory_mib": 9856},
        {"spec": "half"},
        {"whole_cards": True},
        {"driver": "hami"},
    ],
)
def test_a_profile_and_another_amount_contradict_each_other(node, acme, more):
    spec_make(actor=SYSTEM, code="half", name_en="Half", compute_percent=50, memory_mib=1024)
    with pytest.raises(InvalidInput) as caught:
        submit(acme, mig_profile="1g.10gb", **more)
    assert set(caught.value.fields) == set(more)


def test_a_name_that_cards_give_in_two_sizes_wants_the_model(node, acme):
    other = [{"compute_percent": 14, "memory_mib": 9728, "count": 7, "name": "1g.10gb"}]
    second = WorkingNode("n2", devices=1, memory_mib=81_920)
    card(second, "NVIDIA A100 80GB", other, 81_920)
    with pytest.raises(NoSuchMigProfile, match=r"not the same on all cards.*A100.*H100"):
        submit(acme, mig_profile="1g.10gb")
    row = submit(acme, mig_profile="1g.10gb", model="NVIDIA A100 80GB")
    assert row.memory_mib == 9728


def test_a_specification_of_a_profile_is_an_instance_of_it(node, acme):
    row = spec_make(actor=SYSTEM, code="small", name_en="Small", mig_profile="1g.10gb")
    assert (row.compute_percent, row.memory_mib, row.mig_profile) == (14, 9856, "1g.10gb")
    work = submit(acme, spec="small")
    assert (work.driver, work.mig_profile, work.memory_mib) == ("mig", "1g.10gb", 9856)
    with pytest.raises(InvalidInput):
        spec_make(actor=SYSTEM, code="none", name_en="None")


def test_pages_offer_profiles_by_name(node, acme, member, operator):
    (first, second) = mig_profiles()
    assert (first.text, first.count) == ("1g.10gb · NVIDIA H100 80GB HBM3 · 14 % · 9856 MiB", 7)
    page = member("acme", "tenant_front_line").page()
    assert first.text in page.get("/resources/submit/").content.decode()
    manager = operator("system_administrator").page()
    assert second.text in manager.get("/pool/specs/").content.decode()
    made = {"code": "large", "name_en": "Large", "mig_profile": "3g.40gb"}
    manager.post("/pool/specs/add/", made)
    assert Spec.objects.get(code="large").memory_mib == 40448
    Device.objects.update(slice_sizes=[])
    assert 'data-test="submit-mig_profile"' not in page.get("/resources/submit/").content.decode()
