"""What each role is shown it may do: from its menu on, over links and parts of pages, no link leads to a page and no
button to an act that the role is refused (PLAT-TEN-32).

Nothing is listed: pages are walked as a reader walks them, one of each kind, and every form on them is sent as it
stands.
"""

from collections import deque
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

import pytest
from django.db import connection, transaction
from django.test import Client
from django.urls import Resolver404, resolve

from apps.identity.models import User
from apps.identity.services.operators import operator_role_bind
from apps.identity.services.users import membership_add, user_create
from apps.kernel.actor import SYSTEM
from apps.kernel.planes import in_tenant
from apps.orgs.models import Organization, TenantRole
from apps.orgs.services.organizations import member_add
from apps.orgs.services.roles import role_bind
from apps.tenancy.models import Tenant
from portal.roles import OPERATOR_ROLES, TENANT_ROLES

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.xdist_group("world"),
    pytest.mark.req("PLAT-TEN-32", "PLAT-SEC-4"),
]

# What is about the reader himself: a role that changes nothing else may send these (`service(own=True)`).
OWN = {
    "identity:logout", "identity:role", "identity:tokens", "identity:token_revoke", "identity:password",
    "set_language", "notices:mark", "notices:read_all", "notices:open", "tour:begin", "tour:end",
}  # fmt: skip
# Ends what the walk stands on, or leads out of the portal.
NOT_SENT = {"identity:logout", "identity:role"}
MOST_PAGES = 400


@dataclass
class Found(HTMLParser):
    """The links, the parts that a page loads, and the forms of one page."""

    links: list[str] = field(default_factory=list)
    forms: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self._fields: dict[str, str] | None = None
        self._select = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        for name in ("href", "hx-get"):
            if (name == "hx-get" or tag == "a") and given.get(name):
                self.links.append(given[name])
        if tag == "form":
            self._fields = {}
        sent = given.get("hx-post") or given.get("hx-delete") or given.get("formaction")
        if tag == "form" and given.get("method", "").lower() == "post":
            sent = given.get("action") or sent or ""
        if sent is not None:
            self.forms.append((sent, self._fields if self._fields is not None else {}))
        self._field(tag, given)

    def _field(self, tag: str, given: dict[str, str]) -> None:
        if self._fields is None:
            return
        name = given.get("name", "")
        if tag == "select":
            self._select = name
        elif tag == "option" and self._select:
            if "selected" in given or self._fields.get(self._select, "") == "":
                self._fields[self._select] = given.get("value", "")
        elif name and tag in ("input", "button", "textarea"):
            is_off = given.get("type") in ("checkbox", "radio") and "checked" not in given
            if not is_off or given.get("type") == "radio":
                self._fields.setdefault(name, given.get("value", ""))

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._fields = None
        elif tag == "select":
            self._select = ""


class Reader:
    """Somebody in one role, who opens one page of each kind that he is shown the way to."""

    def __init__(self, user: User, role: str, host: str) -> None:
        self.client = Client(headers={"host": host, "weir-role": role})
        self.client.force_login(user)
        self.tenant = host.partition(".")[0] if "." in host else ""
        self.pages: set[str] = set()
        self.refused: list[str] = []
        self.forms: dict[str, tuple[str, dict[str, str], str]] = {}

    def view_of(self, path: str) -> str:
        """What serves an address; "" for what is no page of the portal."""
        urls, entered = ("portal.urls_tenant", path) if self.tenant else ("portal.urls_provider", path)
        side = ""
        if not self.tenant and path.startswith("/t/"):
            urls, entered, side = "portal.urls_tenant", "/" + path.split("/", 3)[3], "in tenant "
        try:
            return side + resolve(entered, urls).view_name
        except Resolver404:
            return ""

    def walk(self) -> None:
        waiting = deque([("/", "")])
        while waiting:
            path, shown_on = waiting.popleft()
            view = self.view_of(urlsplit(path).path)
            if not view or view in self.pages or "logout" in view:
                continue
            self.pages.add(view)
            assert len(self.pages) < MOST_PAGES
            page = self._opened(path, shown_on)
            if page is None:
                continue
            waiting.extend((urljoin(path, link), view) for link in page.links if _is_here(link))
            for address, given in page.forms:
                target = urljoin(path, address) if address else path
                act = f"{self.view_of(urlsplit(target).path)} {given.get('act', '')}".strip()
                self.forms.setdefault(act, (target, given, view))

    def _opened(self, path: str, shown_on: str) -> Found | None:
        answer = self.client.get(path, follow=True)
        assert answer.status_code < 500, path
        if answer.status_code == 403:
            self.refused.append(f"{path} (shown on {shown_on})")
            return None
        if (
            answer.streaming
            or not answer["Content-Type"].startswith("text/html")
            or answer.status_code != 200
        ):
            return None
        found = Found()
        found.feed(answer.content.decode())
        return found

    def refusals(self) -> list[str]:
        """The forms whose act is refused to the role. Each is sent as it stands, and what it did is undone."""
        found = []
        for act, (path, given, shown_on) in self.forms.items():
            if act.split(" ")[0] in NOT_SENT:
                continue
            with transaction.atomic():
                answer = self.client.post(path, given)
                transaction.set_rollback(True)
            connection.set_schema_to_public()
            if answer.status_code == 403:
                found.append(f"{act}: {path} (shown on {shown_on})")
        return found


def _is_here(link: str) -> bool:
    return not link.startswith(("http:", "https:", "mailto:", "#", "//")) and "logout" not in link


@pytest.fixture
def operator_of(world):
    user = user_create(
        actor=SYSTEM, username="walker", display_name="Walker", password="correct-horse-9", is_operator=True
    )
    for role in OPERATOR_ROLES:
        operator_role_bind(actor=SYSTEM, user=user, role_code=role.code)
    return lambda role: Reader(user, role, "localhost")


@pytest.fixture
def member_of(world):
    tenant = Tenant.objects.get(schema_name="acme")
    user = user_create(actor=SYSTEM, username="walker", display_name="Walker", password="correct-horse-9")
    membership_add(actor=SYSTEM, user=user, tenant=tenant)
    with in_tenant("acme"):
        place = Organization.objects.get(uid=world.uids["acme"]["organization"])
        member_add(actor=SYSTEM, user=user, organization=place)
        for role in TENANT_ROLES:
            role_bind(actor=SYSTEM, user=user, role=TenantRole.objects.get(code=role.code))
    return lambda role: Reader(user, role, "acme.localhost")


@pytest.mark.parametrize("role", [role.code for role in OPERATOR_ROLES])
def test_an_operator_is_shown_nothing_that_his_role_refuses(operator_of, role):
    reader = operator_of(role)
    reader.walk()
    assert len(reader.pages) > 20
    assert reader.refused == []
    assert reader.refusals() == []


@pytest.mark.parametrize("role", [role.code for role in TENANT_ROLES])
def test_a_tenants_person_is_shown_nothing_that_his_role_refuses(member_of, role):
    reader = member_of(role)
    reader.walk()
    assert len(reader.pages) > 12
    assert reader.refused == []
    assert reader.refusals() == []


def test_who_changes_nothing_is_shown_no_button_but_those_about_himself(operator_of):
    reader = operator_of("executive")
    reader.walk()
    acts = {act.split(" ")[0]: shown_on for act, (_path, _given, shown_on) in reader.forms.items()}
    assert {act: at for act, at in acts.items() if act.removeprefix("in tenant ") not in OWN} == {}
