"""The operators' pages of the catalogue: everything a centre sells is made there, by names, units and sentences."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import translation

from apps.catalog.models import Category, Commodity, FormTemplate, PriceVersion, ProcessApp, ProcessTemplate
from apps.catalog.services.categories import category_create
from apps.kernel.actor import SYSTEM
from apps.scheduling.services.environment_templates import environment_template_make
from apps.scheduling.services.queues.queue_settings import queue_ensure
from portal.demo.seed import TEMPLATE
from tests.apps.catalog.market import DEFINITIONS, commodity_make
from tests.apps.scheduling.pool import node_make

pytestmark = pytest.mark.django_db
ROOT = "/catalogue/"
DETAILS = ("categories/", "forms/", "processes/", "new/", "new/work/", "new/session/", "new/manual/")


@pytest.fixture
def page(operator):
    return operator("operations_manager").page()


def went(answer, to=""):
    """A page that did what was asked of it goes on."""
    assert answer.status_code == 302, answer.content.decode()[-3000:]
    assert to in answer["Location"]


def refused(answer, name, status=400):
    """The field that is wrong says so beside itself."""
    text = answer.content.decode()
    assert answer.status_code == status, text[:500]
    assert f'data-test="error-{name}"' in text or 'data-test="problem"' in text
    return text


def asked(category="gpu", **changes):
    """A new commodity's page, filled in; it needs what `commodity_make` makes."""
    app = ProcessApp.objects.get(code="new")
    end = ProcessApp.objects.get(code="end")
    given = {
        "name_en": "Training", "name_zh": "训练", "category": category, "icon": "brain", "process_app": app.uid,
        "termination_app": end.uid, "command": "python train.py --name 'two words'",
        "environment_variables": "STEPS=10\nEMPTY=", "card_use": "share", "shortest": 2, "shortest_unit": 60,
        "longest": 3, "longest_unit": 86400, "max_count": 4, "gpu_memory_unit": 1024, "memory_unit": 1024,
        "compute_share_minimum": 10, "compute_share_maximum": 100, "compute_share_default": 20, "compute_share_step": 5,
        "gpu_memory_minimum": 1, "gpu_memory_maximum": 4, "gpu_memory_default": 2, "gpu_memory_step": 1,
    }  # fmt: skip
    return given | changes


@pytest.mark.req("PLAT-OPS-12")
@pytest.mark.parametrize("path", ["", *DETAILS])
@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_a_page_opens_for_who_may_see_the_catalogue(operator, member, page, path, language):
    node_make("n1")
    commodity_make()
    page.cookies["django_language"] = language
    for headers in ({}, {"HX-Request": "true"}):
        answer = page.get(ROOT + path, headers=headers)
        assert answer.status_code == 200
        assert "{%" not in answer.content.decode()
    stranger = member("acme", "tenant_system_administrator").page()
    if path:
        # A tenant's own catalogue stands at the root of the same name, on the tenant's host.
        assert stranger.get(ROOT + path).status_code == 404
    assert stranger.get(ROOT + path, headers={"host": "localhost"}).status_code in (302, 403)
    if path.startswith("new"):
        assert operator("executive").page().get(ROOT + path).status_code == 403


# --- categories ----------------------------------------------------------------------------------------------------


@pytest.mark.req("PLAT-OPS-12", "PLAT-SVC-3")
def test_categories_are_made_named_moved_ordered_and_deleted_by_page(page):
    for name in ("First", "Second"):
        went(page.post(f"{ROOT}categories/new/", {"name_en": name, "name_zh": name, "parent": ""}))
    went(page.post(f"{ROOT}categories/new/", {"name_en": "Below", "name_zh": "下", "parent": "first"}))
    went(page.post(f"{ROOT}categories/second/do/up/"))
    assert [row.code for row in Category.objects.filter(parent=None)] == ["second", "first"]
    went(page.post(f"{ROOT}categories/below/", {"name_en": "Moved", "name_zh": "移", "parent": "second"}))
    moved = Category.objects.get(code="below")
    assert (moved.name_en, moved.parent.code) == ("Moved", "second")
    refused(
        page.post(f"{ROOT}categories/second/", {"name_en": "S", "name_zh": "S", "parent": "first"}), "parent"
    )
    full = page.post(f"{ROOT}categories/second/do/delete/", headers={"HX-Request": "true"})
    assert (full.status_code, Category.objects.count()) == (409, 3)
    went(page.post(f"{ROOT}categories/below/do/delete/"))
    assert not Category.objects.filter(code="below").exists()


