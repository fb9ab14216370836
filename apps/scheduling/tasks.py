from apps.kernel.acts import SYSTEM
from apps.kernel.tasks import provider_task
from apps.scheduling.services.promises import promises_make
from apps.scheduling.services.what_ifs import what_if_begin, what_if_end
from apps.scheduling.what_if import what_if_get, what_if_reckon, what_ifs_open


@provider_task
def promises_make_due() -> None:
    """Tell work that began to wait when it will start."""
    promises_make(actor=SYSTEM)


@provider_task
def what_if_run(uid: str) -> None:
    """Replay the past outside of any transaction: it takes as long as it takes."""
    rules = what_if_begin(actor=SYSTEM, uid=uid)
    if rules is not None:
        what_if_end(actor=SYSTEM, uid=uid, result=what_if_reckon(what_if_get(uid).days, rules))


@provider_task
def what_ifs_sweep() -> int:
    """Find those whose hint was lost, or whose worker died."""
    rows = list(what_ifs_open().values_list("uid", flat=True))
    for uid in rows:
        what_if_run.delay(str(uid))
    return len(rows)
