"""What our own pool holds and what of it is in use, as a centre says it (tables 2 and 4)."""

from collections import defaultdict

from django.conf import settings
from django.db.models import Count

from apps.centers.adapters.base import CenterResources, Quantities
from apps.fleet.models import Node
from apps.fleet.selectors import node_list, slice_open_list
from apps.jointcloud.local.accelerators import accelerator_counts, devices_offered, is_held
from apps.jointcloud.local.kind import CODE
from apps.scheduling.selectors.workloads import workload_list_across
from apps.scheduling.states import WorkloadState

_RUNS = (WorkloadState.PLACED, WorkloadState.RUNNING, WorkloadState.STOPPING)
_HOST = ("cpu", "memory", "storage")


def version() -> str:
    """What it is, and its version."""
    return f"{CODE} (weir {settings.WEIR_VERSION})"


def pool_resources() -> CenterResources:
    """Of nodes that take work now. A device counts as in use while anything of it is held."""
    nodes = {row.pk: row for row in node_list() if row.is_ready}
    held: dict[int, dict[str, int]] = defaultdict(lambda: dict.fromkeys(_HOST, 0))
    for part in slice_open_list().filter(node__in=list(nodes)):
        held[part.node_id]["cpu"] += part.host_cpu_milli
        held[part.node_id]["memory"] += part.host_memory_mib
        held[part.node_id]["storage"] += part.scratch_disk_mib
    total, used = dict.fromkeys(_HOST, 0), dict.fromkeys(_HOST, 0)
    for pk, node in nodes.items():
        for name, amount in _host_total(node).items():
            total[name] += amount
            used[name] += min(amount, -(-held[pk][name] // _UNITS[name]))
    devices = devices_offered()
    states = dict(workload_list_across().order_by().values_list("state").annotate(count=Count("pk")))
    return CenterResources(
        total=Quantities(**total, **accelerator_counts(devices)),
        used=Quantities(**used, **accelerator_counts(filter(is_held, devices))),
        running_tasks=sum(states.get(state, 0) for state in _RUNS),
        waiting_tasks=states.get(WorkloadState.PENDING, 0),
        nodes=len(nodes),
        version=version(),
    )


# Of what is held, in one unit of what is told.
_UNITS = {"cpu": 1000, "memory": 1, "storage": 1024}


def _host_total(node: Node) -> dict[str, int]:
    return {
        "cpu": int(node.info.get("cpu_count") or 0),
        "memory": int(node.info.get("memory_mib") or 0),
        "storage": int(node.info.get("scratch_disk_mib") or 0) // _UNITS["storage"],
    }
