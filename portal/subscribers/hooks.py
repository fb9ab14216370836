"""What happens to jobs, for the hooks of the site (ELA-1102)."""

from apps.kernel.actor import Actor
from apps.scheduling.events import WorkloadEnded, WorkloadPreempted, WorkloadStarted
from apps.scheduling.services.hooks import hook_calls_put
from apps.scheduling.states import HookKind


def started(event: WorkloadStarted, actor: Actor) -> None:
    hook_calls_put(
        actor=actor,
        kind=HookKind.STARTED,
        schema=event.schema,
        workload_uid=event.workload_uid,
        at=event.at,
        params={},
    )


def ended(event: WorkloadEnded, actor: Actor) -> None:
    hook_calls_put(
        actor=actor,
        kind=HookKind.ENDED,
        schema=event.schema,
        workload_uid=event.workload_uid,
        at=event.at,
        params={
            "failed": event.failed,
            "started": event.started,
            "reason_code": event.reason_code,
            "reason": event.reason,
        },
    )


def preempted(event: WorkloadPreempted, actor: Actor) -> None:
    hook_calls_put(
        actor=actor,
        kind=HookKind.PREEMPTED,
        schema=event.schema,
        workload_uid=event.workload_uid,
        at=event.at,
        params={"card_seconds": event.card_seconds},
    )
