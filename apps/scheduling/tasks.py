import logging
from uuid import UUID

from apps.billing.selectors.accounts import funds_due
from apps.kernel.actor import SYSTEM
from apps.kernel.tasks import provider_task
from apps.scheduling.models import HookCall, WorkloadSize
from apps.scheduling.selectors.forecasts.what_if import what_if_get, what_if_reckon, what_ifs_open
from apps.scheduling.services.cycle.housekeeping import decisions_prune, tallies_fold
from apps.scheduling.services.cycle.start_estimates import start_estimates_make
from apps.scheduling.services.cycle.what_ifs import what_if_begin, what_if_end, what_if_fail
from apps.scheduling.services.hooks import (
    hook_call_carry_out,
    hook_call_claim,
    hook_call_settle,
    hook_calls_prune,
)
from apps.scheduling.services.scaling import scaling_rules_apply
from apps.scheduling.services.workloads.arrays import array_stop_batch, array_turns, arrays_due
from apps.scheduling.services.workloads.dependents import dependencies_due, dependencies_settle
from apps.scheduling.services.workloads.funds import funds_follow
from apps.scheduling.services.workloads.resizing.elastic_size import size_settle, sizes_prune
from apps.scheduling.services.workloads.stopping import deadlines_keep

log = logging.getLogger(__name__)
_HOOKS_MOST = 200
_FUNDS_MOST = 500


@provider_task
def start_estimates_make_due() -> None:
    """Tell work that began to wait when it will start."""
    start_estimates_make(actor=SYSTEM)


@provider_task
def deadlines_sweep() -> None:
    """Stop what runs past its deadline: every few seconds."""
    deadlines_keep(actor=SYSTEM)


@provider_task
def funds_sweep() -> int:
    """Look at the money of work whose money may be near its end, each in a transaction of its own: every few
    seconds. What one worker died over is due still."""
    due = funds_due(_FUNDS_MOST)
    for uid in due:
        try:
            funds_follow(actor=SYSTEM, workload_uid=uid)
        except Exception:
            # It is due still; the others are not to wait for it.
            log.exception("the money of workload %s was not looked at", uid)
    return len(due)


@provider_task
def tallies_tidy() -> None:
    """Keep what is counted short, so that it is summed at once."""
    tallies_fold(actor=SYSTEM)


@provider_task
def decisions_forget() -> int:
    """Forget time lines of long ago, batch by batch: every hour."""
    total = 0
    while gone := decisions_prune(actor=SYSTEM):
        total += gone
    return total


@provider_task
def what_if_run(uid: str) -> None:
    """Replay the past outside of any transaction, for minutes. One that cannot be replayed says so: begun again and
    again it would keep a worker busy for ever."""
    rules = what_if_begin(actor=SYSTEM, uid=uid)
    if rules is None:
        return
    try:
        found = what_if_reckon(what_if_get(uid).days, rules)
    except Exception as error:
        log.exception("what-if %s was not replayed", uid)
        said = str(getattr(error, "message", "")) or f"{type(error).__name__}: {error}"
        what_if_fail(actor=SYSTEM, uid=uid, error=said)
        return
    what_if_end(actor=SYSTEM, uid=uid, result=found)


@provider_task
def what_ifs_sweep() -> int:
    """Find those whose hint was lost, or whose worker died."""
    rows = list(what_ifs_open().values_list("uid", flat=True))
    for uid in rows:
        what_if_run.delay(str(uid))
    return len(rows)


@provider_task
def size_follow(uid: str) -> None:
    """A share of elastic work has started, confirmed or ended."""
    size_settle(actor=SYSTEM, workload_uid=UUID(uid))


@provider_task
def sizes_sweep() -> int:
    """Open changes of size: those whose notice is over, and those whose hint was lost."""
    rows = list(WorkloadSize.objects.filter(is_open=True).values_list("workload__uid", flat=True))
    for uid in rows:
        size_settle(actor=SYSTEM, workload_uid=uid)
    return len(rows)


@provider_task
def dependencies_follow(uid: str) -> None:
    """Work has started or ended that other work waits for."""
    dependencies_settle(actor=SYSTEM, workload_uid=UUID(uid))


@provider_task
def dependencies_sweep() -> int:
    """What waits for other work and need not any more: where a hint was lost, or more waited than one look takes."""
    rows = dependencies_due()
    for uid in rows:
        dependencies_settle(actor=SYSTEM, workload_uid=uid)
    return len(rows)


@provider_task
def array_follow(pk: int) -> None:
    """The next tasks of an array have their turn; or all of it ends, batch by batch."""
    array_turns(actor=SYSTEM, array_pk=pk)
    while array_stop_batch(actor=SYSTEM, array_pk=pk):
        pass


@provider_task
def arrays_sweep() -> int:
    """Arrays whose hint was lost, or whose worker died."""
    rows = arrays_due()
    for pk in rows:
        array_follow(pk)
    return len(rows)


@provider_task
def scaling_rules_follow() -> int:
    """Let elastic work follow its scaling rules."""
    return scaling_rules_apply(actor=SYSTEM)


@provider_task
def hooks_call() -> int:
    """Call the hooks that are due, each in no transaction: after what they are told of, and every few seconds."""
    count = 0
    while count < _HOOKS_MOST and (row := hook_call_claim(actor=SYSTEM)):
        count += 1
        hook_call_settle(actor=SYSTEM, uid=row.uid, error=_hook_try(row))
    return count


def _hook_try(row: HookCall) -> str:
    """Why the hook could not be called; empty: it was."""
    try:
        hook_call_carry_out(row)
    except Exception as problem:
        # Whatever a site's own code does: it is written down, and tried again.
        log.warning("hook %s failed (try %d): %s", row.hook, row.tries, problem)
        return f"{type(problem).__name__}: {problem}"
    return ""


@provider_task
def past_sizes_and_calls_forget() -> int:
    """Forget sizes of ended work and settled calls of hooks, batch by batch: every hour."""
    total = 0
    for forget in (sizes_prune, hook_calls_prune):
        while gone := forget(actor=SYSTEM):
            total += gone
    return total
