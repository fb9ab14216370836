"""What bounds a user holds for submissions that come at the same time."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction

from apps.kernel.actor import SYSTEM
from apps.kernel.errors import QuotaExceeded
from apps.scheduling.errors import TooMuchOpen
from apps.scheduling.models import Workload
from apps.scheduling.services.entitlements.access_rules import default_spec_set
from apps.scheduling.services.queues.queue_settings import policy_set
from apps.scheduling.services.quota.quotas import quota_defaults
from apps.scheduling.services.workloads.bulk import workload_submit_many
from apps.scheduling.types import WorkloadRequest
from tests.apps.scheduling.pool import node_make
from tests.apps.scheduling.test_limits import ask
from tests.harness.money import account_ready


@pytest.fixture
def crowd(committed, acme, globex, member):
    for tenant in (acme, globex):
        quota_defaults(actor=SYSTEM, tenant=tenant)
        account_ready(tenant)
    node_make("n1", devices=4)
    return member("acme", "tenant_front_line")


@pytest.mark.req("PLAT-CLU-31")
def test_of_submissions_at_once_no_more_get_in_than_the_limit_lets(crowd, acme):
    default_spec_set(actor=SYSTEM, instances=2)

    made = at_once(lambda: [ask(crowd, acme, wait_for_quota=True)], QuotaExceeded)
    assert len(made) == len(set(made)) == 2
    assert Workload.plain.count() == 2


@pytest.mark.req("ELA-507")
def test_of_submissions_at_once_no_more_get_in_than_may_be_open(crowd, acme):
    policy_set(actor=SYSTEM, changes={"max_open_per_user": 3})
    assert len(at_once(lambda: [ask(crowd, acme, wait_for_quota=True)], TooMuchOpen)) == 3
    assert Workload.plain.count() == 3


@pytest.mark.req("ELA-507")
def test_of_many_submitted_at_once_no_more_get_in_than_may_be_open(crowd, acme):
    policy_set(actor=SYSTEM, changes={"max_open_per_tenant": 2_500})
    many = [
        WorkloadRequest(
            name="one of many", argv=("true",), compute_percent=1, memory_mib=64, wait_for_quota=True
        )
    ] * 1_000
    made = at_once(lambda: workload_submit_many(actor=crowd.actor, tenant=acme, asked=many), TooMuchOpen)
    assert len(made) == Workload.plain.count() == 2_000


@pytest.mark.req("ELA-507")
def test_one_does_not_get_in_beside_many_that_fill_all_there_is(crowd, acme):
    policy_set(actor=SYSTEM, changes={"max_open_per_tenant": 1_001})
    many = [
        WorkloadRequest(
            name="one of many", argv=("true",), compute_percent=1, memory_mib=64, wait_for_quota=True
        )
    ]

    def one():
        try:
            return ask(crowd, acme, wait_for_quota=True)
        except TooMuchOpen as refused:
            return refused
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            workload_submit_many(actor=crowd.actor, tenant=acme, asked=many * 1_001)
            told = pool.submit(one)
            with pytest.raises(TimeoutError):
                told.result(timeout=0.5)
        assert isinstance(told.result(), TooMuchOpen), "it waits for the many, and is refused"
    assert Workload.plain.count() == 1_001


def at_once(submit, refusal):
    """The numbers of what six submissions at the same time have put in; the others were refused like that."""

    def one(_number):
        try:
            return [row.no for row in submit()]
        except refusal:
            return []
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        return [no for made in pool.map(one, range(6)) for no in made]
