"""Slices are called by their work, nodes are found by name among their cards."""

import pytest
from lxml import html

from apps.fleet.models import Node, Slice
from apps.kernel.actor import SYSTEM
from apps.scheduling.models import Workload
from apps.scheduling.selectors.workloads import slice_works
from apps.scheduling.services.queues.queue_settings import queue_ensure
from tests.apps.fleet.agent import Agent, desire
from tests.apps.scheduling.pool import submit, tenant_ready
from tests.factories.node import SpokenNode

pytestmark = pytest.mark.django_db


def cells(text: str, mark: str) -> list[str]:
    return [
        " ".join(part.text_content().split())
        for part in html.fromstring(text).xpath(f"//*[@data-test='{mark}']")
    ]


@pytest.mark.req("POOL-12.16")
def test_a_slice_is_called_by_its_work_and_share(operator, acme, django_assert_max_num_queries):
    Agent("n1", devices=1)
    tenant_ready(acme)
    queue_ensure(actor=SYSTEM)
    first, second = submit(acme), submit(acme)
    parts = [desire(acme, percent=10), desire(acme, percent=10)]
    for work, part in zip((first, second), parts, strict=True):
        Slice.plain.filter(pk=part.pk).update(workload_uid=work.uid)
    Workload.plain.filter(pk=second.pk).update(shares=3)
    page = operator("system_administrator").page()
    text = page.get("/pool/slices/").content.decode()
    assert sorted(cells(text, "open-slice")) == sorted([first.no, f"{second.no} share 1"])
    assert first.name_en in text
    for part, name in zip(parts, (first.no, f"{second.no} share 1"), strict=True):
        one = html.fromstring(page.get(f"/pool/slices/{part.uid}/").content.decode())
        assert " ".join(one.xpath("string(//h1)").split()).endswith(name)
        assert name in cells(page.get("/pool/devices/n1-d0/").content.decode(), "open-slice")
    found = list(Slice.objects.across().filter(pk__in=[part.pk for part in parts]))
    with django_assert_max_num_queries(2):
        works = slice_works(found)
    assert {uid: work.no for uid, (work, _share) in works.items()} == {
        parts[0].uid: first.no,
        parts[1].uid: second.no,
    }


@pytest.mark.req("POOL-12.17")
def test_nodes_as_cards_have_a_search_where_they_are_many(operator):
    page = operator("system_administrator").page()
    for number in range(6):
        SpokenNode(f"rack-a-{number}")
    assert 'id="node-filter"' not in page.get("/pool/nodes/").content.decode()
    SpokenNode("rack-b-0")
    Node.objects.filter(name="rack-a-1").update(state="drained")
    text = page.get("/pool/nodes/").content.decode()
    assert 'id="node-filter"' in text
    assert len(cells(text, "node")) == 7

    def found(**asked):
        return cells(page.get("/pool/nodes/", asked).content.decode(), "open-node")

    assert found(search="RACK-B") == ["rack-b-0"]
    assert found(state="drained") == ["rack-a-1"]
    nothing = page.get("/pool/nodes/", {"search": "none such"}).content.decode()
    assert "Nothing matches" in nothing
    assert "No node has joined" not in nothing