def test_a_name_in_chinese_alone_has_a_code_too():
    codes = [category_create(actor=SYSTEM, name_zh="算力", name_en="算力").code for _time in range(2)]
    assert codes == ["category", "category-2"]


def test_what_is_in_a_disabled_category_is_not_in_the_catalogue(page, member):
    row = commodity_make()
    tenant = member("acme", "tenant_front_line").page()
    path = f"/commodities/{row.uid}/"
    assert tenant.get(path).status_code == 200
    for code in ("gpu", "compute"):
        went(page.post(f"{ROOT}categories/{code}/do/disable/"))
        assert tenant.get(path).status_code == 404
        went(page.post(f"{ROOT}categories/{code}/do/enable/"))
    assert tenant.get(path).status_code == 200


# --- the form designer ---------------------------------------------------------------------------------------------


def put(page, code, kind, **given):
    row = FormTemplate.objects.get(code=code)
    labels = {"label_en": kind.title(), "label_zh": "字段", "version": row.version}
    return page.post(f"{ROOT}forms/{code}/add/{kind}/", labels | given)


@pytest.fixture
def form(page):
    went(
        page.post(f"{ROOT}forms/new/", {"name_en": "Wishes", "name_zh": "愿望", "kind": "new"}),
        "/forms/wishes/",
    )
    return "wishes"


@pytest.mark.req("PLAT-CFG-23")
def test_a_form_is_built_field_by_field_without_a_line_of_json(page, form):
    node_make("n1")
    went(put(page, form, "text", label_en="Project", help_en="Its name", is_required="on"))
    went(put(page, form, "number", unit="TB", minimum="1", maximum="5", default="2"))
    went(put(page, form, "choice", choices="red\n blue \n", default="blue"))
    went(put(page, form, "date"))
    went(put(page, form, "duration", figure_unit="3600", minimum="1", maximum="48", default="12"))
    went(put(page, form, "memory", figure_unit="1024", maximum="64"))
    for kind in ("person", "queue", "model", "heading"):
        went(put(page, form, kind))
    fields = FormTemplate.objects.get(code=form).fields
    assert [field["name"] for field in fields] == [
        "project", "number", "choice", "date", "duration", "memory", "person", "queue", "model", "heading",
    ]  # fmt: skip
    assert fields[0]["is_required"]
    assert (fields[1]["unit"], fields[1]["minimum"], fields[1]["default"]) == ("TB", 1, 2)
    assert fields[2]["choices"] == ["red", "blue"]
    assert (fields[4]["minimum"], fields[4]["maximum"], fields[4]["default"]) == (3600, 172800, 43200)
    assert fields[5]["maximum"] == 65536
    text = page.get(f"{ROOT}forms/{form}/").content.decode()
    for name in ("project", "number", "choice", "duration", "memory"):
        assert f'data-test="data-{name}"' in text, name
    shown = page.get(f"{ROOT}forms/{form}/fields/duration/").content.decode()
    assert 'value="48"' in shown
    assert '<option value="3600" selected>' in shown


