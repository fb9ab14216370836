"""A signal before the run time is over, and retries by command: what is asked for reaches the node as asked."""

from dataclasses import replace

import pytest
from weir.cli.main import app
from weir.cli.units import attempts
from weir.errors import WeirClientError

from apps.fleet.models import Slice
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import InvalidInput
from apps.scheduling.models import Workload
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.scheduling.services.workloads.submission.submit import workload_request
from apps.scheduling.types import WorkloadRequest
from node_agent.protocol.slices import WorkSpec
from tests.apps.scheduling.pool import node_make, tenant_ready
from weir_wire.end_warning import warning_of

pytestmark = pytest.mark.req("POOL-12.11", "ELA-509")
JOB = WorkloadRequest(name="one", argv=("true",), compute_percent=10, memory_mib=10, run_timeout_s=600)


@pytest.fixture
def ready(db, acme):
    node_make("n1", memory_mib=1000)
    return tenant_ready(acme)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("USR1@60", ("USR1", 60)),
        ("sigusr2@5", ("USR2", 5)),
        ("10@90", ("USR1", 90)),
        ("B:TERM@30", ("TERM", 30)),
        ("INT", ("INT", 60)),
    ],
)
def test_a_signal_is_named_as_slurm_names_it_and_reaches_the_node(ready, text, found):
    assert warning_of(text) == found
    workload_request(actor=SYSTEM, tenant=ready, asked=replace(JOB, signal=text))
    cycle_run(actor=SYSTEM)
    work = Slice.plain.get().work
    assert work["warning"] == {"signal": found[0], "before_s": found[1]}
    spec = WorkSpec.model_validate(work)
    assert spec.warning is not None
    assert "warning" not in WorkSpec(argv=("true",)).model_dump(), "an older agent is told none"


@pytest.mark.parametrize(
    ("more", "part"),
    [
        ({"signal": "KILL@60"}, "It is no signal"),
        ({"signal": "9@60"}, "It is no signal"),
        ({"signal": "USR1@0"}, "It is no signal"),
        ({"signal": "USR1@99999"}, "It is no signal"),
        ({"signal": "USR1@x"}, "It is no signal"),
        ({"signal": "FOO@5"}, "It is no signal"),
        ({"signal": "@5"}, "It is no signal"),
        ({"signal": "USR1@60", "run_timeout_s": None}, "it has none"),
        ({"signal": "USR1@600"}, "It runs for"),
        ({"signal": "USR1", "kind": "session", "argv": ()}, "no program"),
    ],
)
def test_one_that_could_never_be_heard_is_refused(ready, more, part):
    with pytest.raises(InvalidInput) as refused:
        workload_request(actor=SYSTEM, tenant=ready, asked=replace(JOB, **more))
    assert part in str(refused.value.fields["signal"])
    assert not Workload.plain.exists()


def test_retries_are_attempts_beyond_the_first():
    (submit,) = app.entries["submit"].registered_commands
    assert {"retries", "retry_delay", "signal"} <= set(submit.callback.__annotations__)
    assert attempts("2") == 3
    with pytest.raises(WeirClientError):
        attempts("-1")
