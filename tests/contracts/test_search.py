"""The search of the palette: it finds what the reader's lists show, by any part, and nothing of anybody else."""

import re

import pytest

from apps.cases.models import Case
from apps.fleet.models import Node
from apps.identity.models import User
from apps.kernel.planes import in_tenant
from apps.orders.models import ApplicationForm, Order
from apps.scheduling.models import Workload
from apps.storage.models import Volume
from apps.tenancy.models import Tenant

pytestmark = [pytest.mark.django_db, pytest.mark.req("PLAT-TEN-2"), pytest.mark.xdist_group("world")]
ACME, GLOBEX = ("alice", "dan", "olga", "sam"), ("gina", "gil", "greta")


def links(world, who, text, language="en"):
    page = world.page(who)
    page.cookies["django_language"] = language
    answer = page.get("/search/", {"q": text})
    assert answer.status_code == 200
    return set(re.findall(r'href="([^"]+)"', answer.content.decode()))


def names_of_acme():
    """What only acme has, by the words under which it would be found."""
    with in_tenant("acme"):
        numbers = [*ApplicationForm.objects.values_list("uid", "no"), *Order.objects.values_list("uid", "no")]
        numbers += Volume.objects.values_list("uid", "name")
    return [*numbers, *Workload.objects.of("acme").values_list("uid", "no")]


def test_each_finds_what_is_his_own(world):
    with in_tenant("acme"):
        order = Order.objects.order_by("pk").first()
    assert f"/orders/{order.uid}/" in links(world, "alice", order.no)
    # Any part of a number, in any writing.
    assert f"/orders/{order.uid}/" in links(world, "alice", order.no[-6:].lower())
    work = Workload.objects.of("acme").order_by("pk").first()
    assert f"/resources/{work.uid}/" in links(world, "alice", work.no)


def test_nobody_finds_anything_of_another_tenant(world):
    wanted = names_of_acme()
    assert len(wanted) > 3
    for who in GLOBEX:
        for uid, words in wanted:
            assert not [link for link in links(world, who, words) if str(uid) in link], (who, words)
        for person in User.objects.filter(username__in=ACME):
            assert not [link for link in links(world, who, person.username) if str(person.uid) in link]


def test_operators_find_cases_work_nodes_tenants_and_people(world):
    case = Case.objects.across().exclude(kind="task").order_by("pk").first()
    assert case.operator_link in links(world, "ops", case.no)
    assert case.operator_link in links(world, "ops", case.no.lower())
    work = Workload.objects.across().order_by("-pk").first()
    assert f"/t/{work.tenant.schema_name}/resources/{work.uid}/" in links(world, "ops", work.no)
    node = Node.objects.order_by("pk").first()
    assert f"/pool/nodes/{node.uid}/" in links(world, "admin", node.name)
    assert "/tenants/globex/" in links(world, "admin", "globex")
    assert Tenant.objects.filter(schema_name="globex").exists()
    assert [link for link in links(world, "admin", "alice") if "/identity/user/" in link]


def test_a_role_finds_no_more_than_its_pages_show(world):
    """The front line of a tenant sees no bills; a person of the tenant side none of the operators' pages."""
    for who in ACME:
        for link in links(world, who, ""):
            assert world.page(who).get(link).status_code in (200, 302), (who, link)
    for link in links(world, "ops", ""):
        assert world.page("ops").get(link).status_code in (200, 302), link
    assert not [link for link in links(world, "alice", "bill") if link.startswith("/billing/bills/")]


@pytest.mark.parametrize(
    ("language", "words"), [("en", "catalog"), ("zh-hans", "目录"), ("zh-hans", "Catalogue")]
)
def test_pages_are_found_by_their_names_in_either_language(world, language, words):
    assert "/catalogue/" in links(world, "alice", words, language)


@pytest.mark.parametrize("words", ["", " ", "a", "%", "_", "'", "\\", "😀", "x" * 80, "研究", "<script>"])
def test_whatever_is_typed_is_answered(world, words):
    for who in ("alice", "ops"):
        answer = world.page(who).get("/search/", {"q": words})
        assert answer.status_code == 200
        assert b"<script>" not in answer.content


def test_a_text_that_is_too_long_or_of_control_characters_is_refused(world):
    for words in ("x" * 81, "a\x00b"):
        assert world.page("alice").get("/search/", {"q": words}).status_code == 400


def test_who_is_not_signed_in_is_sent_to_sign_in(client):
    answer = client.get("/search/", {"q": "acme"}, headers={"host": "acme.localhost"})
    assert answer.status_code == 302
