"""What the kinds of commodity deliver, where, and what is refused on the form because the centre does not have it."""

from dataclasses import replace

import pytest

from apps.catalog.models import Commodity, FormTemplate
from apps.catalog.selectors.commodities import commodity_get
from apps.catalog.services.commodities import commodity_change, commodity_list_
from apps.catalog.services.form_templates import FieldDraft, form_field_put, form_field_remove
from apps.fleet.models import Spec
from apps.fleet.services.specs import spec_make
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, Forbidden, InvalidInput, WeirError
from apps.orders.models import ApplicationForm, Order
from apps.orders.selectors import further_shown
from apps.orders.services.deliveries import order_deliver, ticket_execute
from apps.orders.services.drafts import form_draft, form_update
from apps.orders.services.submissions import form_submit
from apps.orders.services.terminations import order_terminate
from apps.orders.types import LineInput
from apps.scheduling.errors import NoSuchModel, NoSuchQueue, RunTooLong, ShareTooLarge
from apps.scheduling.models import Queue
from apps.tickets.models import Ticket
from apps.tickets.services.life import ticket_claim, ticket_return
from tests.apps.catalog.market import commodity_make
from tests.apps.orders.scene import Scene, workload_of
from tests.apps.scheduling.pool import node_make

pytestmark = pytest.mark.django_db


def changed(scene: Scene, **changes: object) -> None:
    """Another version of the scene's commodity."""
    row = Commodity.objects.get(pk=scene.commodity.pk)
    commodity_change(actor=SYSTEM, commodity_uid=row.uid, version=row.version, changes=changes)


def sold(scene: Scene, number: str, **changes: object) -> Scene:
    """The scene with another listed commodity."""
    row = commodity_make(number, **changes)
    return replace(scene, commodity=commodity_get(tenant=scene.tenant, uid=row.uid))


# --- the form keeps the fields it was begun with -----------------------------------------------------------------


def template(scene: Scene) -> FormTemplate:
    return FormTemplate.objects.get(pk=scene.commodity.process_app.form_template_id)


def field(scene: Scene, kind: str, **more: object) -> None:
    row = template(scene)
    draft = FieldDraft(kind, "标签", f"My {kind}", **more)
    form_field_put(actor=SYSTEM, code=row.code, version=row.version, draft=draft)


@pytest.mark.req("PLAT-CFG-23", "PLAT-APPLY-4")
def test_an_open_application_keeps_its_fields_and_a_new_one_has_the_new_ones(scene: Scene):
    field(scene, "text", is_required=True)
    form = scene.draft(data={"my_text": "kept"})
    field(scene, "number", is_required=True)
    row = template(scene)
    form_field_remove(actor=SYSTEM, code=row.code, version=row.version, name="my_text")
    form = form_submit(actor=scene.ann.actor, form_uid=form.uid)
    assert [name["name"] for name in form.fields] == ["my_text"]
    assert [(field["label_en"], value) for field, value in further_shown(form)] == [("My text", "kept")]
    with pytest.raises(InvalidInput) as caught:
        form_submit(actor=scene.ann.actor, form_uid=scene.draft().uid)
    assert set(caught.value.fields) == {"data.my_number"}


@pytest.mark.parametrize(
    ("kind", "more", "wrong", "right", "shown"),
    [
        ("number", {"unit": "TB", "minimum": 1, "maximum": 5}, 6, 5, "5 TB"),
        ("duration", {"minimum": 60, "maximum": 3600}, 59, 3600, "1 h"),
        ("memory", {"maximum": 2048}, 4096, 2048, "2 GiB"),
        ("choice", {"choices": ("red", "blue")}, "green", "red", "red"),
        ("date", {}, "31.12.2026", "2026-12-31", "2026-12-31"),
        ("queue", {}, "nowhere", "default", None),
        ("model", {}, "H100", "CPU", None),
        ("person", {}, "manager", "ann", None),
        ("text", {}, 5, "five", "five"),
        ("number", {}, float("nan"), -1.5, "-1.5"),
    ],
)
def test_a_field_takes_what_its_kind_means_and_nothing_else(scene: Scene, kind, more, wrong, right, shown):
    node_make("n1")
    field(scene, kind, **more)
    form = scene.draft()
    given = {"lines": [LineInput(scene.commodity.uid, scene.draft().lines.get().amounts)], "duration_s": 3600}
    with pytest.raises(InvalidInput) as caught:
        form_update(actor=scene.ann.actor, form_uid=form.uid, data={f"my_{kind}": wrong}, **given)
    assert set(caught.value.fields) == {f"data.my_{kind}"}
    form = form_update(actor=scene.ann.actor, form_uid=form.uid, data={f"my_{kind}": right}, **given)
    ((_field, text),) = further_shown(form)
    assert shown is None or text == shown
    assert text


