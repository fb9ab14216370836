"""Work tickets: claim, give back, finish; one winner; the right side only."""

from uuid import uuid4

import pytest
from django.db import IntegrityError, transaction

from apps.cases.models import Case
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound
from apps.kernel.planes import in_tenant
from apps.tickets.models import Ticket
from apps.tickets.selectors import case_of, ticket_get, ticket_list, tickets_of
from apps.tickets.services.life import ticket_claim, ticket_done, ticket_fail, ticket_open, ticket_return
from tests.apps.catalog.racing import race


@pytest.fixture
def inside(db):
    with in_tenant("acme"):
        yield


def opened(submitter, **changes):
    given = {
        "subject_kind": "order",
        "subject_uid": uuid4(),
        "subject_no": "O20260101-0001",
        "title_zh": "交付",
        "title_en": "Deliver",
        "submitter_id": submitter.user.pk,
        **changes,
    }
    return ticket_open(actor=SYSTEM, **given)


@pytest.fixture
def ann(member):
    return member("acme", "tenant_front_line", "ann")


@pytest.fixture
def worker(operator):
    return operator("front_line", schema="acme", username="worker")


def state_of(ticket):
    return Ticket.objects.get(pk=ticket.pk).state


@pytest.mark.req("PLAT-TODO-11", "PLAT-TODO-12")
def test_claimed_executed_and_done(inside, ann, worker):
    ticket = opened(ann)
    assert list(ticket_list(actor=worker.actor, tab="todo")) == [ticket]
    ticket_claim(actor=worker.actor, ticket_uid=ticket.uid)
    assert (state_of(ticket), Ticket.objects.get().assignee) == ("delivering", worker.user)
    ticket_done(actor=worker.actor, ticket_uid=ticket.uid, result={"workload": "w"})
    row = Ticket.objects.get()
    assert (row.state, row.result) == ("done", {"workload": "w"})
    assert row.done_at >= row.claimed_at
    assert list(ticket_list(actor=worker.actor, tab="done")) == [row]
    assert not ticket_list(actor=worker.actor, tab="todo").exists()


def test_given_back_it_waits_for_another(inside, ann, worker, operator):
    ticket = opened(ann)
    ticket_claim(actor=worker.actor, ticket_uid=ticket.uid)
    other = operator("front_line", schema="acme")
    assert not ticket_list(actor=other.actor, tab="todo").exists()
    for call in (ticket_return, ticket_done):
        with pytest.raises(Forbidden):
            call(actor=other.actor, ticket_uid=ticket.uid)
    ticket_return(actor=worker.actor, ticket_uid=ticket.uid)
    row = Ticket.objects.get()
    assert (row.state, row.assignee, row.claimed_at) == ("waiting", None, None)
    ticket_claim(actor=other.actor, ticket_uid=ticket.uid)
    assert Ticket.objects.get().assignee == other.user


def test_a_claimed_ticket_is_not_claimed_again(inside, ann, worker, operator):
    ticket = opened(ann)
    ticket_claim(actor=worker.actor, ticket_uid=ticket.uid)
    for person in (worker, operator("front_line", schema="acme")):
        with pytest.raises(Conflict):
            ticket_claim(actor=person.actor, ticket_uid=ticket.uid)
    assert Ticket.objects.get().assignee == worker.user


def test_only_the_right_side_with_the_right_role_claims(inside, ann, operator):
    ticket = opened(ann)
    with pytest.raises(Forbidden):
        ticket_claim(actor=ann.actor, ticket_uid=ticket.uid)
    with pytest.raises(Forbidden):
        ticket_claim(actor=operator("executive", schema="acme").actor, ticket_uid=ticket.uid)
    assert state_of(ticket) == "waiting"
    ours = opened(ann, side="tenant")
    ticket_claim(actor=ann.actor, ticket_uid=ours.uid)
    assert state_of(ours) == "delivering"


