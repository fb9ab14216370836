"""Posts, a tenant's and the operators' own: made, renamed, ended, given to people, and what they route (PLAT-TEN-1)."""

import pytest

from apps.identity.models import OperatorPost, User
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import InvalidInput
from apps.kernel.planes import in_tenant
from apps.orgs.models import Member, Post
from apps.orgs.selectors.people import member_ids_of_post
from apps.orgs.services.organizations import organization_create
from apps.orgs.services.people import person_move
from apps.ticketing.models import RoutingRule, TicketCategory
from apps.ticketing.selectors import operators_answering, receiver_text
from apps.ticketing.services.categories import category_create, rule_add

pytestmark = [pytest.mark.django_db, pytest.mark.req("PLAT-TEN-1")]
API = "/api/v1/posts"
OPERATORS = "/api/v1/operator-posts"


@pytest.fixture
def admin(member):
    return member("acme", "tenant_system_administrator", "ada")


@pytest.fixture
def eva(member):
    person = member("acme", "tenant_front_line", "eva")
    with in_tenant("acme"):
        physics = organization_create(actor=SYSTEM, name="Physics")
        person_move(actor=SYSTEM, user=person.user, organization=physics)
    return person


def test_a_tenants_posts_are_made_renamed_given_and_ended(admin, eva):
    api = admin.api()
    made = api.post(API, {"name": "Head"}, format="json").json()
    assert (made["name"], made["held"]) == ("Head", 0)
    assert api.post(API, {"name": " Head "}, format="json").json()["error"]["fields"]["name"]
    assert api.post(API, {"name": " "}, format="json").status_code == 400
    clerk = api.post(API, {"name": "Clerk"}, format="json").json()
    assert api.patch(f"{API}/{clerk['uid']}", {"name": "Head"}, format="json").status_code == 400
    assert (
        api.patch(f"{API}/{clerk['uid']}", {"name": "Registrar"}, format="json").json()["name"] == "Registrar"
    )
    path = f"/api/v1/people/{eva.user.uid}/post"
    assert api.put(path, {"post": clerk["uid"]}, format="json").json()["post"] == "Registrar"
    with in_tenant("acme"):
        assert member_ids_of_post("Registrar") == {eva.user.pk}
    assert [row["held"] for row in api.get(API).json()["results"]] == [0, 1]
    assert api.delete(f"{API}/{clerk['uid']}").status_code == 204
    with in_tenant("acme"):
        assert Member.objects.get(user=eva.user).post is None
        assert Post.objects.get().name == "Head"
    assert api.put(path, {"post": made["uid"]}, format="json").status_code == 200
    assert api.put(path, {"post": None}, format="json").json()["post"] == ""


def test_who_belongs_to_no_organization_holds_no_post_and_others_posts_are_unknown(admin, eva, member):
    made = admin.api().post(API, {"name": "Head"}, format="json").json()
    nobody = admin.api().put(f"/api/v1/people/{admin.user.uid}/post", {"post": made["uid"]}, format="json")
    assert nobody.json()["error"]["message"] == "ada belongs to no organization."
    other = member("globex", "tenant_system_administrator", "gil").api()
    assert other.get(API).json()["results"] == []
    assert other.patch(f"{API}/{made['uid']}", {"name": "Mine"}, format="json").status_code == 404
    assert other.delete(f"{API}/{made['uid']}").status_code == 404
    assert eva.api().post(API, {"name": "Mine"}, format="json").status_code == 403
    assert (
        eva.api().put(f"/api/v1/people/{eva.user.uid}/post", {"post": made["uid"]}, format="json").status_code
        == 403
    )


def test_the_pages_do_the_same(admin, eva, operator):
    for browser, base, person, model in (
        (admin.page(), "/people/", eva.user, Post),
        (operator("system_administrator").page(), "/operators/", operator("front_line").user, OperatorPost),
    ):
        schema = "acme" if model is Post else "public"
        assert browser.post(f"{base}posts/add/", {"name": "Head"}).status_code == 302
        with in_tenant(schema):
            row = model.objects.get()
        assert f'value="{row.name}"' in browser.get(f"{base}posts/").content.decode()
        assert browser.post(f"{base}{person.uid}/post/", {"post": str(row.uid)}).status_code == 302
        shown = browser.get(f"{base}{person.uid}/").content.decode()
        assert f'value="{row.uid}" selected' in shown
        browser.post(f"{base}posts/{row.uid}/rename/", {"name": "Chief"})
        ended = browser.post(f"{base}posts/{row.uid}/end/", follow=True).content.decode()
        assert "The post Chief is ended; 1 person held it." in ended
        with in_tenant(schema):
            assert not model.objects.exists()


def test_the_centres_tickets_go_to_who_holds_a_post(operator):
    chief, worker = operator("system_administrator"), operator("front_line", username="worker")
    api = chief.api()
    made = api.post(OPERATORS, {"name": "Night shift"}, format="json").json()
    top = TicketCategory.objects.get(builtin="om")
    row = category_create(actor=SYSTEM, parent=top, name_zh="维修", name_en="Repair", fields=[], changes={})
    rule = {"actor": SYSTEM, "category_uid": row.uid, "kind": "post"}
    with pytest.raises(InvalidInput, match="Nobody of Night shift"):
        rule_add(**rule, receiver=made["uid"])
    held = api.put(f"/api/v1/operators/{worker.user.uid}/post", {"post": made["uid"]}, format="json").json()
    assert held["post"] == "Night shift"
    kept = rule_add(**rule, receiver=made["uid"])
    assert operators_answering(kept) == ([], [worker.user.pk])
    api.patch(f"{OPERATORS}/{made['uid']}", {"name": "Late shift"}, format="json")
    assert receiver_text(kept) == "Late shift"
    assert api.delete(f"{OPERATORS}/{made['uid']}").status_code == 204
    assert (operators_answering(kept), receiver_text(kept)) == (([], []), "a post that is gone")
    assert User.objects.get(pk=worker.user.pk).post is None
    for wrong in ("", "nonsense", made["uid"]):
        with pytest.raises(InvalidInput):
            rule_add(**rule, receiver=wrong)
    assert RoutingRule.objects.get(category=row).pk == kept.pk


def test_an_operator_who_may_do_more_is_given_no_post_by_who_may_less(operator):
    lesser, chief = operator("operations_manager"), operator("system_administrator")
    post = OperatorPost.objects.create(name="Head")
    answer = lesser.api().put(
        f"/api/v1/operators/{chief.user.uid}/post", {"post": str(post.uid)}, format="json"
    )
    assert answer.status_code == 403
    assert User.objects.get(pk=chief.user.pk).post is None