def test_a_default_stands_in_a_new_application(scene: Scene):
    field(scene, "number", default=3.0)
    assert scene.draft().data == {"my_number": 3.0}


# --- an open application keeps the commodity ---------------------------------------------------------------------


@pytest.mark.req("PLAT-OPS-15")
def test_what_was_submitted_keeps_the_version_it_was_submitted_with(scene: Scene):
    form = scene.submitted()
    changed(scene, work={"argv": ["python", "other.py"], "env": {}}, max_duration_s=7200)
    order = order_deliver(actor=SYSTEM, order_uid=scene.decide(form, "approve", "approve").orders.get().uid)
    assert workload_of(order).work["argv"] == ["python", "train.py"]
    assert order.line.commodity_snapshot["version"] == scene.commodity.version
    assert workload_of(scene.delivered()).work["argv"] == ["python", "other.py"]


# --- where it is delivered ---------------------------------------------------------------------------------------


@pytest.mark.req("PLAT-CMP-19")
def test_an_order_goes_where_its_commodity_says(scene: Scene):
    node_make("n1", memory_mib=16384)
    Queue.objects.create(code="fast", name_en="Fast", name_zh="快")
    changed(scene, queue="fast", vendor="cpu", model="CPU")
    row = workload_of(scene.delivered())
    assert (row.queue.code, row.pins) == ("fast", {"vendor": "cpu", "model": "CPU"})
    assert (row.kind, row.spec, row.resource_group) == ("program", "", "")


@pytest.mark.req("PLAT-SVC-8")
def test_a_session_is_a_share_of_a_card_and_runs_nothing(scene: Scene):
    session = sold(scene, "S-1", kind="session", work={})
    row = workload_of(session.delivered())
    assert (row.kind, row.work, row.purpose) == ("session", {}, "development")
    assert (row.compute_percent, row.memory_mib) == (20, 10240)


def test_a_session_without_a_card_is_not_listed(scene: Scene):
    row = commodity_make("S-2", kind="session", work={}, is_listed=False)
    row.components.filter(component__code__in=("compute_share", "gpu_memory")).delete()
    with pytest.raises(Conflict, match="remote accelerator"):
        commodity_list_(actor=SYSTEM, commodity_uid=row.uid)
    with pytest.raises(InvalidInput):
        commodity_make("S-3", kind="session", work={"argv": ["rm"], "env": {}})


# --- refused on the form -----------------------------------------------------------------------------------------


def specified(scene: Scene) -> None:
    spec_make(actor=SYSTEM, code="big", name_en="Big", name_zh="大", compute_percent=20, memory_mib=10240)
    changed(scene, spec="big")


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda scene: changed(scene, model="H100"), NoSuchModel, "H100"),
        (lambda scene: changed(scene, queue="gone"), NoSuchQueue, "gone"),
        (lambda scene: Queue.objects.update(max_run_s=60), RunTooLong, "1 min"),
        (lambda scene: node_make("n2", memory_mib=512), ShareTooLarge, "memory"),
        (lambda scene: (specified(scene), Spec.objects.update(memory_mib=1)), InvalidInput, "Big"),
        (lambda scene: (specified(scene), Spec.objects.update(is_enabled=False)), WeirError, "big"),
    ],
)
def test_what_could_never_be_delivered_is_refused_on_the_form_with_a_sentence(
    scene: Scene, make, error, said
):
    form = scene.draft()
    make(scene)
    with pytest.raises(error, match=said):
        form_submit(actor=scene.ann.actor, form_uid=form.uid)
    form.refresh_from_db()
    assert form.is_draft
    assert scene.held() == (0, 0)


