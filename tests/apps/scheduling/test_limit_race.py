"""A user's limit holds for submissions that come at the same time."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from apps.billing.services.ledger import account_open
from apps.kernel.acts import SYSTEM
from apps.kernel.errors import QuotaExceeded
from apps.scheduling.models import Workload
from apps.scheduling.services.quota import quota_defaults
from apps.scheduling.services.rights import default_spec_set
from tests.apps.scheduling.pool import node_make
from tests.apps.scheduling.test_limits import ask


@pytest.fixture
def crowd(committed, acme, globex, member):
    for tenant in (acme, globex):
        quota_defaults(actor=SYSTEM, tenant=tenant)
        account_open(actor=SYSTEM, tenant=tenant)
    node_make("n1", devices=4)
    return member("acme", "tenant_front_line")


@pytest.mark.req("PLAT-CLU-31")
def test_of_submissions_at_once_no_more_get_in_than_the_limit_lets(crowd, acme):
    default_spec_set(actor=SYSTEM, instances=2)

    def one(_number):
        try:
            return ask(crowd, acme, wait_for_quota=True).no
        except QuotaExceeded:
            return ""
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        made = list(filter(None, pool.map(one, range(6))))
    assert len(made) == len(set(made)) == 2
    assert Workload.plain.count() == 2
