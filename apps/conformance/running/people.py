"""The tenant and the people that a run acts as: made once, named for what they are, disabled between runs."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal

from weir import Client

from apps.billing.selectors import account_get
from apps.billing.services.ledger import account_deposit, account_open
from apps.identity.models import User
from apps.identity.services import (
    api_token_make,
    membership_add,
    operator_role_bind,
    user_create,
    user_disable,
    user_enable,
)
from apps.kernel.acts import SYSTEM
from apps.kernel.planes import in_tenant
from apps.orgs.models import TenantRole
from apps.orgs.services import role_bind
from apps.scheduling.services.quota import quota_set
from apps.tenancy.models import Tenant
from apps.tenancy.selectors import tenant_list
from apps.tenancy.services import tenant_provision

SCHEMA = "conformance"
OPERATOR = "conformance-operator"
CLIENTS = ("conformance-client-1", "conformance-client-2")
OPERATOR_ROLE = "system_administrator"
CLIENT_ROLE = "tenant_front_line"
QUOTA = {"instances": 64, "compute_percent": 6400, "gpu_memory_mib": 2**30}
_DEPOSIT = Decimal("100000.00")


@dataclass(frozen=True)
class People:
    """Signed-in callers of the API: one operator and two clients of one tenant. `tokens` are by username."""

    operator: Client
    first: Client
    second: Client
    tokens: dict[str, str]

    def at(self, url: str) -> "People":
        """The same people at another address of the same centre."""
        return _signed_in(url, self.tokens)


@contextmanager
def people(url: str) -> Iterator[People]:
    """Let them in for the length of a run; their tokens end with it."""
    tenant = _tenant()
    users = [_operator(), *(_client(name, tenant) for name in CLIENTS)]
    tokens = {}
    for user in users:
        user_enable(actor=SYSTEM, user=user)
        scope = None if user.is_operator else tenant
        user.refresh_from_db()
        tokens[user.username] = api_token_make(
            actor=SYSTEM, user=user, name="conformance", days=1, tenant=scope
        )[1]
    try:
        yield _signed_in(url, tokens)
    finally:
        people_leave()


def people_leave() -> None:
    """Nobody acts as them any more: their tokens end at once."""
    for user in User.objects.filter(username__in=[OPERATOR, *CLIENTS], is_active=True):
        user_disable(actor=SYSTEM, user=user)


def _signed_in(url: str, tokens: dict[str, str]) -> People:
    first, second = (Client(url, tokens[name], tenant=SCHEMA) for name in CLIENTS)
    return People(Client(url, tokens[OPERATOR], role=OPERATOR_ROLE), first, second, tokens)


def _tenant() -> Tenant:
    found = tenant_list().filter(schema_name=SCHEMA).first()
    tenant = found or tenant_provision(actor=SYSTEM, schema=SCHEMA, name="Conformance test")
    for item, total in QUOTA.items():
        quota_set(actor=SYSTEM, tenant=tenant, item=item, total=total)
    if account_get(tenant) is None:
        account_open(actor=SYSTEM, tenant=tenant)
        account_deposit(actor=SYSTEM, tenant=tenant, amount=_DEPOSIT, reference="conformance")
    return tenant


def _operator() -> User:
    user = _user(OPERATOR, "Conformance test, operator", is_operator=True)
    operator_role_bind(actor=SYSTEM, user=user, role_code=OPERATOR_ROLE)
    return user


def _client(name: str, tenant: Tenant) -> User:
    user = _user(name, f"Conformance test, client {name[-1]}", is_operator=False)
    membership_add(actor=SYSTEM, user=user, tenant=tenant)
    with in_tenant(SCHEMA):
        role_bind(actor=SYSTEM, user=user, role=TenantRole.objects.get(code=CLIENT_ROLE))
    return user


def _user(name: str, title: str, *, is_operator: bool) -> User:
    found = User.objects.filter(username=name).first()
    # Nobody signs in with this password: it is kept nowhere.
    return found or user_create(
        actor=SYSTEM,
        username=name,
        display_name=title,
        password=secrets.token_urlsafe(32),
        email=f"{name}@example.org",
        is_operator=is_operator,
    )
