"""Quotas of organizations: they add up in the tree, and work is held against every level (PLAT-TEN-18)."""

from dataclasses import replace
from uuid import uuid4

import pytest

from apps.audit.models import Record
from apps.billing.models import Charge
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, Forbidden, InvalidInput, QuotaExceeded
from apps.kernel.planes import in_tenant
from apps.kernel.reach import Reach
from apps.orders.services.deliveries import order_deliver
from apps.orders.services.submissions import form_submit
from apps.orgs.models import Organization
from apps.orgs.services.organizations import (
    member_add,
    organization_create,
    organization_delete,
    organization_quotas_set,
    organization_update,
)
from apps.scheduling.models import OrganizationQuota, QuotaHold, QuotaOrganization, TenantQuota, Workload
from apps.scheduling.selectors.entitlements.quotas import organization_quota_list
from apps.scheduling.selectors.workloads import quota_get
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.scheduling.services.quota.quotas import quota_hold, quota_set, quota_use
from apps.tenancy.models import Tenant
from tests.apps.catalog.racing import race
from tests.apps.orders.scene import scene_make
from tests.apps.scheduling.pool import node_make, tenant_ready

PROGRAM = {"name": "train", "argv": ["python", "-c", "print(1)"], "compute_percent": 30, "memory_mib": 1024}


def make(name, parent=None, **totals):
    row = organization_create(actor=SYSTEM, name=name, parent=parent)
    if totals:
        organization_quotas_set(actor=SYSTEM, organization=row, totals=totals)
    return row


def line(tenant, row, item="instances"):
    return next(line for line in organization_quota_list(tenant, row.uid) if line.item == item)


def figures(tenant, row, item="instances"):
    """Total, allocated, allocatable, used, in process."""
    found = line(tenant, row, item).quota
    return found.total, found.allocated, found.allocatable, found.used, found.in_process


def hold(tenant, row, **amounts):
    uid = uuid4()
    organization = row.uid if row else None
    quota_hold(actor=SYSTEM, tenant=tenant, holder_uid=uid, amounts=amounts, organization=organization)
    return uid


@pytest.fixture
def tree(db, acme):
    """8 instances of the tenant: 6 for the institute, 4 of these for physics, 2 of these for optics."""
    quota_set(actor=SYSTEM, tenant=acme, item="instances", total=8)
    with in_tenant("acme"):
        institute = make("Institute", instances=6)
        physics = make("Physics", institute, instances=4)
        optics = make("Optics", physics, instances=2)
        yield institute, physics, optics


@pytest.mark.req("PLAT-TEN-11", "PLAT-TEN-18", "PLAT-OPS-2")
def test_a_lower_quota_raises_what_the_upper_has_allocated(acme, tree):
    institute, physics, optics = tree
    assert quota_get(acme)["instances"].allocated == 6
    assert figures(acme, institute) == (6, 4, 2, 0, 0)
    assert figures(acme, physics) == (4, 2, 2, 0, 0)
    assert figures(acme, optics) == (2, 0, 2, 0, 0)
    assert line(acme, institute).most == 8
    assert line(acme, make("Chemistry", institute)).most == 2
    organization_quotas_set(actor=SYSTEM, organization=optics, totals={"instances": None})
    assert line(acme, optics).quota is None
    assert figures(acme, physics) == (4, 0, 4, 0, 0)


@pytest.mark.req("PLAT-TEN-18")
def test_more_than_is_allocatable_is_refused_by_name_and_changes_nothing(acme, tree):
    institute, physics, optics = tree
    quota_set(actor=SYSTEM, tenant=acme, item="compute_percent", total=100)
    before = list(OrganizationQuota.plain.order_by("pk").values()), list(TenantQuota.plain.values())
    refusals = [
        (institute, {"instances": 9}, "Acme.* can give 8 of instances at most, not 9"),
        (physics, {"instances": 7}, "Institute can give 6 of instances at most, not 7"),
        (make("Chemistry", institute), {"instances": 3}, "Institute can give 2 of instances at most, not 3"),
        (institute, {"instances": 3}, "Institute has given 4 of instances"),
        (physics, {"instances": None}, "Physics has given 2 of instances"),
        (physics, {"compute_percent": 10}, "Institute has no quota of compute to give on"),
        # One that is refused refuses all.
        (optics, {"instances": 1, "compute_percent": 10}, "Physics has no quota of compute"),
    ]
    for row, totals, told in refusals:
        with pytest.raises(Conflict, match=told):
            organization_quotas_set(actor=SYSTEM, organization=row, totals=totals)
    for totals in ({"bananas": 1}, {"instances": -1}, {"instances": 10**13}):
        with pytest.raises(InvalidInput):
            organization_quotas_set(actor=SYSTEM, organization=optics, totals=totals)
    assert (list(OrganizationQuota.plain.order_by("pk").values()), list(TenantQuota.plain.values())) == before
    with pytest.raises(Conflict, match="6 are allocated to organizations"):
        quota_set(actor=SYSTEM, tenant=acme, item="instances", total=5)


