"""Rules that scale elastic work between its least and its most (ELA-907): set by operators for a queue, by an owner for
work of their own; carried out every few seconds."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput
from apps.kernel.service import service
from apps.scheduling.locks import slices_lock, workload_lock
from apps.scheduling.models import Queue, ScalingRule, Workload, WorkloadSize
from apps.scheduling.permissions import ResourcePermission, SchedulingPermission
from apps.scheduling.queue_config.time_windows import weekly_check
from apps.scheduling.selectors import scaling
from apps.scheduling.selectors.workloads import workload_get
from apps.scheduling.services.cycle.apply_changes import shares_drop
from apps.scheduling.services.workloads.submission.replicas import whole_check
from apps.scheduling.states import AllocationState, ScalingBy, WorkloadState
from apps.tenancy.models import Tenant

MOST_RULES = 8
MOST_SHARES = 512
_RUNS = frozenset({WorkloadState.PLACED, WorkloadState.RUNNING})
_FIELDS = frozenset({"by", "low", "high", "grows_when_high", "step", "shares", "windows", "cooldown_s"})


@service(SchedulingPermission.MANAGE)
def queue_rule_make(*, actor: Actor, queue: Queue, given: Mapping[str, Any]) -> ScalingRule:
    """Scale all elastic work of a queue by a rule: `by` and what else `ScalingRule` names. Raises InvalidInput."""
    act_subject("queue", queue.code, by=given.get("by"))
    return _make(actor, scaling.rules_of_queue(queue).count(), given, queue=queue)


@service(SchedulingPermission.MANAGE)
def queue_rule_remove(*, actor: Actor, queue: Queue, uid: UUID) -> None:
    """Take a rule of a queue away; what it asked for ends with it."""
    row = scaling.rule_get(scaling.rules_of_queue(queue), uid)
    act_subject("queue", queue.code, by=row.by)
    row.delete()


@service(ResourcePermission.OPERATE)
def work_rule_make(
    *, actor: Actor, tenant: Tenant, workload_uid: UUID, given: Mapping[str, Any]
) -> ScalingRule:
    """Scale one's own elastic work by a rule, within the bounds it was submitted with. Raises InvalidInput, Conflict
    for work that is not elastic."""
    row = workload_get(tenant, workload_uid, actor=actor)
    act_subject("workload", row.uid, by=given.get("by"))
    if row.min_shares is None or row.is_final:
        raise Conflict(
            _("%(no)s is no elastic work.") % {"no": row.no},
            cure=_("Submit it with the shares it needs at least."),
        )
    shares = given.get("shares")
    if shares is not None:
        whole_check("shares", shares, row.shares_per_replica)
    if shares is not None and not row.min_shares <= shares <= row.shares:
        raise InvalidInput(
            fields={"shares": _("%(least)s to %(most)s") % {"least": row.min_shares, "most": row.shares}}
        )
    return _make(actor, scaling.rules_of_work(row).count(), given, workload=row)


@service(ResourcePermission.OPERATE)
def work_rule_remove(*, actor: Actor, tenant: Tenant, workload_uid: UUID, uid: UUID) -> None:
    """Take a rule of one's own work away; what it asked for ends with it."""
    work = workload_get(tenant, workload_uid, actor=actor)
    row = scaling.rule_get(scaling.rules_of_work(work), uid)
    act_subject("workload", work.uid, by=row.by)
    row.delete()


def _make(actor: Actor, known: int, given: Mapping[str, Any], **of: Any) -> ScalingRule:
    if known >= MOST_RULES:
        raise Conflict(
            _("There are %(most)s rules already.") % {"most": MOST_RULES}, cure=_("Remove one first.")
        )
    fields = _checked(given)
    return ScalingRule.objects.create(made_by_id=actor.user_id, **fields, **of)


