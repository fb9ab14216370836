"""What follows for the outputs of work from its end."""

from apps.kernel.actor import Actor
from apps.kernel.planes import in_tenant
from apps.scheduling.events import WorkloadEnded
from apps.storage.services.outputs import outputs_expect


def work_ended(event: WorkloadEnded, actor: Actor) -> None:
    """Its nodes are asked for what it left."""
    if event.outputs is None:
        return
    with in_tenant(event.schema):
        outputs_expect(actor=actor, workload_uid=event.workload_uid, volume_uid=event.outputs)