@pytest.mark.req("PLAT-TEN-12", "PLAT-TEN-18")
def test_what_is_held_counts_at_every_level_and_the_one_that_lacks_is_named(acme, tree):
    institute, physics, optics = tree
    quota_use(actor=SYSTEM, tenant=acme, holder_uid=hold(acme, optics, instances=1))
    hold(acme, physics, instances=2)
    assert figures(acme, optics)[3:] == (1, 0)
    assert figures(acme, physics)[3:] == (1, 2)
    assert figures(acme, institute)[3:] == (1, 2)
    for row, asked, told in (
        (optics, 2, "Optics has 1 of 2 left of instances"),
        (physics, 2, "Physics has 1 of 4 left of instances"),
        (institute, 4, "Institute has 3 of 6 left of instances"),
        (None, 6, "has 5 of 8 left of instances"),
    ):
        with pytest.raises(QuotaExceeded, match=told) as refusal:
            hold(acme, row, instances=asked)
        assert refusal.value.fields.get("organization") == (row.name if row else None)
    # Who belongs to none takes from the tenant, and then the tenant lacks before the organization does.
    hold(acme, None, instances=5)
    with pytest.raises(QuotaExceeded, match="has 0 of 8 left"):
        hold(acme, institute, instances=1)
    assert QuotaHold.objects.of(acme).count() == 3


@pytest.mark.req("PLAT-TEN-18")
def test_an_organization_without_a_quota_is_bounded_by_those_above(acme, tree):
    _institute, physics, _optics = tree
    lab = make("Lab", physics)
    hold(acme, lab, instances=4)
    assert (line(acme, lab).quota, line(acme, lab).in_process) == (None, 4)
    with pytest.raises(QuotaExceeded, match="Physics has 0 of 4 left"):
        hold(acme, lab, instances=1)


@pytest.mark.req("PLAT-TEN-18")
def test_an_organization_takes_its_quota_along_when_it_moves_and_gives_it_back_when_it_goes(acme, tree):
    institute, physics, optics = tree
    quota_set(actor=SYSTEM, tenant=acme, item="instances", total=9)
    other = make("Works", instances=3)
    organization_update(actor=SYSTEM, organization=optics, name="Optics", parent=other)
    assert (figures(acme, physics)[1], figures(acme, other)[1]) == (0, 2)
    with pytest.raises(Conflict, match="Works can give 1 of instances at most, not 4"):
        organization_update(actor=SYSTEM, organization=physics, name="Physics", parent=other)
    assert QuotaOrganization.plain.get(uid=physics.uid).parent_id == institute.uid
    held = hold(acme, optics, instances=2)
    organization_delete(actor=SYSTEM, organization=Organization.objects.get(pk=optics.pk))
    assert figures(acme, other) == (3, 0, 3, 0, 2)
    assert QuotaHold.plain.get(holder_uid=held).organization_id == other.uid


@pytest.mark.req("PLAT-TEN-18")
def test_of_parallel_gifts_out_of_one_quota_the_sum_is_never_more(committed):
    acme = Tenant.objects.get(schema_name="acme")
    quota_set(actor=SYSTEM, tenant=acme, item="instances", total=4)
    with in_tenant("acme"):
        rows = [make(f"Lab {number}") for number in range(6)]

    def give(row):
        with in_tenant("acme"):
            organization_quotas_set(actor=SYSTEM, organization=row, totals={"instances": 2})

    def lower():
        quota_set(actor=SYSTEM, tenant=acme, item="instances", total=3)

    results = race(*[lambda row=row: give(row) for row in rows], lower)
    assert all(result is None or isinstance(result, Conflict | TenantQuota) for result in results), results
    totals = list(OrganizationQuota.plain.values_list("total", flat=True))
    quota = TenantQuota.plain.get(tenant=acme, item="instances")
    assert (sum(totals), len(totals)) == (quota.allocated, results[:6].count(None))
    assert quota.allocated in ({4} if quota.total == 4 else {2})


