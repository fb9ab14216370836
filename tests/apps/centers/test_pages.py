"""The operators' pages of centres and network specifications."""

import re

import pytest

from apps.centers.adapters.base import JobMessage, Quantities
from apps.centers.models import Center, RemoteTask, ResourceSpec, SpecOffer
from apps.centers.selectors import resource_spec_get
from apps.centers.services.centers import center_drain
from apps.centers.services.remote_tasks import remote_task_request
from apps.centers.services.specs import offer_set, resource_spec_make
from apps.kernel.actor import SYSTEM

pytestmark = [pytest.mark.django_db, pytest.mark.req("JC-6.1.1-1", "JC-6.1.2-1")]
FACTS = {
    "ai_center_id": "lake", "name": "湖畔", "region": "华东", "longitude": "120.15", "latitude": "30.28",
    "security_grade": "3", "stale_after_s": "30", "lost_after_s": "5", "lost_after_s_unit": "60",
}  # fmt: skip

ENGLISH = {"accept-language": "en"}


@pytest.fixture
def admin(operator):
    return operator("cluster_administrator").page()


@pytest.fixture
def form(telling):
    return FACTS | {"kind_address": str(telling.path), "kind_remark": "two\r\nlines", "kind_token": "right"}


def refused(answer, status=400):
    assert answer.status_code == status, answer.content.decode()
    return answer.content.decode()


def test_a_centre_is_joined_by_page_and_shown_in_words(admin, form):
    assert "kind_token" in admin.get("/centers/join/?kind=telling").content.decode()
    answer = admin.post("/centers/join/?kind=telling", form)
    assert answer.status_code == 302, answer.content.decode()
    row = Center.objects.get()
    assert (row.name, row.security_grade, row.lost_after_s, row.longitude) == ("湖畔", 3, 300, 120.15)
    assert row.settings["remark"] == "two\nlines"
    page = admin.get(answer["Location"], headers={"accept-language": "en"}).content.decode()
    for text in ("湖畔", "Available", "Telling", "telling 1.0", "192 GiB", "256 GiB", "3 running, 1 waiting"):
        assert text in page
    listed = admin.get("/centers/").content.decode()
    assert "5 / 8" in listed
    assert "48 / 64" in listed


def test_what_a_form_says_wrongly_is_said_at_its_input(admin, form, telling):
    page = refused(admin.post("/centers/join/?kind=telling", form | {"kind_token": ""}))
    assert 'data-input="kind_token"' in page
    page = refused(admin.post("/centers/join/?kind=telling", form | {"name": "湖" * 30}))
    assert 'data-input="name"' in page
    page = refused(admin.post("/centers/join/?kind=telling", form | {"ai_center_id": "join"}))
    assert 'data-input="ai_center_id"' in page
    telling.say(token="another")
    assert 'data-code="center_refused"' in refused(admin.post("/centers/join/?kind=telling", form))
    telling.say(trouble="unreachable", token="right")
    assert 'data-code="center_unreachable"' in refused(admin.post("/centers/join/?kind=telling", form), 409)
    refused(admin.get("/centers/join/?kind=abacus"))
    assert not Center.objects.exists()


def test_a_centre_is_changed_drained_asked_and_removed_by_page(admin, form, telling):
    admin.post("/centers/join/?kind=telling", form)
    change = {name: value for name, value in form.items() if name not in ("ai_center_id", "kind_token")}
    assert admin.post("/centers/lake/change/", change | {"region": "华北"}).status_code == 302
    assert Center.objects.get().region == "华北"
    page = admin.get("/centers/lake/change/").content.decode()
    assert "kind_token" in page
    assert "right" not in re.findall(r"\"([^\"]*)\"", page)
    moved = change | {"kind_address": "/elsewhere.json"}
    refused(admin.post("/centers/lake/change/", moved))
    assert Center.objects.get().settings["address"] == change["kind_address"]
    for act, drained in (("drain", True), ("undrain", False)):
        assert admin.post(f"/centers/lake/{act}/").status_code == 302
        assert Center.objects.get().is_drained is drained
    telling.say(used={"gpu": 8})
    assert admin.post("/centers/lake/sample/").status_code == 302
    assert "0 / 8" in admin.get("/centers/").content.decode()
    telling.say(token="new")
    refused(admin.post("/centers/lake/credential/", {"kind_token": "old"}))
    assert admin.post("/centers/lake/credential/", {"kind_token": "new"}).status_code == 302
    assert admin.post("/centers/lake/explode/").status_code == 404
    assert admin.post("/centers/lake/remove/").status_code == 302
    assert not Center.objects.exists()


def test_what_hinders_a_centre_is_shown(admin, join, telling):
    join()
    telling.say(trouble="broken")
    assert admin.post("/centers/lake/sample/").status_code == 409
    page = admin.get("/centers/lake/").content.decode()
    assert "longer than 64 MiB" in page
    center_drain(actor=SYSTEM, ai_center_id="lake")
    assert admin.get("/centers/?status=2").content.decode().count('data-test="center-row"') == 1
    assert admin.get("/centers/?status=1&search=lake").content.decode().count('data-test="center-row"') == 0


