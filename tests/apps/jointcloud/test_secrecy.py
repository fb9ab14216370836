"""A tenant reads why a replica stands as it does, and never where a centre is."""

import pytest

from apps.centers.errors import CenterNonsense, CenterSaysNo, CenterSilent
from apps.centers.models import RemoteTask
from apps.centers.states import RemoteState
from apps.jointcloud.models import Decision
from apps.jointcloud.services import logs
from apps.jointcloud.services.following import job_follow
from apps.jointcloud.services.logs import replica_log
from apps.jointcloud.services.remote import LOST, REFUSED, UNANSWERED, addresses_hidden
from apps.jointcloud.services.submission import job_submit
from apps.kernel.actor import SYSTEM
from tests.apps.jointcloud.jobs import asked, attempts, cycle, fresh, say

pytestmark = pytest.mark.django_db
SILENT = "https://secret-address.example gave no whole answer: [Errno 111] Connection refused"


@pytest.fixture
def job(acme, member, spec, centre):
    """A job of one replica, which has gone to a centre."""
    centre("lake", spec())
    row = job_submit(actor=member("acme", "tenant_front_line").actor, tenant=acme, asked=asked())
    cycle()
    return row


def shown(job):
    return [row.reason for row in attempts(job)] + list(Decision.objects.values_list("message", flat=True))


def test_a_call_that_failed_is_told_in_a_fixed_sentence(job):
    (row,) = attempts(job)
    RemoteTask.objects.update(state=RemoteState.SENDING, cause=SILENT)
    job_follow(actor=SYSTEM, job_id=job.job_id)
    assert attempts(job)[0].reason == UNANSWERED
    # The operators keep the cause.
    assert RemoteTask.objects.get(key=row.key).cause == SILENT


@pytest.mark.parametrize(
    ("state", "cause", "said"),
    [
        (RemoteState.REFUSED, "no such account", "no such account"),
        (RemoteState.REFUSED, "secret-address.example refuses the user", REFUSED),
        (RemoteState.REFUSED, "The address leads to this machine (10.1.2.3).", REFUSED),
        (RemoteState.LOST, SILENT, LOST),
        (RemoteState.FAILED, "exit code 3", "exit code 3"),
        (RemoteState.FAILED, "killed on secret-address.example at 12:30:45", "killed on (...) at 12:30:45"),
        (RemoteState.STOPPED, SILENT, ""),
    ],
)
def test_what_the_job_or_a_bare_refusal_says_is_told(job, state, cause, said):
    say(attempts(job)[0], state, cause)
    assert said in shown(job)
    assert not any("secret-address" in text or "10.1.2.3" in text for text in shown(job))
    assert fresh(job).job_id


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("at http://10.0.0.5:8265/api", "at (...)"),
        ("from 10.0.0.5:8265.", "from (...)."),
        ("by 2001:db8::7 at ::1", "by (...) at (...)"),
        ("via [fe80::1:2]:6820 now", "via (...) now"),
        ("host SECRET-address.example, port 80", "host (...), port 80"),
        ("slurm 22.05.8.1 of 12:30:45", "slurm 22.05.8.1 of 12:30:45"),
        ("exit code 1.2.3 at 3:4", "exit code 1.2.3 at 3:4"),
    ],
)
def test_addresses_are_left_out_of_a_text(job, text, said):
    assert addresses_hidden(text, RemoteTask.objects.get().center) == said


@pytest.mark.parametrize("error", [CenterSaysNo, CenterSilent, CenterNonsense])
def test_why_a_log_cannot_be_read_names_no_address(job, error, monkeypatch):
    def fails(*_given):
        raise error(SILENT)

    monkeypatch.setattr(logs, "remote_task_log", fails)
    with pytest.raises(error) as told:
        replica_log(attempts(job)[0])
    assert "secret-address" not in str(told.value.as_json())
    assert "The centre" in str(told.value)
