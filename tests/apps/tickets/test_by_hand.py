"""Tickets that people open: by a category's form to whom its rule names, and what both sides do until it is closed."""

from datetime import time, timedelta
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from apps.cases.models import Case
from apps.identity.models import OperatorBinding
from apps.kernel.actor import SYSTEM
from apps.kernel.attached_files import AttachmentRefused
from apps.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound
from apps.kernel.planes import in_tenant
from apps.notices.models import Message
from apps.ticketing.models import TicketCategory
from apps.ticketing.services.calendar import working_hours_set
from apps.ticketing.services.categories import (
    category_change,
    category_create,
    category_delete,
    category_fields_set,
    rule_add,
)
from apps.tickets.errors import Unanswered
from apps.tickets.models import Ticket, TicketFile
from apps.tickets.selectors import case_of, fields_shown, ticket_file_get, ticket_get, ticket_list
from apps.tickets.services.by_hand import (
    ticket_ask,
    ticket_close,
    ticket_comment,
    ticket_fields_write,
    ticket_file_add,
    ticket_finish,
    ticket_rate,
    ticket_reopen,
    ticket_reply,
    ticket_submit,
)
from apps.tickets.services.life import ticket_claim, ticket_executed, ticket_hand_over, ticket_return
from tests.apps.catalog.racing import race

FIELDS = [
    {
        "label_zh": "设备", "label_en": "Device", "kind": "choice", "choices": ["node", "printer"], "is_required": True,
        "handling": "read_only",
    },
    {
        "label_zh": "说明", "label_en": "Guide", "value": "Turn it off first", "opening": "read_only",
        "handling": "hidden",
    },
    {"label_zh": "原因", "label_en": "Cause", "kind": "long", "is_required": True, "opening": "hidden"},
]  # fmt: skip


