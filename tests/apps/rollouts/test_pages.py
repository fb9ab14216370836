"""The operators' pages of components, releases and roll-outs; who may open them and what their forms do."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from apps.kernel.actor import SYSTEM
from apps.rollouts.models import Release, Rollout
from apps.rollouts.release_build import release_sign
from apps.rollouts.services.server_processes import Self, process_beat
from tests.apps.rollouts.conftest import FILES
from tests.unit.node_agent.releases import archive

pytestmark = [pytest.mark.django_db, pytest.mark.req("POOL-12.20")]
HTMX = {"HX-Request": "true"}


@pytest.fixture
def admin(operator):
    return operator("cluster_administrator").page()


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize("headers", [{}, HTMX], ids=["whole", "part"])
def test_the_pages_open_whole_and_in_part(pool, release, admin, language, headers):
    process_beat(actor=SYSTEM, process=Self.of("web"))
    release("2.0")
    body = {"what": "release", "release": "2.0", "nodes": [pool.uid("n1")], "batch": 1, "gate_s": 30}
    admin.post("/components/start/", body)
    rollout = Rollout.objects.get()
    admin.cookies["django_language"] = language
    for path in ("/components/", "/releases/", "/rollouts/", f"/rollouts/{rollout.uid}/"):
        answer = admin.get(path, headers=headers)
        assert answer.status_code == 200, path
        assert "{%" not in answer.content.decode()
    text = admin.get("/components/").content.decode()
    assert text.count('data-component="agent"') == 3
    assert 'data-component="web"' in text
    assert 'data-test="open-rollout"' in text


def test_a_release_is_added_and_rolled_out_from_the_pages(pool, key, admin):
    content = archive("2.0", FILES)
    signature = release_sign(key, "2.0", content) + "\n"

    def send(signed):
        files = {"file": SimpleUploadedFile("r.zip", content), "signature": SimpleUploadedFile("s", signed)}
        return admin.post("/releases/", files)

    assert send(b"not signed").status_code == 400
    assert send(signature.encode()).status_code == 302
    assert Release.objects.get().created_by
    body = {"what": "release", "release": "2.0", "batch": 2, "gate_s": 30, "server": "on"}
    nodes = [pool.uid("n1"), pool.uid("n2")]
    assert admin.post("/components/start/", {**body, "nodes": nodes}).status_code == 302
    rollout = Rollout.objects.get()
    assert [(s.name, s.batch_no) for s in rollout.steps.all()] == [("server", 1), ("n1", 1), ("n2", 2)]
    for act, state in (("pause", "paused"), ("resume", "running"), ("cancel", "cancelled")):
        assert admin.post(f"/rollouts/{rollout.uid}/{act}/").status_code == 302
        assert Rollout.objects.get().state == state
    assert admin.post(f"/rollouts/{rollout.uid}/paint/").status_code == 404


@pytest.mark.parametrize(
    "body",
    [
        {"what": "release"},
        {"what": "config"},
        {"what": "config", "meter_s": "0"},
        {"what": "config", "log_level": "loud"},
        {"what": "release", "release": "2.0", "batch": "0"},
        {"what": "other"},
    ],
)
def test_forms_name_what_is_wrong_and_nothing_begins(pool, release, admin, body):
    release("2.0")
    answer = admin.post("/components/start/", {"batch": 1, "gate_s": 9, "nodes": [pool.uid("n1")], **body})
    assert answer.status_code == 400
    assert not Rollout.objects.exists()


def test_a_configuration_and_a_restart_begin_from_the_page(pool, admin):
    shared = {"batch": 1, "gate_s": 9}
    config = {"what": "config", "meter_s": 3, "log_level": "debug", "nodes": [pool.uid("n1")]}
    admin.post("/components/start/", {**shared, **config})
    assert Rollout.objects.get().config == {"meter_s": 3, "log_level": "debug"}
    admin.post("/components/start/", {**shared, "what": "restart"})
    assert [step.kind for step in Rollout.objects.latest("pk").steps.all()] == ["server"]


def test_others_see_or_do_not(pool, operator, member):
    boss = operator("executive").page()
    assert boss.get("/components/").status_code == 200
    assert "start-rollout" not in boss.get("/components/").content.decode()
    assert boss.post("/components/start/", {"what": "restart", "batch": 1, "gate_s": 9}).status_code == 403
    alice = member("acme", "tenant_front_line")
    page = alice.page()
    assert page.get("/components/", headers={"host": "localhost"}).status_code in (302, 403)
    assert page.get("/components/").status_code == 404
