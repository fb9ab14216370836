"""The time line of workloads: what was decided, when, why (ELA-504)."""

from collections.abc import Iterable, Mapping
from typing import Any

from apps.kernel.actor import Actor
from apps.kernel.bulk import insert_many
from apps.kernel.service import service
from apps.scheduling.events import WorkloadSubmitted
from apps.scheduling.models import Decision, Workload

Line = tuple[int, str, str, Mapping[str, Any]]
"""Key of the workload, kind, reason code, figures."""


@service(recorded=False, joins=True)
def decisions_put(*, actor: Actor, lines: Iterable[Line]) -> None:
    """Write down decisions of this instant, in the transaction that carries them out."""
    rows = [
        Decision(workload_id=pk, kind=kind, code=code, params=dict(params), actor=actor.name[:150])
        for pk, kind, code, params in lines
    ]
    if rows:
        for row in rows:
            row.at = rows[0].at
        insert_many(rows, keyed=False)


def decided(row: Workload, kind: str, actor: Actor, code: str = "", **params: object) -> None:
    """One decision about one workload."""
    decisions_put(actor=actor, lines=[(row.pk, kind, code, params)])


def submitted(row: Workload) -> WorkloadSubmitted:
    """What is told of work that begins to wait."""
    return WorkloadSubmitted(row.tenant.schema_name, row.uid, row.no, row.priority)