@pytest.fixture
def inside(db, settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    with in_tenant("acme"):
        yield


@pytest.fixture
def ann(member):
    return member("acme", "tenant_front_line", "ann")


@pytest.fixture
def worker(operator):
    return operator("front_line", schema="acme", username="worker")


@pytest.fixture
def repair(inside, worker):
    top = TicketCategory.objects.get(builtin="om")
    row = category_create(
        actor=SYSTEM, parent=top, name_zh="维修", name_en="Repair", fields=FIELDS,
        changes={"answer_minutes": 60, "solve_minutes": 600},
    )  # fmt: skip
    rule_add(actor=SYSTEM, category_uid=row.uid, kind="role", receiver="front_line")
    return row


@pytest.fixture
def ticket(repair, ann):
    return ticket_submit(
        actor=ann.actor, category_uid=repair.uid, title="Fan is loud", text="since noon", data={"device": "node"},
        files=[SimpleUploadedFile("fan.txt", b"brrr")],
    )  # fmt: skip


def titles(person):
    return [row.title for row in Message.objects.filter(user=person.user).order_by("pk")]


def handled(ticket, worker):
    ticket_claim(actor=worker.actor, ticket_uid=ticket.uid)
    return ticket_finish(actor=worker.actor, ticket_uid=ticket.uid, text="New fan", data={"cause": "dust"})


@pytest.mark.req("PLAT-CFG-27", "PLAT-TODO-8", "PLAT-TODO-15")
def test_a_ticket_arrives_at_its_receiver_with_its_file(ticket, ann, worker):
    assert list(ticket_list(actor=worker.actor, tab="todo")) == [ticket]
    assert list(ticket_list(actor=ann.actor)) == [ticket]
    file = ticket_get(actor=worker.actor, uid=ticket.uid).files.get()
    assert ticket_file_get(actor=worker.actor, uid=file.uid).file.read() == b"brrr"
    assert titles(worker) == [f"ann opened the ticket {ticket.no}: Fan is loud"]
    case = Case.plain.get(uid=ticket.uid)
    assert (case.category, case.roles, case.is_open) == (ticket.category.path, ["front_line"], True)
    assert case_of(ticket).due_at == ticket.solve_due_at


@pytest.mark.req("PLAT-TODO-11", "PLAT-TODO-12", "PLAT-TODO-13")
def test_from_opening_to_rating(ticket, ann, worker):
    ticket_claim(actor=worker.actor, ticket_uid=ticket.uid)
    ticket_ask(actor=worker.actor, ticket_uid=ticket.uid, text="Which node?")
    assert list(ticket_list(actor=ann.actor, tab="todo")) == [ticket]
    ticket_reply(actor=ann.actor, ticket_uid=ticket.uid, text="The third")
    ticket_comment(actor=worker.actor, ticket_uid=ticket.uid, text="On my way")
    with pytest.raises(InvalidInput) as refused:
        ticket_finish(actor=worker.actor, ticket_uid=ticket.uid, text="New fan")
    assert list(refused.value.fields) == ["Cause"]
    row = ticket_finish(actor=worker.actor, ticket_uid=ticket.uid, text="New fan", data={"cause": "dust"})
    assert (row.state, list(ticket_list(actor=worker.actor, tab="done"))) == ("done", [ticket])
    ticket_rate(actor=ann.actor, ticket_uid=ticket.uid, rating=5, text="quick")
    with pytest.raises(Conflict):
        ticket_rate(actor=ann.actor, ticket_uid=ticket.uid, rating=1)
    ticket_close(actor=ann.actor, ticket_uid=ticket.uid)
    row.refresh_from_db()
    assert (row.state, row.rating) == ("closed", 5)
    kinds = ["opened", "claimed", "asked", "replied", "commented", "done", "rated", "closed"]
    assert list(row.entries.values_list("kind", flat=True)) == kinds
    # Each change was told to the other side, and to it alone.
    assert len(titles(ann)) == 4
    assert len(titles(worker)) == 4
    with pytest.raises(Conflict):
        ticket_comment(actor=ann.actor, ticket_uid=ticket.uid, text="more")


def test_what_was_done_and_is_not_it_comes_back(ticket, ann, worker):
    handled(ticket, worker)
    row = ticket_reopen(actor=ann.actor, ticket_uid=ticket.uid, text="Louder than before")
    assert (row.state, row.assignee, row.done_at) == ("waiting", None, None)
    assert titles(worker)[-1] == f"ann opened the ticket {ticket.no} again."
    ticket_claim(actor=worker.actor, ticket_uid=ticket.uid)
    ticket_return(actor=worker.actor, ticket_uid=ticket.uid)
    ticket_close(actor=ann.actor, ticket_uid=ticket.uid)
    with pytest.raises(Conflict):
        ticket_reopen(actor=ann.actor, ticket_uid=ticket.uid, text="again")
    with pytest.raises(Conflict):
        ticket_rate(actor=ann.actor, ticket_uid=ticket.uid, rating=5)


def test_a_ticket_is_handed_over_to_who_may_work_on_it(ticket, ann, worker, operator):
    mate = operator("front_line", schema="acme", username="mate")
    chief = operator("operations_manager", schema="acme", username="chief")
    other = operator("executive", schema="acme", username="other")
    ticket_claim(actor=worker.actor, ticket_uid=ticket.uid)
    for wrong in (other.user.uid, ann.user.uid, worker.user.uid, uuid4()):
        with pytest.raises(InvalidInput):
            ticket_hand_over(actor=worker.actor, ticket_uid=ticket.uid, user_uid=wrong)
    with pytest.raises(Forbidden):
        ticket_hand_over(actor=mate.actor, ticket_uid=ticket.uid, user_uid=mate.user.uid)
    ticket_hand_over(actor=worker.actor, ticket_uid=ticket.uid, user_uid=mate.user.uid, text="fans are yours")
    assert titles(mate)[-1].startswith(f"worker handed the ticket {ticket.no} over to you")
    with pytest.raises(Forbidden):
        ticket_finish(actor=worker.actor, ticket_uid=ticket.uid, text="x")
    # Who keeps the categories takes it from somebody who has gone.
    ticket_hand_over(actor=chief.actor, ticket_uid=ticket.uid, user_uid=worker.user.uid)
    assert Ticket.objects.get().assignee == worker.user


@pytest.mark.req("PLAT-CFG-26")
def test_each_step_sees_and_writes_its_own_fields(ticket, ann, worker):
    def shown(person):
        return {field["name"]: (value, writes) for field, value, writes in fields_shown(person.actor, ticket)}

    guide = ("Turn it off first", False)
    assert shown(ann) == {"device": ("node", False), "guide": guide}
    ticket = ticket_claim(actor=worker.actor, ticket_uid=ticket.uid)
    assert shown(worker) == {"device": ("node", False), "cause": ("", True)}
    for data in ({"device": "printer"}, {"guide": "x"}, {"none": "x"}):
        with pytest.raises(InvalidInput):
            ticket_fields_write(actor=worker.actor, ticket_uid=ticket.uid, data=data)
    ticket = ticket_fields_write(actor=worker.actor, ticket_uid=ticket.uid, data={"cause": "dust"})
    assert shown(worker)["cause"] == ("dust", True)
    assert shown(ann) == {"device": ("node", False), "guide": guide}
    ticket = ticket_ask(actor=worker.actor, ticket_uid=ticket.uid, text="Sure?")
    assert shown(ann)["device"] == ("node", True)
    ticket = ticket_reply(actor=ann.actor, ticket_uid=ticket.uid, text="no", data={"device": "printer"})
    assert (ticket.data["device"], ticket.data["cause"]) == ("printer", "dust")


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"device": "car"},
        {"device": ["node"]},
        {"device": "node", "cause": "x"},
        {"device": "node", "guide": ""},
    ],
)
def test_a_form_that_is_wrong_opens_nothing(repair, ann, data):
    with pytest.raises(InvalidInput):
        ticket_submit(actor=ann.actor, category_uid=repair.uid, title="t", data=data)
    assert not Ticket.objects.exists()


