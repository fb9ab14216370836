"""What must hold of the tree of queues. Internal to the app's services; all of it under one lock of all queues."""

from collections.abc import Collection, Mapping
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Model, Sum
from django.utils.translation import gettext as _

from apps.fleet.selectors import group_get, group_list
from apps.kernel.errors import Conflict, InvalidInput
from apps.scheduling.engine.model.types import QueueState
from apps.scheduling.errors import DefaultQueueStays, GuaranteeTooLarge, QueueCycle, QueueInUse
from apps.scheduling.models import ORDERINGS, PLACINGS, Queue, Workload
from apps.scheduling.selectors.queues.queue_tree import pool_room
from apps.scheduling.states import FINAL_STATES, Oversubscribe, WorkloadState

MAX_WEIGHT = 1000
_AMOUNTS = ("compute_percent", "memory_mib")
# What may be changed of a queue, with the words each may have.
FIELDS: Mapping[str, Collection[str] | None] = {
    "state": dict(Queue.STATES),
    "ordering": {"", *dict(ORDERINGS)},
    "placing": {"", *dict(PLACINGS)},
    **dict.fromkeys(("name_en", "name_zh", "parent", "priority", "weight", "resource_group")),
    **dict.fromkeys(
        f"{bound}_{item}" for bound in ("max", "guaranteed", "borrow", "lend") for item in _AMOUNTS
    ),
    **dict.fromkeys(("preempts", "reclaims", "is_default", "max_run_s", "max_jobs")),
    "oversubscribe": dict(Oversubscribe.choices),
}
_COUNTED = frozenset({Oversubscribe.YES, Oversubscribe.FORCE})


def changes_check(changes: Mapping[str, Any]) -> None:
    """InvalidInput for a setting that there is not, or a value or word that it does not have."""
    wrong: dict[str, object] = {}
    for name, value in changes.items():
        words = FIELDS.get(name)
        if name not in FIELDS:
            wrong[name] = _("There is no such setting.")
        elif words is not None and value not in list(words):
            wrong[name] = _("one of %(names)s") % {"names": ", ".join(filter(None, words))}
    wrong |= value_errors(Queue, {name: value for name, value in changes.items() if name not in wrong})
    if "weight" not in wrong and not 1 <= changes.get("weight", 1) <= MAX_WEIGHT:
        wrong["weight"] = _("1 to %(most)s") % {"most": MAX_WEIGHT}
    for name in {"max_run_s", "max_jobs"} & changes.keys() - wrong.keys():
        if changes[name] == 0:
            wrong[name] = _("at least 1")
    if wrong:
        raise InvalidInput(_("There is no such queue setting."), fields=wrong)
    if changes.get("resource_group"):
        group_get(changes["resource_group"])


def value_errors(model: type[Model], changes: Mapping[str, Any]) -> dict[str, object]:
    """By field, what is wrong with values that a row of the model is to take."""
    wrong: dict[str, object] = {}
    for name, value in changes.items():
        field = model._meta.get_field(name)
        if field.is_relation:
            continue
        try:
            field.clean(value, None)
        except ValidationError as error:
            wrong[name] = " ".join(error.messages)
        except (OverflowError, TypeError):
            wrong[name] = _("not a value of its kind")
    return wrong


def tree_check(queue: Queue) -> None:
    """QueueCycle, GuaranteeTooLarge or InvalidInput where the changed queue does not fit the tree."""
    _cycle_check(queue)
    for item in _AMOUNTS:
        _bounds_check(queue, item)
        _backing_check(queue, item)
        _branches_check(queue, item)


def _cycle_check(queue: Queue) -> None:
    path, above = [queue.code], queue.parent
    while above is not None:
        path.append(above.code)
        if above.pk == queue.pk:
            raise QueueCycle(
                _("A queue cannot be part of itself: %(path)s.") % {"path": " → ".join(path)},
                fields={"parent": _("part of %(code)s") % {"code": queue.code}},
            )
        above = above.parent


def _of(queue: Queue, bound: str, item: str) -> int | None:
    return getattr(queue, f"{bound}_{item}")


def _bounds_check(queue: Queue, item: str) -> None:
    """0 ≤ guaranteed ≤ most, and it lends no more than its guarantee (ELA-605)."""
    kept, most, lent = (_of(queue, bound, item) for bound in ("guaranteed", "max", "lend"))
    if most is not None and kept > most:
        raise GuaranteeTooLarge(
            _("Queue %(code)s would be guaranteed %(kept)s and may use only %(most)s.")
            % {"code": queue.code, "kept": kept, "most": most},
            fields={f"guaranteed_{item}": _("at most %(most)s") % {"most": most}},
        )
    if lent is not None and lent > kept:
        raise InvalidInput(
            _("A queue lends only what it is guaranteed."),
            fields={f"lend_{item}": _("at most %(most)s") % {"most": kept}},
        )


