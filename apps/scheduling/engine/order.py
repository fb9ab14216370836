"""The order in which waiting requests are judged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from apps.scheduling.engine.types import Ordering, Policy, Queue, Request


def aged_priority(request: Request, policy: Policy, now: int) -> int:
    """The request's priority, one higher for each full `aging_s` it has waited."""
    if not policy.aging_s:
        return request.priority
    return request.priority + max(0, now - request.submitted_at_s) // policy.aging_s


def arrange(
    requests: Iterable[Request], queues: Mapping[str, Queue], policy: Policy, now: int
) -> list[Request]:
    """Queues of higher priority first; then by priority where so ordered, then first come (ELA-508, 607)."""

    def key(request: Request) -> tuple[int, int, int, str]:
        queue = queues.get(request.queue_id)
        ordering = (queue.ordering if queue else None) or policy.ordering
        rank = aged_priority(request, policy, now) if ordering is Ordering.PRIORITY else 0
        return (-queue.priority if queue else 0, -rank, request.submitted_seq, request.id)

    return sorted(requests, key=key)