@pytest.mark.parametrize(
    ("kind", "given", "name"),
    [
        ("number", {"minimum": "5", "maximum": "1"}, "maximum"),
        ("number", {"minimum": "1e400"}, "minimum"),
        ("number", {"maximum": "3", "default": "4"}, "default"),
        ("number", {"default": "four"}, "default"),
        ("choice", {"choices": ""}, "choices"),
        ("choice", {"choices": "a\na"}, "choices"),
        ("choice", {"choices": "a", "default": "b"}, "default"),
        ("date", {"default": "tomorrow"}, "default"),
        ("memory", {"figure_unit": "3"}, "figure_unit"),
        ("text", {"label_zh": ""}, "label_zh"),
    ],
)
def test_a_field_that_makes_no_sense_says_so_and_is_not_kept(page, form, kind, given, name):
    refused(put(page, form, kind, **given), name)
    assert FormTemplate.objects.get(code=form).fields == []


def test_fields_change_places_are_changed_and_removed_at_the_version_that_was_read(page, form):
    went(put(page, form, "text", label_en="One"))
    went(put(page, form, "text", label_en="Two"))
    base, said = f"{ROOT}forms/{form}/fields", {"version": FormTemplate.objects.get(code=form).version}
    went(page.post(f"{base}/two/do/up/", said))
    old = page.post(f"{base}/one/do/remove/", said, headers={"HX-Request": "true"})
    assert old.status_code == 409
    row = FormTemplate.objects.get(code=form)
    assert [field["name"] for field in row.fields] == ["two", "one"]
    given = {"label_en": "First", "label_zh": "一", "version": row.version}
    went(page.post(f"{base}/one/", given))
    row.refresh_from_db()
    assert (row.fields[1]["name"], row.fields[1]["label_en"]) == ("one", "First")
    went(page.post(f"{base}/two/do/remove/", {"version": row.version}))
    row.refresh_from_db()
    assert [field["name"] for field in row.fields] == ["one"]
    assert page.post(f"{base}/none/do/up/", {"version": row.version}).status_code == 404


def test_a_form_that_is_asked_by_a_process_is_not_deleted(page, form):
    app = commodity_make().process_app
    used = page.post(f"{ROOT}forms/{app.form_template.code}/delete/", headers={"HX-Request": "true"})
    assert used.status_code == 409
    went(page.post(f"{ROOT}forms/{form}/delete/"))


# --- processes -----------------------------------------------------------------------------------------------------


@pytest.mark.req("PLAT-CFG-11", "PLAT-CFG-13", "PLAT-CFG-14")
def test_a_form_and_a_process_are_tied_published_and_changed_by_page(page, form):
    model = commodity_make().process_app
    given = {
        "name_en": "Wish", "name_zh": "愿", "category": "gpu", "form_template": form,
        "process_template": model.process_template.uid,
    }  # fmt: skip
    went(page.post(f"{ROOT}processes/new/", given))
    row = ProcessApp.objects.get(code="wish")
    went(page.post(f"{ROOT}processes/{row.uid}/do/publish/"))
    bind = {"form_template": model.form_template.code, "process_template": model.process_template.uid}
    refused(page.post(f"{ROOT}processes/{row.uid}/", bind), "none")
    went(page.post(f"{ROOT}processes/{row.uid}/do/unpublish/"))
    went(page.post(f"{ROOT}processes/{row.uid}/", bind))
    row.refresh_from_db()
    assert row.form_template == model.form_template
    went(page.post(f"{ROOT}processes/{row.uid}/do/delete/"))
    went(page.post(f"{ROOT}processes/{model.uid}/do/unpublish/"))
    used = page.post(f"{ROOT}processes/{model.uid}/do/delete/", headers={"HX-Request": "true"})
    assert used.status_code == 409


