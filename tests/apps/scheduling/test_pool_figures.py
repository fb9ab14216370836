"""A pool's figures field by field, and a tenant's quota set, changed and taken away."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from apps.fleet.models import Device, ResourceGroup
from apps.fleet.services.groups import group_grant
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, QuotaExceeded
from apps.scheduling.models import Reservation, TenantQuota
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.scheduling.services.queues.queue_settings import queue_make
from apps.scheduling.services.quota.ending import quota_remove
from apps.scheduling.services.quota.quotas import quota_hold, quota_set
from tests.apps.scheduling.pool import node_make, submit

pytestmark = pytest.mark.django_db


@pytest.mark.req("ELA-311", "ELA-302", "ELA-305")
def test_a_pool_s_figures_field_by_field(acme, operator, member):
    group = ResourceGroup.objects.create(code="training", name_en="Training", name_zh="训练")
    group_grant(actor=SYSTEM, code="training", tenant=acme)
    node_make("n1", devices=4, group=group)
    node_make("n2", devices=1)
    queue_make(actor=SYSTEM, code="q", name_en="q", name_zh="q",
               changes={"resource_group": "training", "max_compute_percent": 300,
                        "guaranteed_compute_percent": 100})  # fmt: skip
    submit(acme, percent=40, mib=100, queue="q")
    cycle_run(actor=SYSTEM)
    taken = Device.objects.get(held_percent=40).uid
    now = timezone.now()
    Reservation.objects.create(
        name="exam",
        tenant=acme,
        device_uids=[taken],
        from_at=now - timedelta(hours=1),
        to_at=now + timedelta(hours=1),
    )
    api = operator("cluster_administrator").api()

    def figures():
        return api.get("/api/v1/resource-groups/training/figures").json()

    assert figures() == {
        "code": "training",
        "name_en": "Training",
        "name_zh": "训练",
        "kind": "cpu",
        "devices": 4,
        "total_percent": 400,
        "allocated_percent": 40,
        "reserved_percent": 60,
        "available_percent": 300,
        "utilisation_percent": 10,
        "queues": [{"code": "q", "max_percent": 300, "guaranteed_percent": 100}],
    }
    Device.objects.exclude(uid=taken).filter(group=group).update(health="failed")
    assert (figures()["total_percent"], figures()["available_percent"]) == (100, 0)
    Device.objects.filter(uid="n1-d3").update(vendor="nvidia")
    assert figures()["kind"] == "mixed"
    Device.objects.update(group=None)
    assert (figures()["total_percent"], figures()["utilisation_percent"], figures()["kind"]) == (0, 0, "")
    unknown = api.get("/api/v1/resource-groups/nowhere/figures")
    assert unknown.json()["error"]["code"] == "no_such_group"
    stranger = member("acme", "tenant_front_line").api()
    assert stranger.get("/api/v1/resource-groups/training/figures").status_code == 403


@pytest.mark.req("ELA-306", "ELA-307")
def test_a_quota_is_set_changed_and_taken_away(acme, operator, member):
    api = operator("cluster_administrator").api()

    def put(total, schema="acme", item="instances"):
        return api.put(f"/api/v1/quotas/{schema}", {"item": item, "total": total}, format="json").status_code

    assert [put(5), put(7), put(-1), put(5, "nobody"), put(5, item="cards")] == [200, 200, 400, 404, 400]
    assert TenantQuota.plain.get(tenant=acme, item="instances").total == 7
    path = "/api/v1/quotas/acme/instances"
    assert member("acme", "tenant_front_line").api().delete(path).status_code == 403
    assert [api.delete(path).status_code for _again in range(2)] == [204, 404]
    assert api.delete("/api/v1/quotas/nobody/instances").status_code == 404
    assert api.delete("/api/v1/quotas/acme/cards").status_code == 400
    with pytest.raises(QuotaExceeded, match="0 of 0 left"):
        quota_hold(actor=SYSTEM, tenant=acme, holder_uid=uuid4(), amounts={"instances": 1})
    quota_set(actor=SYSTEM, tenant=acme, item="instances", total=9)
    TenantQuota.plain.filter(tenant=acme, item="instances").update(allocated=2)
    with pytest.raises(Conflict, match="2 are allocated"):
        quota_remove(actor=SYSTEM, tenant=acme, item="instances")
