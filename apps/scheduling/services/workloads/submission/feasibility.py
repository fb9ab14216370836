"""Whether a request would ever fit: judged on the pool with every device whole, ready and empty.

Internal to the app's services. Such a pool of ten thousand devices takes a second to read, and changes seldom: each
process keeps the one it read last, and the database says whether devices, nodes or rules have changed since.
"""

from dataclasses import replace
from threading import Lock

from django.db import connection

from apps.kernel.prepared_queries import prepared
from apps.scheduling.engine.model.types import Reason, Request
from apps.scheduling.engine.state.scheduler_state import SchedulerState
from apps.scheduling.snapshot.workloads import snapshot_get

_lock = Lock()
_kept: dict[tuple[str, int], SchedulerState] = {}


def hopeless(request: Request, *, is_fresh: bool) -> Reason | None:
    """Why the request would never fit; None when it would. Not `is_fresh`: by the pool as it was read last, where
    the database knows of no change since."""
    key = (str(connection.settings_dict["NAME"]), _version())
    with _lock:
        if is_fresh or key not in _kept:
            _kept.clear()
            _kept[key] = _ideal()
        return _kept[key].hopeless(request)


def _version() -> int:
    with prepared() as cursor:
        cursor.execute("SELECT last_value FROM scheduling_pool_version")
        return int(cursor.fetchone()[0])


def _ideal() -> SchedulerState:
    snapshot = snapshot_get(with_work=False)
    return SchedulerState(
        replace(
            snapshot,
            nodes=tuple(replace(node, ready=True, schedulable=True) for node in snapshot.nodes),
            devices=tuple(
                replace(device, enabled=True, healthy=True, sliced=None) for device in snapshot.devices
            ),
        )
    )
