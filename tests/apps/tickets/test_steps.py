"""Tickets that go through several steps, each done by those whom its rules name (PLAT-CFG-25)."""

import pytest

from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound
from apps.kernel.planes import in_tenant
from apps.notices.models import Message
from apps.ticketing.models import RoutingRule, TicketCategory
from apps.ticketing.selectors import rule_of, steps_of
from apps.ticketing.services.categories import category_create, category_fields_set, rule_add
from apps.ticketing.services.steps import (
    category_step_earlier,
    category_step_put,
    category_step_remove,
    category_steps_set,
)
from apps.tickets.errors import Unanswered
from apps.tickets.models import Ticket
from apps.tickets.selectors import fields_shown, ticket_get, ticket_list
from apps.tickets.services.by_hand import (
    ticket_close,
    ticket_finish,
    ticket_reopen,
    ticket_step_back,
    ticket_submit,
)
from apps.tickets.services.life import ticket_claim

pytestmark = pytest.mark.req("PLAT-CFG-25")
CAUSE = {"label_zh": "原因", "label_en": "Cause", "kind": "long", "is_required": True, "opening": "hidden"}


@pytest.fixture
def inside(db, settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    with in_tenant("acme"):
        yield


@pytest.fixture
def ann(member):
    return member("acme", "tenant_front_line", "ann").actor


@pytest.fixture
def checker(operator):
    return operator("front_line", schema="acme", username="checker").actor


@pytest.fixture
def mender(operator):
    return operator("operations_manager", schema="acme", username="mender").actor


@pytest.fixture
def repair(inside, checker, mender):
    """Checked by front line, mended by operations, handed back by the tenant's own people."""
    top = TicketCategory.objects.get(builtin="om")
    row = category_create(actor=SYSTEM, parent=top, name_zh="维修", name_en="Repair")
    for name_zh, name_en in (("检查", "Check"), ("修复", "Mend"), ("交还", "Hand back")):
        row = category_step_put(actor=SYSTEM, category_uid=row.uid, name_zh=name_zh, name_en=name_en)
    check, mend, back = (step["key"] for step in row.steps)
    say(row, "front_line", check)
    say(row, "operations_manager", mend)
    say(row, "Front-line staff", back, side="tenant")
    return TicketCategory.objects.get(pk=row.pk)


def say(category, receiver, step="", **more):
    return rule_add(
        actor=SYSTEM, category_uid=category.uid, kind="role", receiver=receiver, step=step, **more
    )


@pytest.fixture
def ticket(repair, ann):
    return ticket_submit(actor=ann, category_uid=repair.uid, title="Fan is loud")


def done(ticket, person, **more):
    ticket_claim(actor=person, ticket_uid=ticket.uid)
    return ticket_finish(actor=person, ticket_uid=ticket.uid, text="done here", **more)


def todo(person):
    return [row.no for row in ticket_list(actor=person, tab="todo")]


def at(ticket):
    ticket.refresh_from_db()
    return ticket.state, next(step["name_en"] for step in ticket.steps if step["key"] == ticket.step)


def test_a_ticket_goes_from_step_to_step_to_those_of_each(ticket, ann, checker, mender, member):
    bob = member("acme", "tenant_front_line", "bob").actor
    assert at(ticket) == ("waiting", "Check")
    assert (todo(checker), todo(mender), todo(bob)) == ([ticket.no], [], [])
    done(ticket, checker)
    assert at(ticket) == ("waiting", "Mend")
    assert (todo(checker), todo(mender), todo(bob)) == ([], [ticket.no], [])
    assert Message.objects.filter(user_id=mender.user_id, params__no=ticket.no).exists()
    with pytest.raises(Forbidden):
        ticket_claim(actor=checker, ticket_uid=ticket.uid)
    done(ticket, mender)
    assert at(ticket) == ("waiting", "Hand back")
    assert todo(mender) == []
    assert ticket.no in todo(bob)
    done(ticket, bob)
    assert at(ticket) == ("done", "Hand back")
    ticket_close(actor=ann, ticket_uid=ticket.uid)
    kinds = list(ticket.entries.values_list("kind", flat=True))
    assert kinds == [
        "opened", "claimed", "passed_on", "claimed", "passed_on", "claimed", "done", "closed"
    ]  # fmt: skip


def test_who_did_a_step_still_sees_the_ticket_under_done(ticket, checker, mender):
    done(ticket, checker)
    assert [row.pk for row in ticket_list(actor=checker, tab="done")] == [ticket.pk]
    assert ticket_get(actor=checker, uid=ticket.uid).pk == ticket.pk


def test_a_step_sends_back_what_is_missing_to_the_one_before(ticket, checker, mender):
    ticket_claim(actor=checker, ticket_uid=ticket.uid)
    with pytest.raises(Conflict, match="no step before"):
        ticket_step_back(actor=checker, ticket_uid=ticket.uid, text="what?")
    ticket_finish(actor=checker, ticket_uid=ticket.uid, text="the fan")
    ticket_claim(actor=mender, ticket_uid=ticket.uid)
    with pytest.raises(InvalidInput):
        ticket_step_back(actor=mender, ticket_uid=ticket.uid, text="  ")
    assert at(ticket) == ("delivering", "Mend")
    ticket_step_back(actor=mender, ticket_uid=ticket.uid, text="which fan?")
    assert at(ticket) == ("waiting", "Check")
    assert todo(checker) == [ticket.no]
    assert "which fan?" in ticket.entries.last().text


def test_what_comes_back_begins_at_the_first_step(ticket, ann, checker, mender, member):
    bob = member("acme", "tenant_front_line", "bob").actor
    for person in (checker, mender, bob):
        done(ticket, person)
    ticket_reopen(actor=ann, ticket_uid=ticket.uid, text="still loud")
    assert at(ticket) == ("waiting", "Check")
    assert todo(checker) == [ticket.no]


def test_a_step_that_nobody_can_do_refuses_the_ticket_before_it_is_opened(repair, ann):
    RoutingRule.objects.filter(category=repair, step=repair.steps[1]["key"]).delete()
    with pytest.raises(Unanswered, match="No rule"):
        ticket_submit(actor=ann, category_uid=repair.uid, title="Fan")
    assert not Ticket.objects.exists()


def test_a_ticket_whose_next_step_lost_its_people_stays_where_it_is(ticket, checker):
    RoutingRule.objects.filter(step=ticket.steps[1]["key"]).delete()
    ticket_claim(actor=checker, ticket_uid=ticket.uid)
    with pytest.raises(Unanswered):
        ticket_finish(actor=checker, ticket_uid=ticket.uid, text="the fan")
    assert at(ticket) == ("delivering", "Check")


def test_an_open_ticket_leaves_out_a_step_that_is_gone(ticket, repair, checker):
    category_step_remove(actor=SYSTEM, category_uid=repair.uid, key=repair.steps[1]["key"])
    assert done(ticket, checker).step == repair.steps[2]["key"]


def test_rules_follow_their_steps(inside, checker):
    top = TicketCategory.objects.get(builtin="om")
    row = category_create(actor=SYSTEM, parent=top, name_zh="网", name_en="Net")
    say(row, "front_line")
    row = category_step_put(actor=SYSTEM, category_uid=row.uid, name_en="Look")
    assert rule_of(fresh(row), {}).step == row.steps[0]["key"]
    row = category_step_put(actor=SYSTEM, category_uid=row.uid, name_en="Mend")
    say(row, "front_line", row.steps[1]["key"])
    row = category_step_earlier(actor=SYSTEM, category_uid=row.uid, key=row.steps[1]["key"])
    assert [step["name_en"] for step in row.steps] == ["Mend", "Look"]
    assert rule_of(fresh(row), {}).step == row.steps[0]["key"]
    row = category_step_put(actor=SYSTEM, category_uid=row.uid, key=row.steps[1]["key"], name_en="See")
    assert [step["name_zh"] for step in row.steps] == ["Mend", "See"]
    for key in [step["key"] for step in row.steps]:
        row = category_step_remove(actor=SYSTEM, category_uid=row.uid, key=key)
    assert [rule.step for rule in fresh(row).rules.all()] == [""]


def fresh(row):
    return TicketCategory.objects.get(pk=row.pk)


def test_a_category_below_has_the_steps_above_it_until_it_has_its_own(repair, ann, checker):
    below = category_create(actor=SYSTEM, parent=repair, name_zh="风扇", name_en="Fan")
    say(below, "operations_manager")
    assert [step["name_en"] for step in steps_of(below)] == ["Check", "Mend", "Hand back"]
    row = ticket_submit(actor=ann, category_uid=below.uid, title="Fan")
    assert row.roles == ["operations_manager"]
    category_step_put(actor=SYSTEM, category_uid=below.uid, name_en="All of it")
    assert [step["name_en"] for step in steps_of(fresh(below))] == ["All of it"]


@pytest.mark.parametrize(
    ("steps", "word"),
    [
        ([{"name_en": ""}], "name"),
        ([{"name_en": "A" * 81}], "name"),
        ([{"name_en": "A"}, {"name_en": "A"}], "the same"),
        ([{"name_en": "A", "key": "nobody"}], "no such step"),
        ([{"name_en": str(number)} for number in range(13)], "at most"),
    ],
)
def test_steps_that_are_wrong_change_nothing(repair, steps, word):
    with pytest.raises(InvalidInput, match=word):
        category_steps_set(actor=SYSTEM, category_uid=repair.uid, steps=steps)
    assert fresh(repair).steps == repair.steps
    assert fresh(repair).rules.count() == 3


def test_what_delivers_an_order_has_one_step_and_unknown_steps_are_refused(repair):
    delivery = TicketCategory.objects.get(builtin="service")
    with pytest.raises(Conflict):
        category_step_put(actor=SYSTEM, category_uid=delivery.uid, name_en="Two")
    with pytest.raises(InvalidInput):
        say(repair, "front_line", "nobody")
    with pytest.raises(NotFound):
        category_step_remove(actor=SYSTEM, category_uid=repair.uid, key="nobody")


@pytest.mark.req("PLAT-CFG-26")
def test_a_field_is_otherwise_at_a_step(repair, ann, checker, mender):
    mend = repair.steps[1]["key"]
    at_mend = {**CAUSE, "handling": "hidden", "steps": {mend: "read_write"}}
    category_fields_set(actor=SYSTEM, category_uid=repair.uid, fields=[at_mend])
    ticket = ticket_submit(actor=ann, category_uid=repair.uid, title="Fan")
    ticket_claim(actor=checker, ticket_uid=ticket.uid)
    ticket.refresh_from_db()
    assert fields_shown(checker, ticket) == []
    ticket_finish(actor=checker, ticket_uid=ticket.uid, text="the fan")
    ticket_claim(actor=mender, ticket_uid=ticket.uid)
    with pytest.raises(InvalidInput):
        ticket_finish(actor=mender, ticket_uid=ticket.uid, text="mended")
    ticket_finish(actor=mender, ticket_uid=ticket.uid, text="mended", data={"cause": "dust"})
    ticket.refresh_from_db()
    assert ticket.data == {"cause": "dust"}
    category_step_remove(actor=SYSTEM, category_uid=repair.uid, key=mend)
    row = category_fields_set(actor=SYSTEM, category_uid=repair.uid, fields=[at_mend])
    assert row.fields[0]["steps"] == {}
    wrong = {**CAUSE, "steps": {"nobody": "hidden"}}
    with pytest.raises(InvalidInput):
        category_fields_set(actor=SYSTEM, category_uid=repair.uid, fields=[wrong])
