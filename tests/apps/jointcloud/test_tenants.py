"""One tenant's jobs keep no other's from a centre, and go with the tenant."""

import pytest
from django.utils import timezone

from apps.centers.models import RemoteTask
from apps.centers.states import RemoteState, Wanted
from apps.jointcloud.models import Decision, Job, Replica, Task
from apps.jointcloud.selectors.jobs import jobs_waiting
from apps.jointcloud.services import placing
from apps.jointcloud.services.following import job_follow
from apps.jointcloud.services.submission import job_submit
from apps.jointcloud.states import WorkState
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import InvalidInput
from apps.tenancy.events import TenantDataDeleted
from apps.tenancy.models import Tenant
from apps.tenancy.states import TenantState
from portal.subscribers.tenants import data_deleted
from tests.apps.jointcloud.jobs import TASK, asked, attempts, cycle, fresh, other, say

pytestmark = pytest.mark.django_db


@pytest.fixture
def submit(acme, globex, member):
    """Submit a job of a tenant's."""
    people = {"acme": (acme, member("acme", "tenant_front_line"))}
    people["globex"] = (globex, member("globex", "tenant_front_line"))

    def make(*tasks, schema="acme", **more):
        tenant, person = people[schema]
        return job_submit(actor=person.actor, tenant=tenant, asked=asked(*tasks, **more))

    return make


def test_what_a_centre_refuses_of_one_tenant_puts_it_to_rest_for_nobody(submit, spec, centre):
    centre("lake", spec())
    mine = [submit() for _each in range(6)]
    cycle()
    for job in mine:
        say(attempts(job)[0], RemoteState.REFUSED, "no such account")
    assert placing._failures()["lake"].in_row == 1
    theirs = submit(schema="globex")
    assert cycle().placed == 1
    assert attempts(theirs)[0].ai_center_id == "lake"
    # What it refuses of several tenants is the centre's own matter.
    say(attempts(theirs)[0], RemoteState.REFUSED, "full")
    failed = placing._failures()["lake"]
    assert (failed.in_row, failed.last_at) == (2, attempts(theirs)[0].ended_at)


def test_a_command_fits_what_any_adapter_takes(submit, spec):
    spec()
    assert submit(other("t", command="x" * 32_768)).pk
    with pytest.raises(InvalidInput) as error:
        submit(other("t", command="x" * 32_769))
    assert "32768 bytes" in str(error.value.fields["tasks[0].command"])


def test_jobs_of_a_tenant_that_is_not_active_wait(submit, spec, centre, acme):
    centre("lake", spec())
    submit()
    Tenant.objects.filter(pk=acme.pk).update(state=TenantState.SUSPENDED)
    assert jobs_waiting(timezone.now()) == []
    assert cycle().placed == 0
    Tenant.objects.filter(pk=acme.pk).update(state=TenantState.ACTIVE)
    assert cycle().placed == 1


def test_with_a_tenants_data_its_jobs_end_and_their_words_go(submit, spec, centre, acme):
    gpu1 = spec()
    centre("lake", gpu1)
    over, runs, theirs = submit(desc="secret"), submit(), submit(schema="globex")
    cycle()
    say(attempts(over)[0], RemoteState.FAILED, "secret of the end")
    say(attempts(runs)[0], RemoteState.RUNNING)
    waits = submit(TASK, other("two"), desc="secret")
    tenant = Tenant.objects.get(pk=acme.pk)
    tenant.state = TenantState.DELETED
    tenant.save()
    data_deleted(TenantDataDeleted(schema="acme"), SYSTEM)
    assert RemoteTask.objects.get(key=attempts(runs)[0].key).desired == Wanted.STOP
    assert (fresh(waits).state, fresh(over).state) == (WorkState.STOPPED, WorkState.FAILED)
    # What comes late brings no words back.
    RemoteTask.objects.filter(key=attempts(runs)[0].key).update(
        state=RemoteState.FAILED, cause="secret of late"
    )
    job_follow(actor=SYSTEM, job_id=runs.job_id)
    assert (fresh(runs).state, attempts(runs)[0].state) == (WorkState.STOPPED, "failed")
    mine = Job.plain.filter(tenant=tenant)
    assert {(job.name, job.desc) for job in mine} == {(job.job_id, "") for job in mine}
    assert set(Task.objects.filter(job__in=mine).values_list("name", "command")) == {
        ("task0", ""),
        ("task1", ""),
    }
    assert not Replica.objects.filter(task__job__in=mine).exclude(reason="").exists()
    assert not Decision.objects.filter(task__job__in=mine).exclude(message="").exists()
    assert Decision.objects.filter(task__job=theirs).exists()
    assert fresh(theirs).name == "night run"