@pytest.mark.req("PLAT-CFG-21", "PLAT-CFG-22")
def test_a_process_is_imported_and_code_in_it_is_refused_by_its_name(page):
    xml = (DEFINITIONS / "application_approval.bpmn").read_text()

    def sent(text, key):
        file = SimpleUploadedFile("a.bpmn", text.encode())
        given = {"key": key, "name_zh": "批", "name_en": "Approval", "file": file}
        return page.post(f"{ROOT}processes/import/", given)

    went(sent(xml, "approval"))
    assert ProcessTemplate.objects.filter(key="approval").count() == 1
    first = xml.index("<bpmn:startEvent")
    script = '<bpmn:scriptTask id="evil" name="Count the money"><bpmn:script>import os</bpmn:script></bpmn:scriptTask>'
    text = refused(sent(xml[:first] + script + xml[first:], "evil"), "file")
    assert "Count the money" in text or "evil" in text
    assert not ProcessTemplate.objects.filter(key="evil").exists()


# --- commodities ---------------------------------------------------------------------------------------------------


@pytest.mark.req("PLAT-OPS-10", "PLAT-OPS-12", "PLAT-OPS-16", "PLAT-OPS-9")
def test_a_commodity_is_made_priced_and_listed_by_page(page, member):
    node_make("n1")
    commodity_make()
    went(page.post(f"{ROOT}new/work/", asked(card="cpu|CPU", queue="default")), "/commodities/")
    row = Commodity.objects.get(name_en="Training")
    assert row.work == {
        "argv": ["python", "train.py", "--name", "two words"],
        "env": {"STEPS": "10", "EMPTY": ""},
    }
    assert (row.vendor, row.model, row.queue, row.number) == ("cpu", "CPU", "default", "C-0001")
    assert (row.min_duration_s, row.max_duration_s) == (120, 259200)
    part = row.components.get(component__code="gpu_memory")
    assert (part.minimum, part.maximum, part.default, part.step) == (1024, 4096, 2048, 1024)
    path = f"{ROOT}commodities/{row.uid}/"
    early = page.post(f"{path}do/list/", headers={"HX-Request": "true"})
    assert early.status_code == 409
    price = {
        "unit_compute_share": "hour", "method_compute_share": "flat", "price_compute_share_0": "0.05",
        "unit_gpu_memory": "hour", "method_gpu_memory": "progressive", "upto_gpu_memory_0": "100",
        "price_gpu_memory_0": "1", "price_gpu_memory_1": "2",
    }  # fmt: skip
    short = price | {"upto_gpu_memory_0": "2", "price_gpu_memory_1": ""}
    refused(page.post(f"{path}price/", short), "price_gpu_memory_0")
    refused(page.post(f"{path}price/", price | {"price_compute_share_0": "-1"}), "price_compute_share_0")
    went(page.post(f"{path}price/", price))
    version = PriceVersion.objects.get(commodity=row)
    assert version.lines.get(component__code="gpu_memory").tiers == [["100", "1"], [None, "2"]]
    went(page.post(f"{path}do/list/"))
    assert member("acme", "tenant_front_line").page().get(f"/commodities/{row.uid}/").status_code == 200
    text = page.get(path).content.decode()
    assert "python train.py" in text
    assert "{&quot;" not in text


@pytest.mark.req("PLAT-OPS-49")
def test_a_price_offers_the_units_by_which_use_is_rated_and_no_others(page):
    row = commodity_make()
    fields = page.get(f"{ROOT}commodities/{row.uid}/price/").context["form"].fields
    for code in ("compute_share", "gpu_memory", "cpu", "memory"):
        assert [unit for unit, _name in fields[f"unit_{code}"].choices] == ["hour", "day"]


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"card": "amd|MI300"}, "card"),
        ({"queue": "nowhere"}, "queue"),
        ({"resource_group": "none"}, "resource_group"),
        ({"spec": "none"}, "spec"),
        ({"command": "python 'open"}, "command"),
        ({"command": ""}, "command"),
        ({"environment_variables": "no sign"}, "environment_variables"),
        ({"card_use": "whole"}, "card"),
        ({"gpu_memory_default": ""}, "gpu_memory_minimum"),
        ({"compute_share_maximum": 101}, "compute_share_maximum"),
        ({"longest": 1, "longest_unit": 60}, "longest"),
        ({"category": "none"}, "category"),
    ],
)
def test_what_the_centre_does_not_have_is_refused_beside_its_picker(page, changes, name):
    node_make("n1")
    commodity_make()
    refused(page.post(f"{ROOT}new/work/", asked(**changes)), name)
    assert not Commodity.objects.filter(name_en="Training").exists()


