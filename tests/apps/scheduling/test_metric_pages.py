"""What work has written of itself, as it is seen: on its page, compared with other work, by API."""

import json
import uuid

import pytest

from apps.fleet.models import MetricSeries
from apps.kernel.actor import SYSTEM
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.scheduling.services.quota.quotas import quota_defaults
from apps.scheduling.services.workloads.submission.submit import workload_request
from apps.scheduling.types import WorkloadRequest
from apps.scheduling.views.work.metrics import CHARTS_MOST, COMPARED_MOST
from tests.apps.scheduling.pool import node_make
from tests.apps.scheduling.test_cycles import started
from tests.apps.scheduling.test_pages import text
from tests.harness.money import account_ready

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice(acme, globex, member):
    quota_defaults(actor=SYSTEM, tenant=acme)
    account_ready(acme)
    node_make("n1")
    return member("acme", "tenant_front_line")


@pytest.fixture
def works(alice, acme):
    rows = [
        workload_request(
            actor=alice.actor,
            tenant=acme,
            asked=WorkloadRequest(name=name, argv=("true",), compute_percent=20, memory_mib=100),
        )
        for name in ("first", "second")
    ]
    cycle_run(actor=SYSTEM)
    for row in rows:
        started(row)
    return rows


def write(row, name, *values, share=0):
    MetricSeries.plain.create(
        tenant=row.tenant,
        workload_uid=row.uid,
        share=share,
        name=name,
        steps=list(range(len(values))),
        values=list(values),
        times=[1000.0 + step for step in range(len(values))],
    )


def test_a_resource_s_page_draws_what_its_work_has_written(alice, works):
    page = alice.page()
    assert 'data-test="metrics"' not in text(page.get(f"/resources/{works[0].uid}/metrics/"))
    write(works[0], "loss", 0.5, 0.25)
    shown = text(page.get(f"/resources/{works[0].uid}/metrics/"))
    assert 'data-name="loss"' in shown
    assert "0.25 at step 1" in shown
    assert "[[0, 0.5], [1, 0.25]]" in shown.replace("&quot;", '"')


def test_several_works_are_compared_metric_by_metric(alice, works):
    first, second = works
    write(first, "loss", 0.5)
    write(second, "loss", 0.75)
    write(second, "acc", 0.9)
    query = f"work={first.uid}&work={second.uid}"
    shown = text(alice.page().get(f"/resources/compare/?{query}"))
    assert shown.count('data-test="metric"') == 2
    for row in works:
        assert f"{row.no} · {row.name_en}" in shown
    only = text(alice.page().get(f"/resources/compare/?{query}&name=LO"))
    assert only.count('data-test="metric"') == 1
    assert "0.75 at step 0" in only


def test_shares_of_one_work_are_told_apart(alice, works):
    write(works[0], "loss", 0.5)
    write(works[0], "loss", 0.75, share=1)
    shown = text(alice.page().get(f"/resources/compare/?work={works[0].uid}"))
    assert f"{works[0].no} · first, share 1" in shown


def test_many_metrics_are_drawn_in_part_and_the_rest_is_named(alice, works):
    for number in range(CHARTS_MOST + 2):
        write(works[0], f"m{number:02}", 1.0)
    shown = text(alice.page().get(f"/resources/{works[0].uid}/metrics/"))
    assert shown.count('data-test="metric"') == CHARTS_MOST
    assert "2 metrics more are not drawn" in shown


def test_comparing_says_what_to_do_where_nothing_can_be_compared(alice, works):
    page = alice.page()
    assert "No work is chosen" in text(page.get("/resources/compare/"))
    assert "WEIR_METRICS_DIR" in text(page.get(f"/resources/compare/?work={works[0].uid}"))
    many = "&".join(f"work={uuid.uuid4()}" for _ in range(COMPARED_MOST + 1))
    assert "Choose fewer." in page.get(f"/resources/compare/?{many}").content.decode()
    assert page.get("/resources/compare/?work=1").status_code == 400
    assert page.get(f"/resources/compare/?work={works[0].uid}&name={'x' * 121}").status_code == 400


def test_nobody_sees_another_tenant_s(alice, works, member):
    write(works[0], "loss", 0.5)
    stranger = member("globex", "tenant_front_line")
    for path in (f"{works[0].uid}/metrics/", f"compare/?work={works[0].uid}"):
        assert stranger.page().get(f"/resources/{path}").status_code == 404
    assert stranger.api().get(f"/api/v1/workloads/{works[0].uid}/metrics").status_code == 404


def test_the_api_gives_every_point(alice, works):
    write(works[0], "loss", 0.5, 0.25)
    write(works[0], "train/acc", 0.9)
    found = alice.api().get(f"/api/v1/workloads/{works[0].uid}/metrics").json()
    assert [one["name"] for one in found] == ["loss", "train/acc"]
    assert {key: found[0][key] for key in ("share", "steps", "values", "times")} == {
        "share": 0,
        "steps": [0, 1],
        "values": [0.5, 0.25],
        "times": [1000.0, 1001.0],
    }
    named = alice.api().get(f"/api/v1/workloads/{works[0].uid}/metrics", {"name": "ACC"}).json()
    assert [one["name"] for one in named] == ["train/acc"]


def test_work_is_chosen_in_the_list(alice, works):
    shown = text(alice.page().get("/resources/"))
    assert shown.count('data-test="compare-choose"') == 2
    assert 'action="/resources/compare/"' in shown
    assert json.dumps(str(works[0].uid)) in shown