def _checked(given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a rule as they are kept; what is of the other kind is left out."""
    if given.get("by") not in ScalingBy.values or set(given) - _FIELDS:
        raise InvalidInput(fields={"by": ", ".join(ScalingBy.values)})
    kept = {"by": given["by"], "cooldown_s": given.get("cooldown_s", 300)}
    if given["by"] == ScalingBy.WINDOW:
        return kept | _window_checked(given)
    low, high, step = given.get("low"), given.get("high"), given.get("step", 1)
    if low is None or high is None or not 0 <= low < high:
        raise InvalidInput(
            _("A rule acts below a low and above a high figure."),
            fields={"low": _("less than the high figure")},
        )
    if not 1 <= step <= MOST_SHARES:
        raise InvalidInput(fields={"step": f"1 – {MOST_SHARES}"})
    # Who waits is in the way of who grows; who is busy needs more.
    grows = given.get("grows_when_high", given["by"] == ScalingBy.UTILISATION)
    return kept | {"low": low, "high": high, "step": step, "grows_when_high": grows}


def _window_checked(given: Mapping[str, Any]) -> dict[str, Any]:
    shares, windows = given.get("shares"), weekly_check(map(tuple, given.get("windows") or ()))
    if shares is None or not 1 <= shares <= MOST_SHARES:
        raise InvalidInput(fields={"shares": f"1 – {MOST_SHARES}"})
    if not windows:
        raise InvalidInput(fields={"windows": _("Write a line for each, like: Mon-Fri 20:00-24:00")})
    return {"shares": shares, "windows": [list(each) for each in windows]}


# --- carried out -------------------------------------------------------------------------------------------------


def scaling_rules_apply(*, actor: Actor, now: datetime | None = None) -> int:
    """Bring the target size of all elastic work that a rule is for up to date, each in a transaction of its own; how
    many changed. Work whose last rule is gone is bound no more."""
    now = now or timezone.now()
    rules = list(ScalingRule.objects.select_related("workload"))
    works = _ruled(rules)
    depths = scaling.queue_depths(row.queue_id for row in works)
    used = scaling.utilisations([row.uid for row in works if row.state in _RUNS], now)
    changed = 0
    for row in works:
        seen = scaling.Seen(depths.get(row.queue_id, 0), used.get(row.uid), now)
        changed += target_follow(actor=actor, workload_uid=row.uid, rules=_rules_for(row, rules), seen=seen)
    return changed


def _ruled(rules: Sequence[ScalingRule]) -> list[Workload]:
    """The elastic work that a rule is for, or was."""
    rows = Workload.objects.across().filter(
        min_shares__isnull=False, state__in=[WorkloadState.PENDING, *_RUNS]
    )
    of_queues = Q(queue__in={rule.queue_id for rule in rules if rule.queue_id})
    of_works = Q(pk__in={rule.workload_id for rule in rules if rule.workload_id})
    return list(rows.filter(of_queues | of_works | Q(wanted_shares__isnull=False)).order_by("pk"))


def _rules_for(row: Workload, rules: Sequence[ScalingRule]) -> list[ScalingRule]:
    return [rule for rule in rules if row.pk == rule.workload_id or row.queue_id == rule.queue_id]


@service(recorded=False)
def target_follow(
    *, actor: Actor, workload_uid: UUID, rules: Sequence[ScalingRule], seen: scaling.Seen
) -> bool:
    """Let work follow what its rules ask for: it gives up what is more, and grows when there is room; whether the
    target is another one than before."""
    slices_lock(workload_uid)
    row = workload_lock(workload_uid)
    if row is None or row.min_shares is None or row.state not in (WorkloadState.PENDING, *_RUNS):
        return False
    held = list(row.allocations.filter(state=AllocationState.ACTIVE, is_beside=False).order_by("share"))
    size = WorkloadSize.objects.filter(workload=row).first()
    wanted = scaling.target_shares(rules, _standing(row, size, len(held)), seen) if rules else None
    if wanted == row.wanted_shares:
        return False
    row.wanted_shares = wanted
    row.save(update_fields=["wanted_shares", "updated_at"])
    if size is not None:
        WorkloadSize.objects.filter(pk=size.pk).update(target_changed_at=seen.now)
    if wanted is not None and row.state in _RUNS and wanted < len(held):
        shares_drop(row, held, wanted, actor, cause="rule")
    return True


def _standing(row: Workload, size: WorkloadSize | None, shares: int) -> scaling.Standing:
    changes = [row.started_at, row.scaled_at, size.target_changed_at if size else None]
    assert row.min_shares is not None
    return scaling.Standing(
        least=row.min_shares,
        most=row.shares,
        per=row.shares_per_replica,
        shares=shares if row.state in _RUNS else None,
        target=row.wanted_shares,
        changed_at=max((at for at in changes if at is not None), default=None),
    )