def test_a_file_that_is_refused_opens_nothing(repair, ann, tmp_path):
    with pytest.raises(AttachmentRefused):
        ticket_submit(
            actor=ann.actor, category_uid=repair.uid, title="t", data={"device": "node"},
            files=[SimpleUploadedFile("a.txt", b"a"), SimpleUploadedFile("page.html", b"<script>")],
        )  # fmt: skip
    assert (Ticket.objects.count(), TicketFile.objects.count()) == (0, 0)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.req("PLAT-CFG-25")
def test_a_changed_rule_sends_the_next_ticket_to_another(repair, ticket, ann, worker, operator):
    chief = operator("operations_manager", schema="acme", username="chief")
    rule = {"actor": SYSTEM, "category_uid": repair.uid, "kind": "user", "receiver": "chief"}
    rule_add(**rule, field="device", value="printer")
    printer = ticket_submit(actor=ann.actor, category_uid=repair.uid, title="Jam", data={"device": "printer"})
    node = ticket_submit(actor=ann.actor, category_uid=repair.uid, title="Fan", data={"device": "node"})
    assert (printer.user_ids, node.roles) == ([chief.user.pk], ["front_line"])
    with pytest.raises(Forbidden, match="is for chief"):
        ticket_claim(actor=worker.actor, ticket_uid=printer.uid)
    rule_add(**rule)
    last = ticket_submit(actor=ann.actor, category_uid=repair.uid, title="Fan", data={"device": "node"})
    assert (last.user_ids, last.roles) == ([chief.user.pk], [])
    assert Ticket.objects.get(pk=node.pk).roles == ["front_line"]


