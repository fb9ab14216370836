"""Fixtures every test may use: the real database, two tenants (acme, globex), people in every role."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import psycopg
import pytest
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command
from django.db import connection, connections
from django.test import Client
from django.utils import timezone, translation
from rest_framework.test import APIClient

from apps.centre.selectors import centre_forget
from apps.centre.services import centre_open
from apps.identity.models import User
from apps.identity.services.operators import operator_role_bind
from apps.identity.services.tokens import api_token_make
from apps.identity.services.users import membership_add, user_create
from apps.kernel.actor import SYSTEM, Actor
from apps.kernel.planes import in_tenant
from apps.orgs.models import TenantRole
from apps.orgs.selectors.roles import reach_of
from apps.orgs.services.roles import role_bind
from apps.tenancy.models import Tenant
from apps.tenancy.services import tenant_provision
from portal.devstack.servers.servers import Servers
from tests.harness import database
from tests.harness.portal import SHARED, journey, stack  # noqa: F401
from tests.harness.ray import ray  # noqa: F401
from tests.harness.slurm import slurm  # noqa: F401

PASSWORD = "correct-horse-9"
# Groups, and folders of what is in none, by the time they take, the longest first.
LONGEST = ("conformance", "portal", "portal pages", "high availability", "engines", "engine ray", "agent", "pool",
           "upgrade", "shim", "stack", "tls", "tests/sessions", "world")  # fmt: skip


@dataclass(frozen=True)
class Person:
    """Somebody who can act: the user, the actor for services, and clients for pages and API."""

    user: User
    actor: Actor
    host: str

    def page(self) -> Client:
        """A signed-in browser on the person's own host."""
        client = Client(headers={"host": self.host}, raise_request_exception=True)
        client.force_login(self.user)
        return client

    def api(self) -> APIClient:
        """An API client with a bearer token, on the provider's host: the token says which tenant."""
        tenant = Tenant.objects.get(schema_name=self.actor.tenant) if self.actor.tenant else None
        _token, secret = api_token_make(actor=SYSTEM, user=self.user, name="test", tenant=tenant)
        client = APIClient(headers={"host": "localhost"})
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
        return client


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest and cannot be shared out begins first; no test leaves people behind in the database."""
    if stray := [item.nodeid for item in items if _leaves_people(item)]:
        raise pytest.UsageError(
            "what these make stays for all tests after them; mark them django_db or ask for `committed`: "
            + ", ".join(stray)
        )
    items.sort(key=_turn)


def _leaves_people(item: pytest.Item) -> bool:
    """Whether it makes people and nothing takes them back: the database is open to every test of a worker."""
    asked = set(getattr(item, "fixturenames", ()))
    is_taken_back = asked & {"db", "committed"} or item.get_closest_marker("django_db")
    return bool(asked & {"member", "operator", "acme", "globex"}) and not is_taken_back


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """The shared portal ends with the last of the tests in a row that use it."""
    module = getattr(nextitem, "module", None)
    # Some modules have a portal of their own, under the same name.
    is_asked = "stack" in getattr(nextitem, "fixturenames", ()) and "stack" not in vars(module)
    # What looks at all pages finds there nothing of other stories.
    if not is_asked or nextitem is None or _group(item) != _group(nextitem):
        SHARED.stop()


def pytest_sessionfinish() -> None:
    """Broken off, too."""
    SHARED.stop()


def _group(item: pytest.Item) -> str:
    """The name of those that share a worker with it; "" where it shares none."""
    mark = item.get_closest_marker("xdist_group")
    return mark.args[0] if mark else ""


def _turn(item: pytest.Item) -> int:
    name = _group(item) or item.nodeid.partition("/test_")[0]
    return LONGEST.index(name) if name in LONGEST else len(LONGEST)


@pytest.fixture(scope="session")
def django_db_setup(django_db_blocker: object, request: pytest.FixtureRequest) -> Iterator[None]:
    """A clone of the template with the present migrations, a centre set up, and two tenants; gone afterwards."""
    with Servers(database.VAR, durable=database.DURABLE) as urls, django_db_blocker.unblock():
        for name, value in database.parts(urls.database).items():
            connections["default"].settings_dict[name] = value
        template = f"weir_tpl_{database.fingerprint()}"
        worker = os.environ.get("PYTEST_XDIST_WORKER", "")
        name = f"test_weir{os.environ.get('WEIR_TEST_SUFFIX', '')}{worker}_{os.getpid()}"
        with database.connect(urls.database, "postgres") as admin:
            with database.turn():
                if not database.exists(admin, template):
                    _template_make(admin, template)
                database.create(admin, name, template)
            database.use(name)
            yield
            connections.close_all()
            database.drop(admin, name)


def _template_make(admin: object, template: str) -> None:
    database.old_templates_drop(admin)
    building = f"{template}_new"
    database.create(admin, building)
    database.use(building)
    call_command("migrate_schemas", verbosity=0, interactive=False)
    centre_open(actor=SYSTEM, language="en", timezone="Asia/Shanghai")
    for schema, title in database.TENANTS.items():
        tenant_provision(actor=SYSTEM, schema=schema, name=title)
    connection.close()
    admin.execute(f'ALTER DATABASE "{building}" RENAME TO "{template}"')


@pytest.fixture(scope="session")
def database_admin(django_db_setup: None) -> Iterator[psycopg.Connection]:
    """A connection from which databases are made, copied and dropped."""
    settings = connections["default"].settings_dict
    with psycopg.connect(
        host=settings["HOST"] or None,
        port=settings["PORT"] or None,
        user=settings["USER"],
        password=settings["PASSWORD"] or None,
        dbname="postgres",
        autocommit=True,
    ) as admin:
        yield admin


@pytest.fixture(scope="session")
def baseline(django_db_setup: None, django_db_blocker: object) -> Iterator[database.Baseline]:
    with django_db_blocker.unblock():
        settings = connection.settings_dict
        connect = partial(
            psycopg.connect,
            host=settings["HOST"] or None,
            port=settings["PORT"] or None,
            user=settings["USER"],
            password=settings["PASSWORD"] or None,
            dbname=settings["NAME"],
            autocommit=True,
        )
        yield database.Baseline(connect)


@pytest.fixture
def committed(baseline: database.Baseline, django_db_blocker: object) -> Iterator[None]:
    """For tests that need real commits (threads, several connections): a clean slate afterwards."""
    with django_db_blocker.unblock():
        connection.set_schema_to_public()
        yield
        connection.set_schema_to_public()
        connections.close_all()
        baseline.restore()
        ContentType.objects.clear_cache()


@pytest.fixture(autouse=True)
def _public_plane(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every test begins and ends on the provider plane, and in the tests' language."""
    yield
    # A request leaves its language and zone on its thread.
    translation.deactivate()
    timezone.deactivate()
    # What the next test finds in its database is another row.
    centre_forget()
    if "db" in request.fixturenames or "committed" in request.fixturenames:
        connection.set_schema_to_public()


