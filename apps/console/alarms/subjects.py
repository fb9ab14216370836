"""What an alarm rule may be narrowed to: the subjects of each kind that there are now, by the names people know."""

from collections.abc import Iterable
from uuid import UUID

from django.db.models import Q

from apps.centers.selectors import center_list
from apps.console.alarms.readings import POOL
from apps.console.reports.base import device_label
from apps.fleet.selectors import device_list, node_list, slice_open_list
from apps.scheduling.selectors.workloads import queue_list, workload_list_across
from apps.scheduling.states import QuotaItem
from apps.tenancy.selectors import tenant_list

OFFERED_MOST = 500


def subject_is_known(kind: str, subject: str) -> bool:
    """Whether a rule whose metric is measured on subjects of that kind would ever meet this one, an identifier or a
    name as the readings have them."""
    match kind:
        case "device":
            rows = device_list()
            return rows.filter(uid=subject).exists() or any(device_label(row) == subject for row in rows)
        case "node":
            return node_list().filter(uid=subject).exists() or node_list().filter(name=subject).exists()
        case "network":
            return subject in _switches()
        case "center":
            named = Q(ai_center_id=subject) | Q(name=subject)
            return center_list().filter(named).exists()
        case "slice":
            return _slice_is_known(subject)
        case "queue":
            return queue_list().filter(code=subject).exists()
        case "tenant":
            return subject in _quotas()
        case _:
            return subject == (POOL if kind == "pool" else kind)


def _slice_is_known(subject: str) -> bool:
    try:
        return slice_open_list().filter(uid=UUID(subject)).exists()
    except ValueError:
        return workload_list_across().filter(no=subject).exists()


def _switches() -> set[str]:
    found: set[str] = set()
    for labels in (node.info.get("labels") or {} for node in node_list()):
        if switch := labels.get("switch"):
            found |= {switch, f"{switch}/{labels.get('switch_port', '')}".rstrip("/")}
    return found


def _quotas() -> set[str]:
    return {
        text
        for tenant in tenant_list()
        for item in QuotaItem.values
        for text in (f"{tenant.schema_name}:{item}", f"{tenant.name} ({item})")
    }


def subjects_offered() -> list[str]:
    """Names to choose from in a form, at most `OFFERED_MOST`: nodes, centres, devices and queues."""
    nodes: Iterable[str] = node_list().values_list("name", flat=True)
    centers: Iterable[str] = center_list().values_list("name", flat=True)
    queues: Iterable[str] = queue_list().values_list("code", flat=True)
    devices = (device_label(row) for row in device_list().order_by("node__name", "index"))
    return [*nodes, *centers, *queues, *devices][:OFFERED_MOST]
