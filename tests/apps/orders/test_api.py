"""The journey over the API: the same rules, errors and rights as the services; operators without a tenant too."""

from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.utils import timezone

from apps.kernel.actor import SYSTEM
from apps.kernel.planes import in_tenant
from apps.orders.api.serializers import QuoteAndStartOut, QuoteLineOut, QuoteStartOut
from apps.orders.models import ApplicationForm, Order
from apps.orders.services.deliveries import order_deliver, order_ended, order_started
from tests.apps.orders.scene import AMOUNTS, scene_make

pytestmark = pytest.mark.django_db


@pytest.fixture
def scene(db, acme, member, operator, settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    with in_tenant("acme"):
        made = scene_make(acme, member, operator)
    return made


def body(scene, **changes):
    line = {"commodity": str(scene.commodity.uid), "amounts": AMOUNTS, "count": 1}
    return {"lines": [line], "duration_s": 3600, "remark": "please", **changes}


def on_provider_plane(call):
    connection.set_schema_to_public()
    return call()


@pytest.mark.req("PLAT-APPLY-6", "PLAT-APPLY-12", "PLAT-TODO-5", "PLAT-APPLY-20")
def test_the_whole_way(scene):
    ann, boss = scene.ann.api(), scene.boss.api()
    made = ann.post("/api/v1/application-forms", body(scene))
    assert (made.status_code, made.json()["state"]) == (201, "draft")
    uid = made.json()["uid"]
    submitted = ann.post(f"/api/v1/application-forms/{uid}/submit").json()
    assert (submitted["state"], submitted["total"], submitted["is_withdrawable"]) == (
        "submitted",
        "7.16",
        True,
    )
    again = ann.post(f"/api/v1/application-forms/{uid}/submit")
    assert (again.status_code, again.json()["error"]["code"]) == (409, "conflict")
    inbox = boss.get("/api/v1/tasks").json()["results"]
    assert [(one["no"], one["tenant"], one["applicant_name"]) for one in inbox] == [
        (submitted["no"], "acme", "ann")
    ]
    task = f"/api/v1/tasks/{inbox[0]['uid']}"
    assert boss.get(task).json()["decisions"] == ["approve", "refuse", "send_back"]
    assert ann.post(f"{task}/decide", {"decision": "approve"}).status_code == 403
    decided = boss.post(f"{task}/decide", {"decision": "approve", "comment": "ok"}).json()
    assert (decided["state"], decided["given"][0]["comment"]) == ("done", "ok")
    assert ann.post(f"/api/v1/application-forms/{uid}/withdraw").status_code == 409
    assert boss.get("/api/v1/tasks", {"tab": "done"}).json()["results"][0]["state"] == "done"
    form = ann.get(f"/api/v1/application-forms/{uid}").json()
    assert [run["state"] for run in form["processes"]] == ["running"]
    assert len(form["processes"][0]["tasks"]) == 2


@pytest.mark.req("PLAT-TODO-1", "PLAT-TODO-5", "PLAT-TODO-11", "PLAT-TODO-12")
def test_an_operator_decides_and_delivers_from_the_provider_plane(scene, operator):
    with in_tenant("acme"):
        form = scene.decide(scene.submitted(), "approve")
    manager, worker = (operator(role).api() for role in ("operations_manager", "front_line"))
    inbox = manager.get("/api/v1/tasks").json()["results"]
    assert [(one["no"], one["tenant"], one["step"]) for one in inbox] == [
        (form.no, "acme", "Operations manager decides")
    ]
    assert worker.post(f"/api/v1/tasks/{inbox[0]['uid']}/decide", {"decision": "approve"}).status_code == 403
    done = manager.post(f"/api/v1/tasks/{inbox[0]['uid']}/decide", {"decision": "approve"})
    assert (done.status_code, done.json()["process_state"]) == (200, "approved")
    assert manager.post(f"/api/v1/tasks/{uuid4()}/decide", {"decision": "approve"}).status_code == 404
    assert not manager.get("/api/v1/tasks").json()["results"]
    ticket = on_provider_plane(lambda: worker.get("/api/v1/cases", {"kind": "ticket"}).json()["results"][0])
    address = f"/api/v1/tickets/{ticket['uid']}"
    assert worker.post(f"{address}/execute").status_code == 403
    assert worker.post(f"{address}/claim").json()["state"] == "delivering"
    assert worker.post(f"{address}/claim").status_code == 409
    assert worker.post(f"{address}/execute").json()["state"] == "processing"
    assert worker.post(f"{address}/execute").status_code == 409
    assert worker.post(f"{address}/return").json()["state"] == "waiting"


def test_orders_and_their_end(scene):
    with in_tenant("acme"):
        order = order_deliver(actor=SYSTEM, order_uid=scene.ordered().uid)
        order_started(actor=SYSTEM, order_uid=order.uid, at=timezone.now())
    ann, address = scene.ann.api(), f"/api/v1/orders/{order.uid}"
    listed = ann.get("/api/v1/orders", {"state": "completed"}).json()["results"]
    assert [(one["no"], one["form_no"]) for one in listed] == [(order.no, order.form.no)]
    shown = ann.get(address).json()
    assert (shown["tickets"][0]["state"], shown["processes"][0]["state"]) == ("done", "approved")
    assert shown["quote"]["total"] == "7.16"
    assert ann.post(f"{address}/terminate", {}).status_code == 400
    made = ann.post(f"{address}/terminate", {"reason": "done"})
    assert (made.status_code, made.json()["kind"], made.json()["target_order"]) == (
        201,
        "termination",
        str(order.uid),
    )
    assert ann.post(f"{address}/terminate", {"reason": "done"}).status_code == 409
    assert scene.boss.api().post(f"{address}/terminate", {"reason": "x"}).status_code == 403


@pytest.mark.req("ELA-409")
def test_why_an_order_has_ended_is_told_in_the_readers_language(scene):
    with in_tenant("acme"):
        order = scene.delivered()
        form_uid = order.form.uid
        order_ended(
            actor=SYSTEM,
            order_uid=order.uid,
            at=timezone.now(),
            failed=True,
            reason_code="run_timeout",
            reason="run time of 3600 s reached",
        )
    chinese = {"accept-language": "zh-hans"}
    api, pages = scene.ann.api(), scene.ann.page()
    shown = api.get(f"/api/v1/orders/{order.uid}", headers=chinese).json()
    assert (shown["end_reason_code"], shown["end_reason"]) == ("run_timeout", "已达到运行时长上限 1 小时。")
    english = api.get(f"/api/v1/orders/{order.uid}", headers={"accept-language": "en"}).json()
    assert english["end_reason"] == "Its run time of 1 h is over."
    page = pages.get(f"/orders/{order.uid}/", headers=chinese).content.decode()
    assert "已达到运行时长上限 1 小时。" in page
    assert "run time of" not in page
    form = api.get(f"/api/v1/application-forms/{form_uid}", headers=chinese).json()
    assert form["note"] == "未能全部交付。"
    assert form["note"] in pages.get(f"/forms/{form_uid}/", headers=chinese).content.decode()


def test_the_same_key_submits_once(scene):
    ann = scene.ann.api()
    first = ann.post("/api/v1/application-forms", body(scene), headers={"Idempotency-Key": "k-1"})
    twin = ann.post("/api/v1/application-forms", body(scene), headers={"Idempotency-Key": "k-1"})
    other = ann.post("/api/v1/application-forms", body(scene, remark="x"), headers={"Idempotency-Key": "k-1"})
    assert (first.json()["uid"], other.status_code) == (twin.json()["uid"], 409)
    with in_tenant("acme"):
        assert ApplicationForm.objects.count() == 1


def test_the_cart_and_the_quote(scene):
    ann = scene.ann.api()
    line = {"commodity": str(scene.commodity.uid), "amounts": AMOUNTS, "count": 2}
    quote = ann.post("/api/v1/quotes", {**line, "duration_s": 3600})
    assert (quote.status_code, quote.json()["total"]) == (200, "14.32")
    assert quote.json().keys() == QuoteAndStartOut().fields.keys()
    assert quote.json()["lines"][0].keys() == QuoteLineOut().fields.keys()
    assert quote.json()["expected_start"].keys() == QuoteStartOut().fields.keys()
    made = ann.post("/api/v1/cart", line)
    assert made.status_code == 201
    assert [one["count"] for one in ann.get("/api/v1/cart").json()["results"]] == [2]
    assert ann.delete(f"/api/v1/cart/{made.json()['uid']}").status_code == 204
    assert ann.delete(f"/api/v1/cart/{made.json()['uid']}").status_code == 404


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"lines": []}, "lines"),
        ({"duration_s": -1}, "duration_s"),
        ({"duration_s": 1}, "duration_s"),
        ({"amounts": {**AMOUNTS, "cpu": -4}}, "lines"),
        ({"amounts": {**AMOUNTS, "cpu": 999}}, "lines.0.amounts.cpu"),
        ({"count": 10**9}, "lines.0.count"),
        ({"business_system": "nonsense"}, "business_system"),
    ],
)
def test_bad_input_is_named(scene, changes, field):
    given = body(scene)
    for name in ("amounts", "count"):
        if name in changes:
            given["lines"][0][name] = changes.pop(name)
    refused = scene.ann.api().post("/api/v1/application-forms", {**given, **changes})
    assert refused.status_code == 400
    assert any(name.startswith(field) for name in refused.json()["error"]["fields"]), refused.json()
    with in_tenant("acme"):
        assert not ApplicationForm.objects.exists()


