"""The tenant and the people that a run acts as: made once, named for what they are, disabled between runs."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from weir import Client

from apps.billing.services.ledger import DEPOSIT_LIMIT, account_open, credit_limit_set
from apps.identity.models import User
from apps.identity.services.operators import operator_role_bind
from apps.identity.services.tokens import api_token_make
from apps.identity.services.users import membership_add, user_create, user_disable, user_enable
from apps.kernel.actor import SYSTEM
from apps.kernel.planes import in_tenant
from apps.orgs.models import TenantRole
from apps.orgs.services.roles import role_bind
from apps.scheduling.services.quota.quotas import quota_set
from apps.tenancy.models import Tenant
from apps.tenancy.selectors import tenant_list
from apps.tenancy.services import tenant_provision

SCHEMA = "conformance"
OPERATOR = "conformance-operator"
CLIENTS = ("conformance-client-1", "conformance-client-2")
OPERATOR_ROLE = "system_administrator"
CLIENT_ROLE = "tenant_front_line"
# Its books are its own: what it may owe is nobody's money.
CREDIT = DEPOSIT_LIMIT
QUOTA = {
    "instances": 64,
    "compute_percent": 6400,
    "gpu_memory_mib": 2**30,
    "host_cpu_milli": 10**6,
    "host_memory_mib": 2**30,
}


@dataclass(frozen=True)
class People:
    """Signed-in callers of the API: one operator and two clients of one tenant. `tokens` are by username."""

    operator: Client
    first: Client
    second: Client
    tokens: dict[str, str]
    agent: str = ""

    def at(self, url: str) -> "People":
        """These people, with the tokens they have, at another address of this centre."""
        return _signed_in(url, self.tokens, self.agent)

    @contextmanager
    def for_test(self, number: str) -> Iterator["People"]:
        """These people as one test's callers: the portal's access log tells which test asked."""
        found = _signed_in(self.operator.url, self.tokens, caller_name(number))
        with found.operator, found.first, found.second:
            yield found


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


def caller_name(number: str) -> str:
    """What a test's callers call themselves to the portal: the header User-Agent."""
    return f"weir-conformance/{number}"


def people_leave() -> None:
    """Nobody acts as them any more: their tokens end at once."""
    for user in User.objects.filter(username__in=[OPERATOR, *CLIENTS], is_active=True):
        user_disable(actor=SYSTEM, user=user)


def _signed_in(url: str, tokens: dict[str, str], agent: str = "") -> People:
    first, second = (Client(url, tokens[name], tenant=SCHEMA, agent=agent) for name in CLIENTS)
    operator = Client(url, tokens[OPERATOR], role=OPERATOR_ROLE, agent=agent)
    return People(operator, first, second, tokens, agent)


def _tenant() -> Tenant:
    found = tenant_list().filter(schema_name=SCHEMA).first()
    tenant = found or tenant_provision(actor=SYSTEM, schema=SCHEMA, name="Conformance test")
    for item, total in QUOTA.items():
        quota_set(actor=SYSTEM, tenant=tenant, item=item, total=total)
    account_open(actor=SYSTEM, tenant=tenant, has_own_books=True)
    credit_limit_set(actor=SYSTEM, tenant=tenant, amount=CREDIT, reason="the acceptance test's own books")
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
