"""Every list and every page, opened by somebody whose role has every function and reaches nothing of others.

The routes are walked, not listed, and what is looked for is whatever the world of `tests/factories/world.py` holds: a
list that is added tomorrow is tried tomorrow.
"""

import pytest
from django.test import Client
from rest_framework.test import APIClient

from apps.identity.models import User
from apps.identity.rules.role_functions import RoleDraft, Side, functions_of
from apps.identity.services.tokens import api_token_make
from apps.identity.services.users import membership_add, user_create
from apps.kernel.actor import SYSTEM
from apps.kernel.planes import in_tenant
from apps.kernel.reach import EVERYTHING, DataPermission
from apps.orgs.models import Organization
from apps.orgs.services.organizations import member_add
from apps.orgs.services.own_roles import role_make
from apps.orgs.services.roles import role_bind
from apps.tenancy.models import Tenant
from tests.contracts.test_isolation import API, ONE_UID, PAGES, SKIPPED
from tests.factories.world import World

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("world")]

# What everybody sees who has the function, and why no data permission bounds it.
FOR_ALL = {
    "commodity": "the catalogue is the centre's",
    "activity": "so are its coupon activities",
    "organization": "the tree is the tenant's frame: people choose from it and hold no records in it",
    "coupon": "a coupon was claimed for the whole tenant, and pays whichever bill it is used for",
}

# By what address of the API each kind is opened; parts of others are opened by theirs.
OWN_ADDRESS = {
    "form": "application-forms", "waiting_form": "application-forms", "order": "orders", "resource": "workloads",
    "ticket": "tickets", "request": "tickets", "task": "tasks", "waiting_task": "tasks", "bill": "bills",
    "person": "people", "volume": "volumes", "asset": "assets", "business_system": "business-systems",
    "image": "images", "image_version": "image-versions", "image_build": "image-builds",
}  # fmt: skip
PARTS = {
    "cart": "cart", "attachment": "attachments", "request_file": "ticket-files", "bill_line": "bills",
    "upload": "uploads", "message": "messages", "invitation": "invitations",
    "service_key": "service-keys", "access_key": "access-keys",
}  # fmt: skip


class Clerk:
    """Somebody of acme in a role of every function that reaches so far; of an organization of nobody else's."""

    def __init__(self, data: DataPermission, name: str) -> None:
        tenant = Tenant.objects.get(schema_name="acme")
        user = user_create(actor=SYSTEM, username=name, display_name=name, password="correct-horse-9")
        membership_add(actor=SYSTEM, user=user, tenant=tenant)
        with in_tenant("acme"):
            functions = [row.permission for row in functions_of(Side.TENANT)]
            role_bind(
                actor=SYSTEM,
                user=user,
                role=role_make(actor=SYSTEM, draft=RoleDraft(name, functions, data=data)),
            )
            place = Organization.objects.create(name=f"Office of {name}")
            member_add(actor=SYSTEM, user=user, organization=place)
        self.api = APIClient(headers={"host": "localhost"})
        _token, secret = api_token_make(actor=SYSTEM, user=user, name="test", tenant=tenant)
        self.api.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
        self.page = Client(headers={"host": "acme.localhost"})
        self.page.force_login(User.objects.get(pk=user.pk))

    def seen(self, world: World, paths: list[str]) -> dict[str, set[str]]:
        """By path what it shows of others."""
        found = {}
        for path in paths:
            answer = (self.api if path in API else self.page).get(f"/{path}")
            body = b"".join(answer.streaming_content) if answer.streaming else answer.content
            shown = told(world, body.decode(errors="replace"))
            if shown:
                found[path] = shown
        return found


LISTS = [path for path in API if not ONE_UID.search(path) and path not in SKIPPED]
OPENED = [path for path in PAGES if "<" not in path]
DETAILS = [
    path for path in API if len(ONE_UID.findall(path)) == 1 and path not in SKIPPED and "get" in API[path]
]


def told(world: World, body: str, asked: str = "") -> set[str]:
    owned = {kind: uid for kind, uid in world.uids["acme"].items() if kind not in FOR_ALL}
    shown = {kind for kind, uid in owned.items() if uid in body and uid != asked}
    return shown | ({"remark"} if "secret plan" in body else set())


@pytest.mark.req("PLAT-SEC-4", "PLAT-SEC-3", "PLAT-TEN-32")
def test_no_list_and_no_page_shows_what_its_reader_does_not_reach(world):
    assert set(FOR_ALL) < set(world.uids["acme"])
    assert len(LISTS) > 15
    assert len(OPENED) > 30
    wide = Clerk(EVERYTHING, "wide").seen(world, LISTS)
    every = set().union(*wide.values())
    assert {"form", "order", "resource", "ticket", "bill", "person", "invitation", "volume"} <= every, every
    assert Clerk(DataPermission(), "near").seen(world, [*LISTS, *OPENED]) == {}


@pytest.mark.req("PLAT-SEC-4")
def test_no_detail_answers_for_what_its_reader_does_not_reach(world):
    clerk = Clerk(DataPermission(), "close")
    assert len(DETAILS) > 20
    kinds = {**OWN_ADDRESS, **PARTS}
    assert set(world.uids["acme"]) == {*FOR_ALL, *kinds}, "a new kind needs the address by which it is opened"
    tried = dict.fromkeys(kinds, 0)
    for path in DETAILS:
        for kind, address in kinds.items():
            if path.startswith(f"api/v1/{address}/<"):
                tried[kind] += 1
                uid = world.uids["acme"][kind]
                answer = clerk.api.get("/" + ONE_UID.sub(uid, path))
                assert answer.status_code in {400, 403, 404}, (path, kind, answer.status_code)
                assert told(world, answer.content.decode(), uid) == set(), (path, kind)
    assert [kind for kind in OWN_ADDRESS if not tried[kind]] == []
