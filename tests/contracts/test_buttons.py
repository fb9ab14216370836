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
    "set_language", "notices:read", "notices:delete", "notices:read_all", "notices:open", "tours:begin", "tours:end",
    "identity:density", "identity:list_columns", "identity:view_keep", "identity:view_rename", "identity:view_delete",
}  # fmt: skip
# Ends what the walk stands on, or leads out of the portal.
NOT_SENT = {"identity:logout", "identity:role"}
# Who sees every table finds no link among them that he may not follow, and what can be done on each is tried in
# `tests/apps/console/test_admin.py`.
SEE_ALL_TABLES = {"executive", "system_administrator"}
MOST_PAGES = 400


@dataclass
class Form:
    """What a press sends: to where, with which fields; `has_button`: something on the page can be pressed for it."""

    address: str
    fields: dict[str, str] = field(default_factory=dict)
    has_button: bool = False


@dataclass
class Found(HTMLParser):
    """The links, the parts that a page loads, and the forms of one page."""

    links: list[str] = field(default_factory=list)
    forms: list[Form] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self._open: Form | None = None
        self._by_id: dict[str, Form] = {}
        self._pressed: list[str] = []
        self._select = ""

    def read(self, text: str) -> "Found":
        self.feed(text)
        for name in self._pressed:
            if name in self._by_id:
                self._by_id[name].has_button = True
        return self

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        for name in ("href", "hx-get"):
            if (name == "hx-get" or tag == "a") and given.get(name):
                self.links.append(given[name])
        sent = given.get("hx-post") or given.get("hx-delete")
        if tag == "form":
            is_sent = given.get("method", "").lower() == "post" or sent
            self._open = Form(given.get("action") or sent or "")
            # What the page sends by itself needs no button.
            self._open.has_button = "hx-trigger" in given
            self._by_id[given.get("id", "")] = self._open
            if is_sent:
                self.forms.append(self._open)
        elif sent and "disabled" not in given:
            self.forms.append(Form(sent, self._open.fields if self._open else {}, has_button=True))
        self._field(tag, given)

    def _field(self, tag: str, given: dict[str, str]) -> None:
        kind = given.get("type", "submit" if tag == "button" else "")
        is_button = tag in ("button", "input") and kind in ("submit", "image") and "disabled" not in given
        if is_button and given.get("form"):
            self._pressed.append(given["form"])
        if self._open is None:
            return
        self._open.has_button |= is_button and not given.get("form")
        name, fields = given.get("name", ""), self._open.fields
        if tag == "select":
            self._select = name
        elif tag == "option" and self._select:
            if "selected" in given or fields.get(self._select, "") == "":
                fields[self._select] = given.get("value", "")
        elif (
            name
            and tag in ("input", "button", "textarea")
            and not (kind == "checkbox" and "checked" not in given)
        ):
            fields.setdefault(name, given.get("value", ""))

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._open = None
        elif tag == "select":
            self._select = ""


class Reader:
    """Somebody in one role, who opens one page of each kind that he is shown the way to."""

    def __init__(self, user: User, role: str, host: str) -> None:
        self.role = role
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
        if not self.tenant and path.startswith("/t/") and path.count("/") > 2:
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
            if not view or view in self.pages or self._is_left_out(view):
                continue
            self.pages.add(view)
            assert len(self.pages) < MOST_PAGES
            page = self._opened(path, shown_on)
            if page is None:
                continue
            waiting.extend((urljoin(path, link), view) for link in page.links if _is_here(link))
            for form in page.forms:
                if form.has_button:
                    target = urljoin(path, form.address) if form.address else path
                    act = f"{self.view_of(urlsplit(target).path)} {form.fields.get('act', '')}".strip()
                    self.forms.setdefault(act, (target, form.fields, view))

    def _is_left_out(self, view: str) -> bool:
        return "logout" in view or (view.startswith("admin:") and self.role in SEE_ALL_TABLES)

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
        return Found().read(answer.content.decode())

    def refusals(self) -> list[str]:
        """The forms whose act is refused to the role. Each is sent as it stands, and what it did is undone."""
        found = []
        for act, (path, given, shown_on) in self.forms.items():
            if _view_of(act) in NOT_SENT:
                continue
            with transaction.atomic():
                answer = self.client.post(path, given)
                transaction.set_rollback(True)
            connection.set_schema_to_public()
            assert "/login/" not in answer.get("Location", ""), act
            if answer.status_code == 403:
                found.append(f"{act}: {path} (shown on {shown_on})")
        return found

    def acts_of_others(self) -> dict[str, str]:
        """What he is shown to do beside what is about himself, and where: nothing for who changes nothing."""
        acts = {_view_of(act): at for act, (*_sent, at) in self.forms.items()}
        return {act: at for act, at in acts.items() if act not in OWN}


def _view_of(act: str) -> str:
    return act.removeprefix("in tenant ").split(" ")[0]


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
    wrong = [*reader.refused, *reader.refusals()]
    assert not wrong, "\n".join(wrong)
    if role == "executive":
        assert reader.acts_of_others() == {}


@pytest.mark.parametrize("role", [role.code for role in TENANT_ROLES])
def test_a_tenants_person_is_shown_nothing_that_his_role_refuses(member_of, role):
    reader = member_of(role)
    reader.walk()
    assert len(reader.pages) > 12
    wrong = [*reader.refused, *reader.refusals()]
    assert not wrong, "\n".join(wrong)
