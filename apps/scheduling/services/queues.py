"""The operators' scheduling settings: queues and the policy."""

from django.utils.translation import gettext as _

from apps.kernel.acts import Actor, act_subject
from apps.kernel.errors import InvalidInput
from apps.kernel.service import service
from apps.scheduling.models import ORDERINGS, PLACINGS, Queue, SchedulingPolicy
from apps.scheduling.permissions import SchedulingPermission as P

DEFAULT_QUEUE = "default"


@service(P.MANAGE)
def queue_ensure(
    *, actor: Actor, code: str = DEFAULT_QUEUE, name_en: str = "Default", name_zh: str = "默认"
) -> Queue:
    """The queue of that code, made UP and without limits when there is none."""
    act_subject("queue", code)
    return Queue.objects.get_or_create(code=code, defaults={"name_en": name_en, "name_zh": name_zh})[0]


@service(P.MANAGE)
def queue_change(
    *,
    actor: Actor,
    queue: Queue,
    state: str,
    priority: int = 0,
    max_compute_percent: int | None = None,
    max_memory_mib: int | None = None,
) -> Queue:
    """Change a queue's state, priority and limits; running work stays, the next cycle follows (PLAT-AICFG-23)."""
    if state not in dict(Queue.STATES):
        raise InvalidInput(
            _("There is no such queue state."),
            cure=_("Choose one of %(states)s.") % {"states": ", ".join(dict(Queue.STATES))},
        )
    act_subject("queue", queue.code, state=state, priority=priority)
    queue.state, queue.priority = state, priority
    queue.max_compute_percent, queue.max_memory_mib = max_compute_percent, max_memory_mib
    queue.save()
    return queue


@service(P.MANAGE)
def policy_set(*, actor: Actor, placing: str, ordering: str, has_backfill: bool = True) -> SchedulingPolicy:
    """Change how work is placed and in which order it is judged (PLAT-AICFG-18); the next cycle follows it."""
    known = (dict(PLACINGS), dict(ORDERINGS))
    if placing not in known[0] or ordering not in known[1]:
        raise InvalidInput(
            _("There is no such policy."),
            cure=_("Placing is one of %(placings)s, ordering one of %(orderings)s.")
            % {"placings": ", ".join(known[0]), "orderings": ", ".join(known[1])},
        )
    act_subject("scheduling_policy", 1, placing=placing, ordering=ordering)
    values = {"placing": placing, "ordering": ordering, "has_backfill": has_backfill}
    return SchedulingPolicy.objects.update_or_create(pk=1, defaults=values)[0]
