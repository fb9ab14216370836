"""What a run made in the pool: written down first, taken back afterwards, also by a later run."""

import logging
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from weir import ApiError

from apps.conformance.harness.agents import agent_end
from apps.conformance.harness.databases import database_drop
from apps.conformance.harness.people import SCHEMA, People
from apps.conformance.harness.processes import processes_end
from apps.conformance.models import ConformanceRun, Trace
from apps.conformance.selectors import trace_list
from apps.conformance.services import trace_forget, trace_note
from apps.kernel.actor import SYSTEM
from apps.scheduling.states import FINAL_STATES, WorkloadState

log = logging.getLogger("weir.conformance")
_GONE = 404
_WORK_ENDS_S = 240
_OPEN = [state for state in WorkloadState if state not in FINAL_STATES]


class Traces:
    """The traces of a run. Safe to use from several threads."""

    def __init__(self, run: ConformanceRun) -> None:
        self._run = run

    def note(self, kind: str, key: str, **detail: Any) -> Trace:
        """Write down what is about to be made or changed."""
        assert kind in UNDO, kind
        return trace_note(actor=SYSTEM, run=self._run, kind=kind, key=key, detail=detail)


def take_back(traces: list[Trace], people: People) -> list[str]:
    """Undo each, work first, then the newest first; what could not be undone, in words, stays written down."""
    left = []
    for trace in sorted(traces, key=lambda trace: (trace.kind != "work", -trace.pk)):
        try:
            UNDO[trace.kind](people, trace.key, trace.detail)
        except ApiError as error:
            if error.status != _GONE:
                left.append(f"{trace}: {error}")
                continue
        except Exception as error:
            log.exception("cannot take back %s", trace)
            left.append(f"{trace}: {type(error).__name__}: {error}")
            continue
        trace_forget(actor=SYSTEM, trace=trace)
    return left


def leftovers_take_back(people: People) -> list[str]:
    """What runs that were killed left in the pool."""
    return take_back(trace_list(), people)


# --- how each kind is taken back; every one of these may run twice ------------------------------------------------


def _work(people: People, key: str, detail: dict[str, Any]) -> None:
    """Everything whose name begins with the test's label: also what was submitted and never heard of."""
    for row in _open_work(people, key):
        if row["state"] != "stopping":
            with suppress(ApiError):
                people.first.post(
                    f"workloads/{row['uid']}/stop", {"reason": "the conformance test cleans up"}
                )
    until_s = time.monotonic() + _WORK_ENDS_S
    while _open_work(people, key) and time.monotonic() < until_s:
        time.sleep(0.3)


def _open_work(people: People, key: str) -> list[dict[str, Any]]:
    """What has not ended of the test's work, state by state: what has ended is much more."""
    rows = (row for state in _OPEN for row in people.first.all("workloads", state=state, page_size=200))
    return [row for row in rows if row["name"].startswith(key)]


def _environment(people: People, key: str, detail: dict[str, Any]) -> None:
    for row in people.first.all("environments"):
        if row["name"] == key:
            people.first.call("DELETE", f"environments/{row['uid']}")


def _group(people: People, key: str, detail: dict[str, Any]) -> None:
    people.operator.call("PUT", f"resource-groups/{key}/devices", {"devices": []})
    with suppress(ApiError):
        people.operator.call("DELETE", f"resource-groups/{key}/grants/{SCHEMA}")
    people.operator.call("DELETE", f"resource-groups/{key}")


def _spec(people: People, key: str, detail: dict[str, Any]) -> None:
    people.operator.post(f"specs/{key}/disable")


def _queue(people: People, key: str, detail: dict[str, Any]) -> None:
    people.operator.call("PATCH", f"queues/{key}", {"state": "inactive"})


def _policy(people: People, key: str, detail: dict[str, Any]) -> None:
    people.operator.call("PATCH", "scheduling-policy", detail)


def _quota(people: People, key: str, detail: dict[str, Any]) -> None:
    people.operator.call("PUT", f"tenants/{key}/quota", detail)


def _device(people: People, key: str, detail: dict[str, Any]) -> None:
    """Back to enabled or not, sliced or not, and its over-subscription, as it was."""
    found = next((row for row in people.operator.all("devices") if row["uid"] == key), None)
    if found is None:
        return
    if found["is_enabled"] != detail["is_enabled"]:
        people.operator.post(f"devices/{key}/{'enable' if detail['is_enabled'] else 'disable'}")
    if found["is_sliced"] != detail["is_sliced"]:
        people.operator.post(f"devices/{key}/{'slice' if detail['is_sliced'] else 'unslice'}")
    ratios = (detail["oversubscribe_permille"], detail["memory_oversubscribe_permille"])
    if (found["oversubscribe_permille"], found["memory_oversubscribe_permille"]) != ratios:
        body = {"compute_permille": ratios[0], "memory_permille": ratios[1]}
        people.operator.post(f"devices/{key}/oversubscribe", body)


def _node(people: People, key: str, detail: dict[str, Any]) -> None:
    if people.operator.get(f"nodes/{key}")["is_drained"]:
        people.operator.post(f"nodes/{key}/undrain")


def _alarm_rule(people: People, key: str, detail: dict[str, Any]) -> None:
    people.operator.call("PATCH", f"alarm-rules/{key}", detail or {"is_enabled": False})


def _alarm_route(people: People, key: str, detail: dict[str, Any]) -> None:
    for row in people.operator.all("alarm-routes"):
        if row["name"] == key:
            people.operator.call("DELETE", f"alarm-routes/{row['uid']}")


def _process(people: People, key: str, detail: dict[str, Any]) -> None:
    processes_end(key)


def _folder(people: People, key: str, detail: dict[str, Any]) -> None:
    shutil.rmtree(key, ignore_errors=True)


def _agent(people: People, key: str, detail: dict[str, Any]) -> None:
    """Its node leaves the pool, its processes end. Its folder is another trace, taken back later."""
    for row in people.operator.all("nodes"):
        if row["name"] == key:
            with suppress(ApiError):
                people.operator.post(f"nodes/{row['uid']}/remove")
    agent_end(key, Path(detail["folder"]))


def _release_key(people: People, key: str, detail: dict[str, Any]) -> None:
    people.operator.post(f"release-keys/{key}/revoke")


def _database(people: People, key: str, detail: dict[str, Any]) -> None:
    database_drop(key)


UNDO: dict[str, Callable[[People, str, dict[str, Any]], None]] = {
    "work": _work,
    "environment": _environment,
    "group": _group,
    "spec": _spec,
    "queue": _queue,
    "policy": _policy,
    "quota": _quota,
    "device": _device,
    "node": _node,
    "alarm rule": _alarm_rule,
    "alarm route": _alarm_route,
    "process": _process,
    "agent": _agent,
    "folder": _folder,
    "database": _database,
    "release key": _release_key,
}
