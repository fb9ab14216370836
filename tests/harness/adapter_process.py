"""A process of a portal that makes calls of the adapter of its own pool, as the centre watcher does: over no network,
each call on a connection to the database of its own.

python -m tests.harness.adapter_process SOCKET TENANT
"""

import os
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection, Listener
from threading import Thread

import django

KEY = b"of this machine alone"
# As much as the tests may hold at once.
QUOTA = {
    "instances": 1000,
    "compute_percent": 100_000,
    "gpu_memory_mib": 10**7,
    "host_cpu_milli": 10**6,
    "host_memory_mib": 10**7,
    "storage_mib": 10**6,
}


def main(path: str, schema: str) -> None:
    """Give the tenant room, then answer calls until it is ended."""
    django.setup()
    from apps.kernel.actor import SYSTEM
    from apps.scheduling.services.quota.quotas import quota_set
    from apps.tenancy.selectors import tenant_get
    from portal import wiring  # noqa: F401

    for item, total in QUOTA.items():
        quota_set(actor=SYSTEM, tenant=tenant_get(schema), item=item, total=total)
    with Listener(path, "AF_UNIX", backlog=64, authkey=KEY) as listener:
        while True:
            Thread(target=_serve, args=(listener.accept(),), daemon=True).start()


def _serve(caller: Connection) -> None:
    from django.db import connection

    with caller:
        try:
            caller.send(("answer", _call(*caller.recv())))
        except Exception as error:
            caller.send(("error", error))
        finally:
            connection.close()


def _call(name: str, settings: dict[str, str], arguments: tuple[object, ...]) -> object:
    from django.db import connection

    from apps.centers.adapters.kinds import adapter_of

    if name in _OF_PORTAL:
        return _OF_PORTAL[name](settings, *arguments)
    adapter = adapter_of("local", settings, {}, local_addresses=False)
    found = getattr(adapter, name)(*arguments)
    assert not connection.in_atomic_block
    return list(found) if name == "usage" else found


def _center_joined(settings: dict[str, str]) -> None:
    """Have the pool join the network of its own portal."""
    from apps.centers.services.centers import center_join
    from apps.kernel.actor import SYSTEM

    center_join(
        actor=SYSTEM, ai_center_id="own", kind="local", settings=settings, secrets={}, facts={"name": "Own"}
    )


def _task_sent(settings: dict[str, str], key: str, command: str, environment: dict[str, str]) -> None:
    """Ask for a task there: the portal's watcher sends it."""
    from apps.centers.adapters.base import JobMessage, Quantities
    from apps.centers.selectors import center_get
    from apps.centers.services.remote_tasks import remote_task_request
    from apps.kernel.actor import SYSTEM

    message = JobMessage(command, Quantities(cpu=1, memory=50), environment)
    remote_task_request(actor=SYSTEM, center=center_get("own"), key=key, message=message, owner="a test")


def _task_seen(settings: dict[str, str], key: str) -> tuple[str, int | None, bytes]:
    """Its state and exit code as the portal has them, and what it has printed."""
    from apps.centers.models import RemoteTask
    from apps.centers.services.remote_tasks import remote_task_log

    row = RemoteTask.objects.get(key=key)
    return row.state, row.exit_code, remote_task_log(row, 0)


_OF_PORTAL: dict[str, Callable[..., object]] = {
    "center_joined": _center_joined,
    "task_sent": _task_sent,
    "task_seen": _task_seen,
}


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings.dev")
    main(*sys.argv[1:])