def test_what_waits_is_not_finished_but_by_the_system(inside, ann, worker):
    ticket = opened(ann)
    with pytest.raises(Conflict):
        ticket_done(actor=worker.actor, ticket_uid=ticket.uid)
    with pytest.raises(Conflict):
        ticket_fail(actor=worker.actor, ticket_uid=ticket.uid, reason="no")
    with pytest.raises(Conflict):
        ticket_done(actor=SYSTEM, ticket_uid=ticket.uid)
    ticket_fail(actor=SYSTEM, ticket_uid=ticket.uid, reason="terminated")
    assert (state_of(ticket), Ticket.objects.get().result) == ("failed", {"reason": "terminated"})
    for call in (ticket_claim, ticket_return):
        with pytest.raises(Conflict):
            call(actor=worker.actor, ticket_uid=ticket.uid)


def test_one_open_ticket_for_a_subject(inside, ann):
    ticket = opened(ann)
    with pytest.raises(IntegrityError), transaction.atomic():
        opened(ann, subject_uid=ticket.subject_uid)
    ticket_fail(actor=SYSTEM, ticket_uid=ticket.uid, reason="no room")
    opened(ann, subject_uid=ticket.subject_uid)
    assert tickets_of(ticket.subject_uid).count() == 2


@pytest.mark.req("PLAT-TODO-8", "PLAT-TODO-9", "PLAT-TODO-14")
def test_tabs_and_filters(inside, ann, worker, member):
    first = opened(ann, subject_no="O20260101-0042")
    opened(member("acme", "tenant_front_line"))
    assert list(ticket_list(actor=ann.actor)) == [first]
    assert ticket_list(actor=worker.actor).count() == 2
    assert list(ticket_list(actor=worker.actor, search="0042")) == [first]
    assert ticket_list(actor=worker.actor, state="done").count() == 0
    with pytest.raises(InvalidInput):
        ticket_list(actor=ann.actor, tab="all")


@pytest.mark.django_db
def test_unseen_and_unknown_tickets_are_not_found(ann, member):
    with in_tenant("acme"):
        ticket = opened(ann)
        with pytest.raises(NotFound):
            ticket_get(actor=member("acme", "tenant_system_administrator").actor, uid=uuid4())
        with pytest.raises(NotFound):
            ticket_get(actor=member("acme", "tenant_front_line").actor, uid=ticket.uid)
    with in_tenant("globex"):
        stranger = member("globex", "tenant_decision_maker").actor
        with pytest.raises(NotFound):
            ticket_get(actor=stranger, uid=ticket.uid)
        with pytest.raises(NotFound):
            ticket_claim(actor=SYSTEM, ticket_uid=ticket.uid)


def test_the_case_is_as_the_ticket(inside, ann, worker):
    ticket = opened(ann)
    for step in (
        lambda: ticket_claim(actor=worker.actor, ticket_uid=ticket.uid),
        lambda: ticket_return(actor=worker.actor, ticket_uid=ticket.uid),
        lambda: ticket_fail(actor=SYSTEM, ticket_uid=ticket.uid, reason="x"),
    ):
        step()
        case, data = Case.objects.across().get(uid=ticket.uid), case_of(Ticket.objects.get())
        kept = {name: getattr(case, name) for name in ("state", "is_open", "no", "assignee_id", "link")}
        assert kept == {name: getattr(data, name) for name in kept}


@pytest.mark.req("PLAT-TODO-11")
@pytest.mark.usefixtures("committed")
def test_of_parallel_claims_one_wins(member, operator):
    ann = member("acme", "tenant_front_line")
    workers = [operator("front_line", schema="acme") for _ in range(4)]
    with in_tenant("acme"):
        ticket = opened(ann)

    def claim(person):
        def run():
            with in_tenant("acme"):
                return ticket_claim(actor=person.actor, ticket_uid=ticket.uid)

        return run

    results = race(*(claim(person) for person in workers))
    won = [one for one in results if isinstance(one, Ticket)]
    assert len(won) == 1
    assert sum(isinstance(one, Conflict) for one in results) == 3, results
    with in_tenant("acme"):
        assert Ticket.objects.get().assignee_id == won[0].assignee_id