@pytest.mark.req("PLAT-CFG-25")
def test_a_rule_that_nobody_answers_to_is_refused_when_it_is_saved_and_when_a_ticket_comes(
    repair, ann, worker
):
    for kind, receiver in (("role", "executive"), ("role", "none"), ("user", "ann"), ("organization", str(uuid4())),
                           ("organization", "x"), ("post", "Clerk")):  # fmt: skip
        with pytest.raises(InvalidInput):
            rule_add(actor=SYSTEM, category_uid=repair.uid, kind=kind, receiver=receiver)
    OperatorBinding.objects.filter(user=worker.user).delete()
    with pytest.raises(Unanswered) as refused:
        ticket_submit(actor=ann.actor, category_uid=repair.uid, title="t", data={"device": "node"})
    assert "administrator of the computing centre" in str(refused.value.cure)
    assert not Ticket.objects.exists()


@pytest.mark.req("PLAT-CFG-25")
def test_a_rule_of_the_tenants_side_finds_its_own_people(repair, ann, member):
    boss = member("acme", "tenant_operations_manager", "boss")
    rule = {"actor": SYSTEM, "category_uid": repair.uid, "side": "tenant"}
    rule_add(**rule, kind="role", receiver="Front-line staff")
    found = ticket_submit(actor=boss.actor, category_uid=repair.uid, title="t", data={"device": "node"})
    assert (found.side, found.roles) == ("tenant", ["tenant_front_line"])
    assert list(ticket_list(actor=ann.actor, tab="todo")) == [found]
    rule_add(**rule, kind="post", receiver="Clerk")
    with pytest.raises(Unanswered, match="Clerk"):
        ticket_submit(actor=boss.actor, category_uid=repair.uid, title="t", data={"device": "node"})


@pytest.mark.req("PLAT-CFG-28", "PLAT-CFG-29")
def test_three_categories_are_built_in_and_ones_own_stand_below_one_of_them(repair, ticket):
    assert list(TicketCategory.objects.exclude(builtin=None).values_list("builtin", flat=True)) == [
        "om",
        "service",
        "system",
    ]
    below = category_create(actor=SYSTEM, parent=repair, name_zh="打印机", name_en="Printers")
    assert below.path.startswith(f"{repair.path}/")
    for code in ("service", "system"):
        row = TicketCategory.objects.get(builtin=code)
        with pytest.raises(InvalidInput):
            category_create(actor=SYSTEM, parent=row, name_zh="x", name_en="x")
        with pytest.raises(Conflict):
            category_delete(actor=SYSTEM, category_uid=row.uid)
        with pytest.raises(Conflict):
            category_change(actor=SYSTEM, category_uid=row.uid, changes={"name_en": "Other"})
    with pytest.raises(Conflict, match="stand below"):
        category_delete(actor=SYSTEM, category_uid=repair.uid)
    category_delete(actor=SYSTEM, category_uid=below.uid)
    with pytest.raises(Conflict, match="were opened"):
        category_delete(actor=SYSTEM, category_uid=repair.uid)
    with pytest.raises(InvalidInput):
        category_create(actor=SYSTEM, parent=repair.parent, name_zh="维修", name_en="Another")


def test_a_disabled_category_is_offered_no_more_nor_what_stands_below_it(repair, ann):
    below = category_create(actor=SYSTEM, parent=repair, name_zh="打印机", name_en="Printers")
    rule_add(actor=SYSTEM, category_uid=below.uid, kind="role", receiver="front_line")
    category_change(actor=SYSTEM, category_uid=repair.uid, changes={"is_enabled": False})
    for row in (repair, below, TicketCategory.objects.get(builtin="service")):
        with pytest.raises(NotFound):
            ticket_submit(actor=ann.actor, category_uid=row.uid, title="t", data={"device": "node"})


def test_a_field_that_a_rule_goes_by_stays(repair):
    rule_add(
        actor=SYSTEM,
        category_uid=repair.uid,
        kind="role",
        receiver="front_line",
        field="device",
        value="node",
    )
    with pytest.raises(InvalidInput, match="A rule goes by"):
        category_fields_set(actor=SYSTEM, category_uid=repair.uid, fields=FIELDS[1:])
    with pytest.raises(InvalidInput):
        rule_add(
            actor=SYSTEM,
            category_uid=repair.uid,
            kind="role",
            receiver="front_line",
            field="device",
            value="car",
        )