@pytest.fixture
def acme() -> Tenant:
    return Tenant.objects.get(schema_name="acme")


@pytest.fixture
def globex() -> Tenant:
    return Tenant.objects.get(schema_name="globex")


@pytest.fixture
def member() -> Callable[..., Person]:
    """`member("acme", "tenant_front_line")`: a new person with that role in that tenant."""
    made = 0

    def make(schema: str, role: str, username: str = "") -> Person:
        nonlocal made
        made += 1
        tenant = Tenant.objects.get(schema_name=schema)
        name = username or f"{schema}.{role.removeprefix('tenant_')}.{made}"
        user = user_create(actor=SYSTEM, username=name, display_name=name, password=PASSWORD)
        membership_add(actor=SYSTEM, user=user, tenant=tenant)
        with in_tenant(schema):
            row = TenantRole.objects.get(code=role)
            role_bind(actor=SYSTEM, user=user, role=row)
            permissions = frozenset(row.permissions)
            reach = reach_of(user.pk, row.data_permission, None)
        actor = Actor("user", name, user.pk, schema, role, permissions, reach)
        return Person(user, actor, f"{schema}.localhost")

    return make


@pytest.fixture
def operator() -> Callable[..., Person]:
    """`operator("operations_manager")`: a new operator with that role; `schema=` to act inside a tenant."""
    made = 0

    def make(role: str, schema: str = "", username: str = "") -> Person:
        nonlocal made
        made += 1
        name = username or f"op.{role}.{made}"
        user = user_create(
            actor=SYSTEM, username=name, display_name=name, password=PASSWORD, is_operator=True
        )
        binding = operator_role_bind(actor=SYSTEM, user=user, role_code=role)
        permissions = frozenset(binding.role.permissions)
        actor = Actor("operator", name, user.pk, schema, role, permissions)
        return Person(user, actor, "localhost")

    return make