# --- what a person delivers --------------------------------------------------------------------------------------


@pytest.fixture
def course(scene: Scene) -> Scene:
    return sold(scene, "M-1", kind="manual", work={}, components=(), prices=None)


def ordered(course: Scene) -> tuple[Order, Ticket]:
    lines = [LineInput(course.commodity.uid, {}, 1)]
    form = form_draft(actor=course.ann.actor, lines=lines, duration_s=3600)
    form = course.decide(form_submit(actor=course.ann.actor, form_uid=form.uid), "approve", "approve")
    order = form.orders.get()
    order_deliver(actor=SYSTEM, order_uid=order.uid)
    order.refresh_from_db()
    return order, Ticket.objects.get(uid=order.ticket_uid)


@pytest.mark.req("PLAT-OPS-9", "PLAT-OPS-16")
def test_a_manual_service_is_delivered_by_the_answer_of_who_claimed_its_ticket(course: Scene):
    order, ticket = ordered(course)
    assert (order.state, order.workload_uid, ticket.state, ticket.is_manual) == (
        "pending",
        None,
        "waiting",
        True,
    )
    assert course.held() == (0, 0)
    worker = course.worker.actor
    ticket_claim(actor=worker, ticket_uid=ticket.uid)
    with pytest.raises(InvalidInput, match="Say what was done"):
        ticket_execute(actor=worker, ticket_uid=ticket.uid, note="  ")
    done = ticket_execute(actor=worker, ticket_uid=ticket.uid, note="Held on Monday.")
    ticket.refresh_from_db()
    assert (done.state, done.is_ended, ticket.state, ticket.result) == (
        "completed", True, "done", {"text": "Held on Monday."},
    )  # fmt: skip
    form = ApplicationForm.objects.get(pk=order.form_id)
    assert (form.state, form.note) == ("completed", "")
    with pytest.raises(Conflict):
        ticket_execute(actor=worker, ticket_uid=ticket.uid, note="Again.")
    with pytest.raises(Conflict):
        order_terminate(actor=course.ann.actor, order_uid=order.uid, reason="late")
    page = course.ann.page().get(f"/orders/{order.uid}/").content.decode()
    assert "Held on Monday." in page


def test_nobody_answers_for_another_and_a_ticket_given_back_waits(course: Scene, operator):
    order, ticket = ordered(course)
    ticket_claim(actor=course.worker.actor, ticket_uid=ticket.uid)
    other = operator("operations_manager", schema="acme").actor
    with pytest.raises(WeirError) as caught:
        ticket_execute(actor=other, ticket_uid=ticket.uid, note="Mine.")
    assert caught.value.status in (403, 404)
    ticket_return(actor=course.worker.actor, ticket_uid=ticket.uid)
    with pytest.raises(Forbidden):
        ticket_execute(actor=course.worker.actor, ticket_uid=ticket.uid, note="Not claimed.")
    order.refresh_from_db()
    assert order.state == "pending"


def test_an_early_end_of_a_manual_service_closes_its_ticket(course: Scene):
    order, ticket = ordered(course)
    form = order_terminate(actor=course.ann.actor, order_uid=order.uid, reason="not needed")
    while form.state != "completed":
        form = course.decide(form, "approve")
    order.refresh_from_db()
    ticket.refresh_from_db()
    assert (order.state, ticket.state) == ("terminated", "failed")


def test_what_a_person_delivers_has_no_amounts_and_costs_nothing_by_the_meter(course: Scene):
    lines = [LineInput(course.commodity.uid, {"cpu": 1}, 1)]
    with pytest.raises(InvalidInput):
        form_draft(actor=course.ann.actor, lines=lines, duration_s=3600)
    page = course.ann.page()
    given = {"count": 1, "duration": 1, "duration_unit": 3600}
    text = page.get(f"/commodities/{course.commodity.uid}/quote/", given).content.decode()
    assert 'data-test="problem"' not in text
    assert page.get(f"/commodities/{course.commodity.uid}/").status_code == 200
