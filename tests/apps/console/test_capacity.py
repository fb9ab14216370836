"""Capacity planning: what pools were asked for is recorded, goes on by a forecast, and says when it is full."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from apps.console.alarms.readings import ALL_POOLS, meters, pool_now
from apps.console.operations.capacity import outlook_get, outlook_list
from apps.fleet.models import Device, ResourceGroup
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import NotFound
from apps.scheduling.models import Queue, Workload
from apps.scheduling.services.queues.queue_settings import queue_ensure
from apps.telemetry.models import Rollup
from apps.tenancy.models import Tenant
from tests.factories.node import SpokenNode

pytestmark = pytest.mark.req("ELA-102")
TODAY = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)


@pytest.fixture
def node(db):
    return SpokenNode("n1", devices=2)


@pytest.fixture
def group(node):
    row = ResourceGroup.objects.create(code="lab", name_en="Lab", name_zh="实验室")
    Device.objects.filter(uid="n1-cpu0").update(group=row)
    return row


def figure(series, subject):
    found = {(m.series, m.subject): m.value for m in meters(pool_now(timezone.now())) if m.kind == "pool"}
    return found.get((series, subject))


def seen(days, demand, *, pool=ALL_POOLS, capacity=1000.0, seconds=3600.0, hours=24):
    """Hours as telemetry keeps them, of so many whole days before today; `demand` by the number of the day."""
    rows = []
    for n in range(days):
        for hour in range(hours):
            at = TODAY - timedelta(days=days - n) + timedelta(hours=hour)
            for series, value in (("demand_percent", demand(n)), ("capacity_percent", capacity)):
                rows.append(Rollup(series=series, kind="pool", subject=pool, hour=at, weighted=value * seconds,
                                   seconds=seconds))  # fmt: skip
    Rollup.objects.bulk_create(rows)


@pytest.fixture
def work(node):
    default = queue_ensure(actor=SYSTEM)

    def make(**given):
        no = f"W-{uuid4().hex[:8]}"
        values = {
            "queue": default,
            "memory_mib": 64,
            "no": no,
            "order_uid": uuid4(),
            "name_en": no,
            "name_zh": no,
        }
        return Workload.plain.create(tenant=Tenant.objects.get(schema_name="acme"), **values | given)

    return make


def test_what_is_held_and_what_waits_is_demand_of_its_pool_and_of_all(work, group):
    work(compute_percent=40, shares=2)
    work(compute_percent=30, resource_group="lab")
    queue = Queue.objects.create(code="of-lab", name_en="q", name_zh="q", resource_group="lab")
    work(compute_percent=5, queue=queue)
    work(compute_percent=90, state="suspended")
    assert figure("demand_percent", "lab") == 35
    assert figure("demand_percent", ALL_POOLS) == 115
    assert figure("capacity_percent", "lab") == 100
    assert figure("capacity_percent", ALL_POOLS) == 200
    Device.objects.filter(uid="n1-cpu0").update(is_enabled=False)
    assert figure("capacity_percent", "lab") == 0


def test_growth_says_when_a_pool_is_full(group):
    seen(60, lambda n: 400.0 + 5 * n)
    seen(60, lambda n: 50.0, pool="lab", capacity=100.0)
    whole, lab = outlook_list()
    assert (whole.code, lab.code) == (ALL_POOLS, "lab")
    assert whole.capacity_now == 1000.0
    assert whole.lately == pytest.approx(400 + 5 * 56)
    day = TODAY.date() + timedelta(days=60)
    assert abs((whole.full[0] - day).days) <= 1, "400 % and 5 more a day reach 1,000 % on the 121st day"
    assert lab.lately_percent == 50
    assert lab.full == (None, None, None)
    assert [each.is_full for each in (whole, lab)] == [False, False]
    Rollup.objects.filter(series="capacity_percent", subject="lab").update(weighted=40.0 * 3600)
    assert outlook_get("lab").is_full


def test_days_hardly_seen_and_too_few_days_forecast_nothing(group):
    seen(30, lambda n: 10.0)
    assert (outlook_get(ALL_POOLS).days_known, outlook_get(ALL_POOLS).trend) == (30, None)
    Rollup.objects.all().delete()
    seen(60, lambda n: 10.0, seconds=1000.0)
    assert outlook_get(ALL_POOLS).days_known == 0, "a third of each hour is no day"
    with pytest.raises(NotFound):
        outlook_get("nowhere")


def test_operators_read_it_by_the_api_and_nobody_else(operator, member, group):
    seen(60, lambda n: 400.0 + 5 * n)
    client = operator("system_administrator").api()
    whole, lab = client.get("/api/v1/capacity").json()
    assert (whole["pool"], whole["method"], whole["full_on"]) == (
        "*",
        "trend",
        str(outlook_get(ALL_POOLS).full[0]),
    )
    assert (lab["pool"], lab["method"], lab["full_on"], lab["days_known"]) == ("lab", None, None, 0)
    days = client.get("/api/v1/capacity/*").json()
    assert (len(days["past"]), len(days["ahead"])) == (60, 90)
    assert days["past"][-1] == {
        "day": str(TODAY.date() - timedelta(days=1)),
        "demand": 695.0,
        "capacity": 1000.0,
    }
    assert client.get("/api/v1/capacity/nowhere").status_code == 404
    for path in ("capacity", "capacity/*"):
        assert member("acme", "tenant_system_administrator").api().get(f"/api/v1/{path}").status_code == 403


@pytest.mark.parametrize(("language", "full"), [("en", "Expected to be full on"), ("zh-hans", "预计")])
def test_the_page_tells_it_in_words(operator, group, language, full):
    page = operator("system_administrator").page()
    page.cookies["django_language"] = language
    assert 'data-test="outlook-none"' in page.get("/capacity/").content.decode()
    seen(30, lambda n: 10.0)
    assert 'data-test="outlook-unknown"' in page.get("/capacity/").content.decode()
    Rollup.objects.all().delete()
    seen(60, lambda n: 400.0 + 5 * n)
    text = page.get("/capacity/").content.decode()
    assert full in text
    assert "data-chart" in text
    assert 'data-test="outlook-none"' in page.get("/capacity/?pool=lab").content.decode()
