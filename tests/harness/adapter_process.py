"""A process of a portal that makes calls of the adapter of its own pool, as the centre watcher does: over no network,
each call on a connection to the database of its own.

python -m tests.harness.adapter_process SOCKET TENANT
"""

import os
import sys
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

    adapter = adapter_of("local", settings, {}, local_addresses=False)
    found = getattr(adapter, name)(*arguments)
    assert not connection.in_atomic_block
    return list(found) if name == "usage" else found


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings.dev")
    main(*sys.argv[1:])