def test_a_draft_is_changed_withdrawn_and_deleted(scene):
    ann = scene.ann.api()
    address = f"/api/v1/application-forms/{ann.post('/api/v1/application-forms', body(scene)).json()['uid']}"
    assert ann.patch(address, body(scene, duration_s=7200)).json()["duration_s"] == 7200
    ann.post(f"{address}/submit")
    assert ann.patch(address, body(scene)).status_code == 409
    assert ann.post(f"{address}/withdraw").json()["state"] == "draft"
    assert ann.delete(address).status_code == 204
    assert ann.get(address).status_code == 404


@pytest.mark.req("PLAT-APPLY-5")
def test_an_attachment_comes_back_as_a_download(scene):
    ann = scene.ann.api()
    address = f"/api/v1/application-forms/{ann.post('/api/v1/application-forms', body(scene)).json()['uid']}"

    def send(name, content):
        file = SimpleUploadedFile(name, content)
        return ann.post(f"{address}/attachments", {"file": file}, format="multipart")

    kept = send("plan.md", "# 计划\n".encode())
    assert kept.status_code == 201
    refused = send("page.html", b"<script>")
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "attachment_refused")
    assert [one["name"] for one in ann.get(f"{address}/attachments").json()["results"]] == ["plan.md"]
    answer = ann.get(f"/api/v1/attachments/{kept.json()['uid']}")
    assert b"".join(answer.streaming_content).decode() == "# 计划\n"
    assert answer["Content-Disposition"].startswith("attachment")
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert ann.delete(f"/api/v1/attachments/{kept.json()['uid']}").status_code == 204