def test_due_times_count_working_hours_and_stand_while_it_is_asked_back(ticket, ann, worker, repair):
    assert abs(ticket.answer_due_at - ticket.created_at - timedelta(hours=1)) < timedelta(seconds=5)
    ticket_claim(actor=worker.actor, ticket_uid=ticket.uid)
    row = ticket_ask(actor=worker.actor, ticket_uid=ticket.uid, text="?")
    assert row.answered_at
    assert not row.is_answer_overdue
    due = row.solve_due_at
    Ticket.objects.update(asked_at=timezone.now() - timedelta(hours=5), solve_due_at=due)
    row = ticket_reply(actor=ann.actor, ticket_uid=ticket.uid, text="!")
    assert abs(row.solve_due_at - due - timedelta(hours=5)) < timedelta(seconds=90)
    assert not row.is_solve_overdue
    Ticket.objects.update(solve_due_at=timezone.now() - timedelta(minutes=1))
    row.refresh_from_db()
    assert row.is_solve_overdue
    working_hours_set(actor=SYSTEM, spans=[(day, time(9), time(10)) for day in range(7)])
    late = ticket_submit(actor=ann.actor, category_uid=repair.uid, title="t", data={"device": "node"})
    # Ten hours of work at an hour a day.
    assert timedelta(days=8) < late.solve_due_at - timezone.now() < timedelta(days=11)


@pytest.mark.req("PLAT-TODO-13")
@pytest.mark.usefixtures("committed")
def test_of_parallel_ratings_one_counts(member, operator):
    ann, worker = member("acme", "tenant_front_line"), operator("front_line", schema="acme")
    with in_tenant("acme"):
        row = TicketCategory.objects.get(builtin="om")
        ticket = ticket_submit(actor=ann.actor, category_uid=row.uid, title="t")
        ticket_claim(actor=worker.actor, ticket_uid=ticket.uid)
        ticket_finish(actor=worker.actor, ticket_uid=ticket.uid, text="done")

    def rate(rating):
        with in_tenant("acme"):
            return ticket_rate(actor=ann.actor, ticket_uid=ticket.uid, rating=rating)

    outcomes = race(lambda: rate(1), lambda: rate(5))
    assert sorted(type(one).__name__ for one in outcomes) == ["Conflict", "Ticket"]


def test_who_has_no_part_in_it_is_refused(ticket, ann, worker, member):
    boss = member("acme", "tenant_operations_manager", "boss")
    ben = member("acme", "tenant_front_line", "ben")
    assert ticket_get(actor=boss.actor, uid=ticket.uid) == ticket
    with pytest.raises(Forbidden):
        ticket_comment(actor=boss.actor, ticket_uid=ticket.uid, text="x")
    with pytest.raises(Forbidden):
        ticket_file_add(actor=boss.actor, ticket_uid=ticket.uid, file=SimpleUploadedFile("a.txt", b"a"))
    for act in (ticket_comment, ticket_reply, ticket_reopen):
        with pytest.raises(NotFound):
            act(actor=ben.actor, ticket_uid=ticket.uid, text="x")
    with pytest.raises(NotFound):
        ticket_file_get(actor=ben.actor, uid=ticket.files.get().uid)
    with pytest.raises(Forbidden):
        ticket_close(actor=worker.actor, ticket_uid=ticket.uid)
    with pytest.raises(Forbidden):
        ticket_claim(actor=ann.actor, ticket_uid=ticket.uid)
    ticket_claim(actor=worker.actor, ticket_uid=ticket.uid)
    with pytest.raises(Conflict):
        ticket_executed(actor=worker.actor, ticket_uid=ticket.uid)