@pytest.mark.req("ELA-109", "PLAT-TEN-18")
def test_of_parallel_asks_for_the_last_of_an_organization_one_wins(committed):
    acme = Tenant.objects.get(schema_name="acme")
    quota_set(actor=SYSTEM, tenant=acme, item="instances", total=9)
    with in_tenant("acme"):
        top = make("Institute", instances=1)
        rows = [make(f"Lab {number}", top) for number in range(4)]
    results = race(*[lambda row=row: hold(acme, row, instances=1) for row in rows])
    assert sum(isinstance(result, QuotaExceeded) for result in results) == 3, results
    assert line(acme, top).in_process == 1


@pytest.fixture
def worker(db, acme, member):
    """A person of optics with a pool to work on."""
    tenant_ready(acme)
    node_make("n1", devices=2)
    person = member("acme", "tenant_front_line")
    with in_tenant("acme"):
        institute = make("Institute", compute_percent=100)
        optics = make("Optics", institute, compute_percent=40)
        member_add(actor=SYSTEM, user=person.user, organization=optics)
    return person, institute, optics


@pytest.mark.req("PLAT-TEN-18")
def test_direct_work_is_held_against_its_person_s_organization_and_all_above(acme, worker):
    person, institute, optics = worker
    api = person.api()
    made = api.post("/api/v1/workloads", PROGRAM, format="json")
    assert made.status_code == 201, made.json()
    assert line(acme, institute, "compute_percent").in_process == 30
    charge = Charge.plain.get(workload_uid=made.json()["uid"])
    assert (charge.organization, charge.organization_uid, charge.user) == ("Optics", optics.uid, person.user)
    refused = api.post("/api/v1/workloads", PROGRAM, format="json")
    assert refused.status_code == 409
    error = refused.json()["error"]
    assert (error["code"], error["fields"]["organization"]) == ("quota_exceeded", "Optics")
    assert "Optics has 10 % of 40 % left of compute" in error["message"]
    # What waits for quota waits for the organization's too, and starts when that has some.
    waiting = api.post("/api/v1/workloads", {**PROGRAM, "wait_for_quota": True}, format="json").json()
    cycle_run(actor=SYSTEM)
    row = Workload.plain.get(uid=waiting["uid"])
    assert (row.state, row.reason_code, row.organization_id) == ("pending", "quota_exceeded", optics.uid)
    assert line(acme, optics, "compute_percent").used == 30
    resized = api.post(
        f"/api/v1/workloads/{made.json()['uid']}/resize", {"compute_percent": 50}, format="json"
    )
    assert resized.json()["error"]["fields"]["organization"] == "Optics"
    with in_tenant("acme"):
        organization_quotas_set(actor=SYSTEM, organization=optics, totals={"compute_percent": 60})
    cycle_run(actor=SYSTEM)
    row.refresh_from_db()
    assert row.state == "placed"
    assert line(acme, institute, "compute_percent").used == 60


@pytest.mark.req("PLAT-TEN-10", "PLAT-TEN-12", "PLAT-TEN-18")
def test_an_order_is_held_against_the_applicant_s_organization(db, acme, member, operator):
    with in_tenant("acme"):
        scene = scene_make(acme, member, operator)
        optics = make("Optics", instances=4, host_cpu_milli=6_000)
        scene.ann = replace(scene.ann, actor=replace(scene.ann.actor, reach=Reach(organization=optics.uid)))
        order = scene.ordered()
        held = scene.held("host_cpu_milli")
        assert held == (line(acme, optics, "host_cpu_milli").in_process, 0)
        assert held[0] > 0
        assert scene.held("host_memory_mib")[0] > 0
        order_deliver(actor=SYSTEM, order_uid=order.uid)
        assert line(acme, optics).used == 1
        order.refresh_from_db()
        assert Workload.plain.get(uid=order.workload_uid).organization_id == optics.uid
        organization_quotas_set(actor=SYSTEM, organization=optics, totals={"host_cpu_milli": held[0]})
        with pytest.raises(QuotaExceeded, match=r"Optics has 0 cores of .* left of CPU"):
            form_submit(actor=scene.ann.actor, form_uid=scene.draft().uid)