def test_another_tenants_ids_are_not_found(scene, member):
    with in_tenant("acme"):
        order = scene.ordered()
        form, ticket = order.form, order.ticket_uid
    stranger = member("globex", "tenant_front_line").api()
    for method, address in [
        ("get", f"application-forms/{form.uid}"),
        ("patch", f"application-forms/{form.uid}"),
        ("delete", f"application-forms/{form.uid}"),
        ("post", f"application-forms/{form.uid}/submit"),
        ("post", f"application-forms/{form.uid}/withdraw"),
        ("get", f"application-forms/{form.uid}/attachments"),
        ("get", f"orders/{order.uid}"),
        ("post", f"orders/{order.uid}/terminate"),
        ("get", f"tickets/{ticket}"),
        ("post", f"tickets/{ticket}/claim"),
        ("post", f"tickets/{ticket}/execute"),
        ("get", f"attachments/{uuid4()}"),
    ]:
        given = body(scene) if method == "patch" else {"reason": "x"}
        answer = getattr(stranger, method)(f"/api/v1/{address}", given)
        assert answer.status_code == 404, (method, address, answer.content)
    with in_tenant("acme"):
        assert Order.objects.get().state == "pending"
    for address in ("application-forms", "orders", "tickets", "tasks"):
        assert not stranger.get(f"/api/v1/{address}").json()["results"]
