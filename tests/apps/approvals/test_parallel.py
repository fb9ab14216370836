"""Real threads with real transactions: of parallel decisions exactly one counts."""

import pytest
from django.db import connection

from apps.approvals.models import Decision, HumanTask
from apps.approvals.services import process_withdraw, task_decide
from apps.kernel.errors import Conflict
from apps.kernel.planes import in_tenant
from tests.apps.approvals.running import TENANT, drawn, start
from tests.apps.catalog.racing import race

pytestmark = pytest.mark.usefixtures("committed")


def inside(call):
    def run():
        with in_tenant("acme"):
            return call()

    return run


@pytest.mark.req("PLAT-TODO-5")
def test_of_parallel_decisions_one_counts(member):
    applicant = member("acme", "tenant_front_line")
    bosses = [member("acme", "tenant_decision_maker") for _ in range(4)]
    running = start(applicant.user.pk, drawn(TENANT))
    with in_tenant("acme"):
        uid = running.task.uid
    choices = ["approve", "refuse", "approve", "refuse"]
    results = race(
        *(
            inside(
                lambda boss=boss, choice=choice: task_decide(
                    actor=boss.actor, task_uid=uid, decision=choice, comment="Said"
                )
            )
            for boss, choice in zip(bosses, choices, strict=True)
        )
    )
    assert sum(isinstance(one, HumanTask) for one in results) == 1
    assert sum(isinstance(one, Conflict) for one in results) == 3
    with in_tenant("acme"):
        kept = Decision.objects.get()
        assert running.state == {"approve": "approved", "refuse": "rejected"}[kept.decision]


def test_one_person_pressing_twice_decides_once(member, operator):
    operator("operations_manager")
    boss = member("acme", "tenant_decision_maker")
    running = start(member("acme", "tenant_front_line").user.pk)
    with in_tenant("acme"):
        uid = running.task.uid
    press = inside(lambda: task_decide(actor=boss.actor, task_uid=uid, decision="approve"))
    results = race(press, press, press)
    assert sum(isinstance(one, Conflict) for one in results) == 2
    with in_tenant("acme"):
        assert Decision.objects.count() == 1
        assert HumanTask.objects.count() == 2


@pytest.mark.req("PLAT-CFG-18")
def test_countersigners_at_one_moment_all_count(member):
    signers = [member("acme", "tenant_decision_maker") for _ in range(3)]
    running = start(member("acme", "tenant_front_line").user.pk, drawn(TENANT, settings='rule="all_of"'))
    with in_tenant("acme"):
        uid = running.task.uid
    results = race(
        *(
            inside(lambda one=one: task_decide(actor=one.actor, task_uid=uid, decision="approve"))
            for one in signers
        )
    )
    assert all(isinstance(one, HumanTask) for one in results), results
    with in_tenant("acme"):
        assert running.state == "approved"


@pytest.mark.req("PLAT-APPLY-15")
def test_withdrawing_against_deciding_leaves_one_story(member):
    applicant, boss = member("acme", "tenant_front_line"), member("acme", "tenant_decision_maker")
    running = start(applicant.user.pk, drawn(TENANT))
    with in_tenant("acme"):
        uid = running.task.uid
    results = race(
        inside(lambda: process_withdraw(actor=applicant.actor, subject_uid=running.subject_uid)),
        inside(lambda: task_decide(actor=boss.actor, task_uid=uid, decision="approve")),
    )
    assert sum(isinstance(one, Conflict) for one in results) == 1, results
    with in_tenant("acme"):
        is_withdrawn = not isinstance(results[0], Conflict)
        assert running.state == ("withdrawn" if is_withdrawn else "approved")
        assert Decision.objects.exists() != is_withdrawn
    assert connection.schema_name == "public"