def test_of_a_whole_card_and_of_a_specification_the_amounts_are_theirs(page, operator):
    node_make("n1", memory_mib=8192)
    commodity_make()
    went(page.post(f"{ROOT}new/work/", asked(card_use="whole", card="cpu|CPU")))
    row = Commodity.objects.get(name_en="Training")
    parts = {part.component.code: (part.minimum, part.maximum) for part in row.components.all()}
    assert parts == {"compute_share": (100, 100), "gpu_memory": (8192, 8192)}


@pytest.mark.req("PLAT-OPS-15")
def test_a_change_is_a_new_version_and_only_at_the_one_that_was_read(page):
    node_make("n1")
    commodity_make()
    went(page.post(f"{ROOT}new/work/", asked()))
    row = Commodity.objects.get(name_en="Training")
    path, given = f"{ROOT}commodities/{row.uid}/edit/", asked(longest=7, version=row.version, max_count=2)
    went(page.post(path, given))
    row.refresh_from_db()
    assert (row.version, row.max_duration_s, row.max_count) == (2, 7 * 86400, 2)
    refused(page.post(path, given), "none")
    shown = page.get(path).context["form"].initial
    assert (shown["longest"], shown["longest_unit"], shown["gpu_memory_maximum"]) == (7, 86400, 4)
    assert shown["command"] == "python train.py --name 'two words'"


def test_what_is_listed_does_not_sell_what_has_no_price(page):
    node_make("n1")
    row = commodity_make()
    given = asked(version=row.version)
    refused(page.post(f"{ROOT}commodities/{row.uid}/edit/", given), "none")
    row.refresh_from_db()
    assert row.components.count() == 4
    went(page.post(f"{ROOT}commodities/{row.uid}/do/delist/"))
    went(page.post(f"{ROOT}commodities/{row.uid}/edit/", given | {"version": row.version + 1}))
    stale = page.post(f"{ROOT}commodities/{row.uid}/do/list/", headers={"HX-Request": "true"})
    assert stale.status_code == 409


@pytest.mark.req("PLAT-OPS-13", "PLAT-OPS-14")
def test_a_commodity_is_listed_disabled_copied_and_given_to_one_tenant(page, acme):
    row = commodity_make()
    path = f"{ROOT}commodities/{row.uid}/"
    for name, field, value in (
        ("delist", "is_listed", False),
        ("list", "is_listed", True),
        ("disable", "is_enabled", False),
        ("enable", "is_enabled", True),
    ):
        went(page.post(f"{path}do/{name}/"))
        assert getattr(Commodity.objects.get(pk=row.pk), field) is value
    went(page.post(f"{path}do/copy/"))
    with translation.override("en"):
        copy = Commodity.objects.get(name_en__contains="(")
    assert (copy.is_listed, copy.components.count(), copy.price_versions.count()) == (False, 4, 1)
    went(page.post(f"{path}tenants/", {"is_for_all": "0", "tenants": ["acme"]}))
    row.refresh_from_db()
    assert [grant.tenant_id for grant in row.grants.all()] == [acme.pk]
    assert not row.is_for_all
    assert page.post(f"{path}do/explode/").status_code == 404