@pytest.mark.req("JC-6.1.2-2")
def test_a_specification_is_made_mapped_and_changed_by_page(admin, join):
    join()
    spec = {
        "resource_spec_id": "gpu-1", "resource_spec_name": "One GPU", "price": "12.34",
        "service_types": ["batch", "interactive"], "cpu": "4", "memory": "16", "memory_unit": "1024", "gpu": "1",
    }  # fmt: skip
    answer = admin.post("/network-specs/new/", spec)
    assert answer.status_code == 302, answer.content.decode()
    row = resource_spec_get("gpu-1")
    assert (row.price_minor, row.memory_mb, row.service_type) == (1234, 16_384, "interactive,batch")
    offer = {
        "center": "lake",
        "price": "0.5",
        "cost": "0.25",
        "performance": "1.5",
        "idle_power_w": "",
        "running_power_w": "400",
    }
    assert admin.post("/network-specs/gpu-1/offer/", offer).status_code == 302
    found = SpecOffer.objects.get()
    assert found.cost_minor == 25
    assert (found.price_minor, found.performance, found.idle_power_w, found.running_power_w) == (
        50,
        1.5,
        None,
        400,
    )
    for path in (
        "/network-specs/",
        "/network-specs/gpu-1/?center=lake",
        "/network-specs/mapping/",
        "/centers/lake/",
    ):
        page = admin.get(path).content.decode()
        assert "One GPU" in page
        assert "Lake" in page
    mapping = admin.get("/network-specs/mapping/").content.decode()
    assert "¥0.50" in mapping
    assert "400 W" in mapping
    assert ">5<" in mapping.replace(" ", "").replace("\n", "")
    same = {name: value for name, value in spec.items() if name != "resource_spec_id"}
    assert admin.post("/network-specs/gpu-1/change/", same | {"price": "1"}).status_code == 302
    refused(admin.post("/network-specs/gpu-1/change/", same | {"gpu": "2"}), 409)
    refused(admin.post("/network-specs/gpu-1/change/", same | {"price": "-1"}))
    refused(admin.post("/network-specs/gpu-1/offer/", offer | {"center": "sea"}))
    refused(admin.post("/network-specs/gpu-1/remove/"), 409)
    refused(admin.post("/centers/lake/remove/"), 409)
    assert admin.post("/network-specs/gpu-1/offers/lake/remove/").status_code == 302
    assert admin.post("/network-specs/gpu-1/remove/").status_code == 302
    assert not ResourceSpec.objects.exists()


def test_who_only_looks_is_shown_no_button_and_refused(operator, join):
    join()
    resource_spec_make(
        actor=SYSTEM, resource_spec_id="gpu-1", resource_spec_name="One GPU", resource_quantity={"gpu": 1}
    )
    offer_set(actor=SYSTEM, resource_spec_id="gpu-1", ai_center_id="lake")
    looks, sells = operator("front_line").page(), operator("operations_manager").page()
    for path in (
        "/centers/",
        "/centers/lake/",
        "/network-specs/",
        "/network-specs/gpu-1/",
        "/network-specs/mapping/",
    ):
        page = looks.get(path)
        assert page.status_code == 200
        assert 'method="post" action="/centers' not in page.content.decode()
        assert 'action="/network-specs' not in page.content.decode()
        assert sells.get(path).status_code == 403
    for path in (
        "/centers/join/",
        "/centers/lake/change/",
        "/centers/lake/credential/",
        "/network-specs/new/",
    ):
        assert looks.get(path).status_code == 403
    assert looks.post("/centers/lake/drain/").status_code == 403
    assert not Center.objects.get().is_drained


def test_the_page_of_a_centre_shows_its_work_and_how_far_it_is(admin, join):
    center = join()
    assert "No work was sent there yet" in admin.get("/centers/lake/", headers=ENGLISH).content.decode()
    for number, state in enumerate(("running", "lost"), start=1):
        remote_task_request(
            actor=SYSTEM,
            center=center,
            key=f"weir-{number}",
            message=JobMessage("x", Quantities(cpu=1)),
            owner="",
        )
        RemoteTask.objects.filter(key=f"weir-{number}").update(
            state=state, native_id=f"4{number}", native_state="R", cause="<b>why</b>", is_left=state == "lost",
            desired="stop",
        )  # fmt: skip
    Center.objects.update(disbelieved_count=7)
    page = re.sub(r"\s+", " ", admin.get("/centers/lake/", headers=ENGLISH).content.decode())
    for text in (
        "weir-1",
        "Running · is to stop",
        "41",
        "&lt;b&gt;why&lt;/b&gt;",
        "Lost · may still be there",
    ):
        assert text in page
    assert "1 not over" in page
    assert "reports not believed: 7" in page