def _backing_check(queue: Queue, item: str) -> None:
    """Its guarantee and its siblings' come out of their parent's, or of the pool (ELA-605, ELA-612)."""
    kept = _of(queue, "guaranteed", item)
    if not kept:
        return
    beside = Queue.objects.filter(parent=queue.parent, retired_at=None).exclude(pk=queue.pk)
    others = beside.aggregate(sum=Sum(f"guaranteed_{item}"))["sum"] or 0
    if queue.parent is not None:
        room, holder = (
            _of(queue.parent, "guaranteed", item),
            _("queue %(code)s") % {"code": queue.parent.code},
        )
    else:
        room, holder = pool_room()[_AMOUNTS.index(item)], _("the pool")
        # Nothing has joined yet: nobody can say how much there will be.
        if not room:
            return
    if kept + others > room:
        raise GuaranteeTooLarge(
            _(
                "%(holder)s can guarantee %(room)s: %(others)s are promised to others, %(kept)s more are asked."
            )
            % {"holder": holder, "room": room, "others": others, "kept": kept},
            fields={f"guaranteed_{item}": _("at most %(most)s") % {"most": max(0, room - others)}},
        )


def _branches_check(queue: Queue, item: str) -> None:
    """What it has promised to its branches stays backed."""
    inner = queue.children.filter(retired_at=None).aggregate(sum=Sum(f"guaranteed_{item}"))["sum"] or 0
    if inner > _of(queue, "guaranteed", item):
        raise GuaranteeTooLarge(
            _("The queues in %(code)s are guaranteed %(inner)s in all.")
            % {"code": queue.code, "inner": inner},
            fields={f"guaranteed_{item}": _("at least %(least)s") % {"least": inner}},
            cure=_("Lower theirs first."),
        )


def bound_check(queue: Queue) -> None:
    """Conflict where the queue of a resource group would serve another one (PLAT-AICFG-23)."""
    if queue.resource_group != queue.code and group_list().filter(code=queue.code).exists():
        raise Conflict(
            _("Queue %(code)s is that of resource group %(code)s.") % {"code": queue.code},
            cure=_("Make another queue for other devices."),
            fields={"resource_group": queue.code},
        )


def group_check(queue: Queue) -> None:
    """QueueInUse while there is the resource group that it is the queue of."""
    if queue.resource_group == queue.code and group_list().filter(code=queue.code).exists():
        raise QueueInUse(
            _("Queue %(code)s is that of resource group %(code)s.") % {"code": queue.code},
            cure=_("Remove the resource group: its queue goes with it."),
        )


def sharing_check(queue: Queue, changes: Mapping[str, Any]) -> None:
    """InvalidInput for a number of jobs where no two of them ever share a device (PLAT-CLU-60). A number that nobody
    names goes with the mode that had it."""
    if queue.oversubscribe in _COUNTED or queue.max_jobs is None:
        return
    if changes.get("max_jobs") is not None:
        raise InvalidInput(fields={"max_jobs": _("only with YES or FORCE")})
    queue.max_jobs = None


def default_check(queue: Queue, *, was_default: bool) -> None:
    """DefaultQueueStays where work that names no queue would go nowhere (PLAT-CLU-50)."""
    if was_default and not queue.is_default:
        raise DefaultQueueStays(
            _("Work that names no queue waits in %(code)s.") % {"code": queue.code},
            cure=_("Make another queue the default: that takes it from this one."),
        )
    if queue.is_default and queue.state not in (QueueState.UP, QueueState.DOWN):
        raise DefaultQueueStays(
            _("Work that names no queue waits in %(code)s: it takes work.") % {"code": queue.code},
            cure=_("Make another queue the default first.") if was_default else _("Open it first."),
        )


def removable_check(queue: Queue) -> None:
    """QueueInUse while somebody would lose something: work in it, queues below it, the place for everybody's work."""
    if queue.is_default:
        raise DefaultQueueStays(
            _("Work that names no queue waits in %(code)s: it stays.") % {"code": queue.code}
        )
    branches = list(queue.children.filter(retired_at=None).values_list("code", flat=True))
    if branches:
        raise QueueInUse(
            _("Queue %(code)s has queues in it: %(branches)s.")
            % {"code": queue.code, "branches": ", ".join(branches)},
            cure=_("Move or remove them first."),
        )
    # By the states that there are: what has ended is never looked at.
    states = set(WorkloadState.values) - FINAL_STATES
    held = Workload.objects.across().filter(queue=queue, state__in=states).count()
    if held:
        raise QueueInUse(
            _("Queue %(code)s has %(count)s workloads that wait or run.")
            % {"code": queue.code, "count": held}
        )