@pytest.mark.req("PLAT-TEN-10")
def test_only_what_lies_on_devices_is_bounded_by_model(db, acme):
    node_make("n1")
    with pytest.raises(InvalidInput, match="A quota on a model is one of"):
        quota_set(actor=SYSTEM, tenant=acme, item="host_cpu_milli", total=1, model="CPU")


@pytest.mark.req("PLAT-TEN-11", "PLAT-TEN-18")
def test_the_quota_is_read_and_set_by_the_api(acme, tree, member):
    _institute, physics, optics = tree
    path = f"/api/v1/organizations/{physics.uid}/quota"
    reader = member("acme", "tenant_front_line").api()
    found = {row["item"]: row for row in reader.get(path).json()}
    assert found["instances"] == {
        "item": "instances", "total": 4, "allocated": 2, "allocatable": 2, "used": 0, "in_process": 0, "left": 4,
        "most": 6,
    }  # fmt: skip
    assert (found["host_cpu_milli"]["total"], found["host_cpu_milli"]["most"]) == (None, 0)
    assert reader.put(path, {"instances": 5}, format="json").status_code == 403
    admin = member("acme", "tenant_system_administrator").api()
    changed = admin.put(path, {"instances": 5}, format="json")
    assert (changed.status_code, changed.json()[0]["total"]) == (200, 5)
    assert Record.objects.filter(name="organization_quotas_set", subject_id=str(physics.uid)).exists()
    refused = admin.put(path, {"instances": 7}, format="json")
    assert (refused.status_code, refused.json()["error"]["fields"]) == (409, {"instances": "6"})
    assert admin.put(path, {"bananas": 7}, format="json").status_code == 400
    assert admin.put(f"/api/v1/organizations/{uuid4()}/quota", {}, format="json").status_code == 404
    cleared = admin.put(f"/api/v1/organizations/{optics.uid}/quota", {"instances": None}, format="json")
    assert cleared.json()[0]["total"] is None


@pytest.mark.req("PLAT-TEN-5", "PLAT-TEN-16", "PLAT-TEN-18")
def test_an_organization_s_page_shows_its_quota_resources_and_attributes(acme, worker, member):
    person, _institute, optics = worker
    made = person.api().post("/api/v1/workloads", PROGRAM, format="json").json()
    page = member("acme", "tenant_system_administrator").page()
    place = f"/organizations/{optics.uid}/"
    given = {"name": "Optics", "parent": "", "attributes": "Cost centre: 4711\n\nSite：Hall 2\n"}
    with in_tenant("acme"):
        institute = Organization.objects.get(name="Institute")
    assert page.post(place, {**given, "parent": str(institute.uid)}).status_code == 302
    assert page.post(place, {**given, "attributes": "no colon"}).status_code == 400
    shown = page.get(place).content.decode()
    assert "4711" in shown
    # The tenant's own cards say what is given on.
    assert (
        "100 % allocated to organizations · 99900 % allocatable" in page.get("/resources/").content.decode()
    )
    assert "Hall 2" in shown
    assert made["no"] in shown
    assert "0 % used · 30 % in process · of 40 %" in shown
    totals = {"compute_percent": "50", "host_cpu_milli": "1.5", "instances": ""}
    refused = page.post(f"{place}quota/", totals)
    assert (refused.status_code, "Institute has no quota of CPU" in refused.content.decode()) == (409, True)
    assert page.post(f"{place}quota/", {"compute_percent": "50"}).status_code == 302
    assert "of 50 %" in page.get(place).content.decode()
    listed = page.get("/organizations/").content.decode()
    assert "Cost centre: 4711" in listed
    reader = person.page()
    assert 'data-test="quota-form"' not in reader.get(place).content.decode()
    assert reader.post(f"{place}quota/", {"compute_percent": "1"}).status_code == 403


def test_who_may_not_keep_organizations_sets_no_quota(acme, tree, member):
    with pytest.raises(Forbidden):
        organization_quotas_set(
            actor=member("acme", "tenant_front_line").actor, organization=tree[0], totals={"instances": 1}
        )
