"""Who works on the pool of the scheduling tests."""

import pytest

from apps.kernel.actor import SYSTEM
from apps.scheduling.services.quota.quotas import quota_defaults
from tests.apps.scheduling.pool import node_make
from tests.harness.money import account_ready


@pytest.fixture
def alice(db, acme, globex, member):
    """A member of acme on the front line, before four devices and with the quota that tenants have at first."""
    for tenant in (acme, globex):
        quota_defaults(actor=SYSTEM, tenant=tenant)
        account_ready(tenant)
    node_make("n1", devices=4)
    return member("acme", "tenant_front_line")
