from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
from django.db import connection

from apps.centre.services import centre_quotas_set
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, Forbidden, InvalidInput, QuotaExceeded
from apps.scheduling.models import QuotaHold
from apps.scheduling.selectors.workloads import quota_get
from apps.scheduling.services.quota.quotas import quota_hold, quota_release, quota_set, quota_use
from apps.tenancy.models import Tenant


def hold(tenant, uid=None, **amounts):
    uid = uid or uuid4()
    quota_hold(actor=SYSTEM, tenant=tenant, holder_uid=uid, amounts=amounts)
    return uid


@pytest.fixture
def quota(db, acme, globex):
    for tenant in (acme, globex):
        quota_set(actor=SYSTEM, tenant=tenant, item="instances", total=4)
    return acme


@pytest.mark.req("PLAT-TEN-11")
def test_a_hold_moves_from_in_process_to_used_and_back(quota, globex):
    uid = hold(quota, instances=3)
    figures = quota_get(quota)["instances"]
    assert (figures.total, figures.in_process, figures.used, figures.left) == (4, 3, 0, 1)
    quota_use(actor=SYSTEM, tenant=quota, holder_uid=uid)
    figures = quota_get(quota)["instances"]
    assert (figures.in_process, figures.used) == (0, 3)
    quota_release(actor=SYSTEM, tenant=quota, holder_uid=uid)
    quota_release(actor=SYSTEM, tenant=quota, holder_uid=uid)
    assert quota_get(quota)["instances"].left == 4
    assert quota_get(globex)["instances"].left == 4


@pytest.mark.req("PLAT-TEN-12")
def test_beyond_the_quota_is_refused_with_the_figures_and_leaves_nothing(quota):
    hold(quota, instances=1)
    with pytest.raises(QuotaExceeded, match=r"3 of 4.*8"):
        hold(quota, instances=8)
    assert QuotaHold.objects.of(quota).count() == 1


@pytest.mark.req("PLAT-TEN-12", "PLAT-CFG-36")
def test_where_no_quotas_are_kept_more_is_counted_and_not_refused(quota):
    uid = hold(quota, instances=3)
    centre_quotas_set(actor=SYSTEM, keeps_quotas=False)
    more = hold(quota, instances=8)
    figures = quota_get(quota)["instances"]
    assert (figures.total, figures.in_process, figures.left) == (4, 11, 0)
    centre_quotas_set(actor=SYSTEM, keeps_quotas=True)
    quota_release(actor=SYSTEM, tenant=quota, holder_uid=uid)
    with pytest.raises(QuotaExceeded, match=r"0 of 4.*8 used"):
        hold(quota, instances=1)
    quota_release(actor=SYSTEM, tenant=quota, holder_uid=more)
    hold(quota, instances=4)


def test_one_refused_item_refuses_all(quota):
    quota_set(actor=SYSTEM, tenant=quota, item="compute_percent", total=100)
    with pytest.raises(QuotaExceeded):
        hold(quota, instances=1, compute_percent=101)
    assert not QuotaHold.objects.of(quota).exists()


def test_holding_twice_for_one_form_is_refused_until_it_was_released(quota):
    uid = hold(quota, instances=1)
    with pytest.raises(Conflict):
        hold(quota, uid, instances=1)
    quota_release(actor=SYSTEM, tenant=quota, holder_uid=uid)
    hold(quota, uid, instances=2)
    assert quota_get(quota)["instances"].in_process == 2


@pytest.mark.parametrize(("item", "total"), [("instances", -1), ("bananas", 1), ("instances", 10**13)])
def test_absurd_quotas_are_refused(quota, item, total):
    with pytest.raises(InvalidInput):
        quota_set(actor=SYSTEM, tenant=quota, item=item, total=total)


def test_only_who_may_sets_a_quota(quota, operator):
    with pytest.raises(Forbidden):
        quota_set(actor=operator("executive").actor, tenant=quota, item="instances", total=9)
    quota_set(actor=operator("cluster_administrator").actor, tenant=quota, item="instances", total=9)


@pytest.mark.req("ELA-109")
def test_of_parallel_asks_for_the_last_of_a_quota_exactly_one_wins(committed):
    tenant = Tenant.objects.get(schema_name="acme")
    quota_set(actor=SYSTEM, tenant=tenant, item="instances", total=1)

    def ask(_number):
        try:
            return hold(tenant, instances=1)
        except QuotaExceeded:
            return None
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        won = [uid for uid in pool.map(ask, range(8)) if uid]
    assert len(won) == 1
    assert quota_get(tenant)["instances"].in_process == 1
