"""Templates of development environments, as operators keep them and users start from them."""

import pytest

from apps.audit.models import Record
from apps.scheduling.models import Workload
from apps.scheduling.selectors.environment_templates import environment_template_get
from apps.scheduling.services.environment_templates import environment_request

pytestmark = pytest.mark.django_db
API = "/api/v1/environment-templates"
TEMPLATE = {"name": "jupyter-30", "compute_percent": 30, "memory_mib": 1024, "description": "Notebooks"}


@pytest.fixture
def admin(operator):
    return operator("cluster_administrator")


def made(admin, **more) -> dict:
    answer = admin.api().post(API, {**TEMPLATE, **more}, format="json")
    assert answer.status_code == 201, answer.json()
    return answer.json()


@pytest.mark.req("PLAT-AICFG-9", "PLAT-AICFG-13")
def test_one_call_starts_what_the_template_says(admin, alice):
    template = made(admin, host_cpu_milli=500, host_memory_mib=256, idle_timeout_s=600, vendor="cpu")
    answer = alice.api().post(f"{API}/{template['uid']}/start", {}, format="json")
    assert answer.status_code == 201, answer.json()
    row = Workload.objects.across().get(uid=answer.json()["uid"])
    assert (row.compute_percent, row.memory_mib, row.host_cpu_milli, row.host_memory_mib) == (
        30,
        1024,
        500,
        256,
    )
    assert row.work["web"] is True
    assert row.work["argv"] == ["python", "-m", "node_agent.web.jupyterlab"]
    assert (row.idle_timeout_s, row.purpose, row.pins["vendor"]) == (600, "development", "cpu")
    assert row.name_en == "jupyter-30"


@pytest.mark.req("PLAT-AICFG-9")
def test_pressed_twice_it_starts_once(admin, alice):
    template = made(admin)
    body = {"client_key": "one", "name": "mine"}
    first, second = (
        alice.api().post(f"{API}/{template['uid']}/start", body, format="json").json() for _ in range(2)
    )
    assert first["uid"] == second["uid"]


@pytest.mark.req("PLAT-AICFG-13")
@pytest.mark.parametrize(
    ("kind", "expected"),
    [("share", (False, 30, "")), ("whole", (True, None, "")), ("mig", (False, 30, "mig"))],
)
def test_each_gpu_type_is_asked_for_as_it_is(admin, kind, expected):
    row = environment_template_get(made(admin, gpu_kind=kind)["uid"])
    asked = environment_request(row)
    assert (asked.whole_cards, asked.compute_percent, asked.driver) == expected


@pytest.mark.req("PLAT-AICFG-12")
@pytest.mark.parametrize("name", ["a" * 37, "Jupyter", "a_b", "", "jup ter", "jüp"])
def test_a_wrong_name_is_refused_by_its_field(admin, name):
    answer = admin.api().post(API, {**TEMPLATE, "name": name}, format="json")
    assert answer.status_code in (400, 422)
    assert "name" in answer.json()["error"]["fields"]


@pytest.mark.req("PLAT-AICFG-12")
def test_36_valid_characters_pass_and_a_name_is_there_once(admin):
    made(admin, name="a1-" * 12)
    assert admin.api().post(API, {**TEMPLATE, "name": "a1-" * 12}, format="json").status_code == 409


@pytest.mark.req("PLAT-AICFG-15", "PLAT-AICFG-16")
def test_what_was_started_keeps_its_settings_when_the_template_changes_and_goes(admin, alice):
    template = made(admin)
    started = alice.api().post(f"{API}/{template['uid']}/start", {}, format="json").json()
    changed = admin.api().put(f"{API}/{template['uid']}", {**TEMPLATE, "compute_percent": 50}, format="json")
    assert changed.json()["compute_percent"] == 50
    assert Workload.objects.across().get(uid=started["uid"]).compute_percent == 30
    assert admin.api().delete(f"{API}/{template['uid']}").status_code == 204
    assert alice.api().get(API).json()["results"] == []
    assert alice.api().post(f"{API}/{template['uid']}/start", {}, format="json").status_code == 404
    assert admin.api().put(f"{API}/{template['uid']}", TEMPLATE, format="json").status_code == 404
    # Its name is free again.
    made(admin)
    names = set(Record.objects.values_list("name", flat=True))
    assert {"environment_template_make", "environment_template_change", "environment_start"} <= names


@pytest.mark.req("PLAT-AICFG-9")
def test_users_start_templates_and_do_not_make_them(admin, alice):
    template = made(admin)
    assert [row["name"] for row in alice.api().get(API).json()["results"]] == ["jupyter-30"]
    assert alice.api().post(API, {**TEMPLATE, "name": "mine"}, format="json").status_code == 403
    assert alice.api().delete(f"{API}/{template['uid']}").status_code in (403, 404)


@pytest.mark.req("PLAT-CMP-10")
def test_the_pages_open_for_who_started_them_alone(admin, alice, member):
    template = made(admin)
    row = alice.api().post(f"{API}/{template['uid']}/start", {}, format="json").json()
    opened = alice.api().post(f"/api/v1/workloads/{row['uid']}/web", format="json")
    assert opened.json()["url"].startswith(f"http://w-{row['uid'].replace('-', '')}.env.localhost")
    colleague, stranger = member("acme", "tenant_front_line"), member("globex", "tenant_front_line")
    assert colleague.api().post(f"/api/v1/workloads/{row['uid']}/web", format="json").status_code == 403
    assert stranger.api().post(f"/api/v1/workloads/{row['uid']}/web", format="json").status_code == 404
    alice.api().post(f"/api/v1/workloads/{row['uid']}/stop", {}, format="json")
    assert alice.api().post(f"/api/v1/workloads/{row['uid']}/web", format="json").status_code == 409
