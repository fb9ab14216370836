import pytest
from rest_framework.test import APIClient

from apps.identity.services.users import membership_add
from apps.kernel.actor import SYSTEM
from tests.conftest import PASSWORD

pytestmark = pytest.mark.django_db


def sign_in(**body):
    return APIClient(headers={"host": "localhost"}).post("/api/v1/auth/login", body)


def test_sign_in_gives_a_token_that_works_on_every_host(member):
    member("acme", "tenant_front_line", username="alice")
    answer = sign_in(username="alice", password=PASSWORD)
    assert answer.status_code == 200, answer.content
    assert [tenant["schema"] for tenant in answer.json()["tenants"]] == ["acme"]
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {answer.json()['token']}")
    for host in ("localhost", "acme.localhost"):
        me = client.get("/api/v1/auth/me", headers={"host": host})
        assert me.json()["tenant"] == "acme"
        assert me.json()["role"] == "tenant_front_line"


def test_a_wrong_password_answers_401_in_the_one_error_shape(member):
    member("acme", "tenant_front_line", username="alice")
    answer = sign_in(username="alice", password="wrong")
    assert answer.status_code == 401
    assert set(answer.json()["error"]) == {"code", "message", "cure"}


def test_a_garbage_token_and_no_token_answer_401():
    client = APIClient(headers={"host": "localhost"})
    assert client.get("/api/v1/auth/me").status_code == 401
    client.credentials(HTTP_AUTHORIZATION="Bearer nonsense")
    assert client.get("/api/v1/auth/me").status_code == 401


def test_a_member_of_two_tenants_chooses_by_header(member, globex):
    person = member("acme", "tenant_front_line", username="alice")
    membership_add(actor=SYSTEM, user=person.user, tenant=globex)
    client = APIClient(headers={"host": "localhost"})
    client.credentials(
        HTTP_AUTHORIZATION=f"Bearer {sign_in(username='alice', password=PASSWORD).json()['token']}"
    )
    undecided = client.get("/api/v1/auth/me")
    assert undecided.status_code == 400
    assert "acme, globex" in undecided.json()["error"]["cure"]
    assert client.get("/api/v1/auth/me", headers={"weir-tenant": "globex"}).json()["tenant"] == "globex"


@pytest.mark.req("PLAT-TEN-2")
def test_another_tenant_does_not_exist_for_a_stranger(member):
    client = member("acme", "tenant_front_line").api()
    assert client.get("/api/v1/auth/me", headers={"weir-tenant": "globex"}).status_code == 404
    assert client.get("/api/v1/auth/me", headers={"host": "globex.localhost"}).status_code == 404


@pytest.mark.req("PLAT-TEN-28")
def test_a_role_not_held_is_refused(member):
    client = member("acme", "tenant_front_line").api()
    answer = client.get("/api/v1/auth/me", headers={"weir-role": "tenant_decision_maker"})
    assert answer.status_code == 403


def test_tokens_are_made_listed_and_revoked_by_their_owner_only(member):
    alice, bob = member("acme", "tenant_front_line").api(), member("acme", "tenant_front_line").api()
    made = alice.post("/api/v1/tokens", {"name": "ci"}).json()
    assert made["secret"].startswith(made["hint"])
    assert "secret" not in alice.get("/api/v1/tokens").json()["results"][0]
    assert bob.delete(f"/api/v1/tokens/{made['uid']}").status_code == 404
    assert alice.delete(f"/api/v1/tokens/{made['uid']}").status_code == 204


def test_only_operators_with_the_right_make_join_tokens(member, operator):
    assert (
        member("acme", "tenant_front_line").api().post("/api/v1/agent-tokens", {"note": "x"}).status_code
        == 403
    )
    assert operator("executive").api().post("/api/v1/agent-tokens", {"note": "x"}).status_code == 403
    made = operator("system_administrator").api().post("/api/v1/agent-tokens", {"note": "x"})
    assert made.status_code == 201
    assert made.json()["secret"].startswith("weirjoin_")


def test_a_session_call_without_csrf_is_refused(member):
    person = member("acme", "tenant_front_line")
    client = APIClient(enforce_csrf_checks=True, headers={"host": "acme.localhost"})
    client.force_login(person.user)
    assert client.get("/api/v1/auth/me").status_code == 200
    assert client.post("/api/v1/tokens", {"name": "x"}).status_code == 403


@pytest.mark.parametrize("wrong", ["\x1b[2J", "\x9b", "\x7f", "\u202e", "\n"])
def test_a_name_with_a_control_character_is_refused_by_its_field(member, wrong):
    alice = member("acme", "tenant_front_line", username="alice")
    refused = alice.api().post("/api/v1/tokens", {"name": f"lap{wrong}top", "days": 1})
    assert refused.status_code == 400, refused.content
    assert (
        f"Character 4 is a control character (U+{ord(wrong[0]):04X})"
        in refused.json()["error"]["fields"]["name"]
    )
    assert "lap" not in str(alice.api().get("/api/v1/tokens").json())