def test_an_environment_is_a_template_and_a_session_runs_nothing_of_the_centres(page):
    node_make("n1")
    commodity_make()
    environment_template_make(actor=SYSTEM, draft=TEMPLATE)
    went(page.post(f"{ROOT}new/environment/", asked(environment=TEMPLATE.name)))
    row = Commodity.objects.get(name_en="Training")
    assert (row.kind, row.work["web"], row.environment) == ("environment", True, TEMPLATE.name)
    went(page.post(f"{ROOT}new/session/", asked(name_en="Card elsewhere")))
    assert Commodity.objects.get(name_en="Card elsewhere").work == {}
    sizes = {"storage_minimum": 10, "storage_maximum": 500, "storage_default": 50, "storage_step": 10}
    went(page.post(f"{ROOT}new/volume/", asked(name_en="Room for files", **sizes)))
    row = Commodity.objects.get(name_en="Room for files")
    (part,) = row.components.all()
    assert (row.work, row.max_count, part.component.code, part.maximum) == ({}, 1, "storage", 500)
    assert 'data-test="storage-minimum"' in page.get(f"{ROOT}commodities/{row.uid}/edit/").content.decode()
    went(page.post(f"{ROOT}new/manual/", asked(name_en="Course")))
    row = Commodity.objects.get(name_en="Course")
    assert (row.is_manual, row.components.count()) == (True, 0)
    went(page.post(f"{ROOT}commodities/{row.uid}/do/list/"))


def test_a_service_says_by_its_form_how_it_is_reached_and_kept_alive(page):
    node_make("n1")
    commodity_make()
    said = {
        "command": "python serve.py $PORT", "port": "", "health_path": "/healthz", "interval": 5, "timeout": 2,
        "failures": 3, "start": 2, "start_unit": 60, "restart": "failure", "max_restarts": 4, "max_count": 9,
    }  # fmt: skip
    assert 'value="/"' in page.get(f"{ROOT}new/service/").content.decode()
    for wrong in (
        {"health_path": "healthz"},
        {"port": 80},
        {"interval": 0},
        {"image": "none"},
        {"command": ""},
        {"start_unit": 60, "start": 61},
    ):
        refused(page.post(f"{ROOT}new/service/", asked(**said | wrong)), next(iter(wrong)))
    went(page.post(f"{ROOT}new/service/", asked(**said)))
    row = Commodity.objects.get(name_en="Training")
    assert row.work["service"] == {
        "port": None, "health_path": "/healthz", "interval_s": 5, "timeout_s": 2, "failures": 3, "start_s": 120,
        "restart": "failure", "max_restarts": 4,
    }  # fmt: skip
    assert (row.kind, row.max_count, row.work["argv"]) == ("service", 1, ["python", "serve.py", "$PORT"])
    text = page.get(f"{ROOT}commodities/{row.uid}/").content.decode()
    assert "GET /healthz" in text
    assert "at most 4 times" in " ".join(text.split())
    said["version"] = row.version
    went(page.post(f"{ROOT}commodities/{row.uid}/edit/", asked(**said | {"port": 8080})))
    row.refresh_from_db()
    assert (row.work["service"]["port"], row.version) == (8080, 2)


def test_work_may_run_the_buyers_own_program(page):
    node_make("n1")
    commodity_make()
    went(page.post(f"{ROOT}new/work/", asked(whose="buyer", command="")))
    row = Commodity.objects.get(name_en="Training")
    assert (row.is_own_program, row.work) == (True, {})
    assert "own program" in page.get(f"{ROOT}commodities/{row.uid}/").content.decode()
    went(page.post(f"{ROOT}commodities/{row.uid}/edit/", asked(whose="centre", version=1)))
    row.refresh_from_db()
    assert (row.is_own_program, row.work["argv"][0], row.version) == (False, "python", 2)


def test_a_whole_queue_of_readers_changes_nothing(operator):
    row, page = commodity_make(), operator("executive").page()
    queue_ensure(actor=SYSTEM)
    for path in (f"commodities/{row.uid}/do/delist/", "categories/gpu/do/delete/", "new/work/", "forms/new/"):
        assert page.post(ROOT + path).status_code == 403
    row.refresh_from_db()
    assert row.is_listed
