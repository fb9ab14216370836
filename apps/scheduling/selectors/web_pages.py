"""Reads: where the web pages of a workload are served, who may open them, and how it is with a service."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext_lazy

from apps.fleet.selectors import slice_list
from apps.kernel.actor import Actor
from apps.scheduling.models import ServiceKey, Workload
from apps.scheduling.selectors.share_place import share_place
from apps.scheduling.states import FINAL_STATES, WorkloadState


@dataclass(frozen=True, slots=True)
class WebPages:
    """The web pages of a workload. `slice_uid` and `node_uid` are empty while it has no place to run."""

    workload_uid: UUID
    schema: str
    no: str
    owner_id: int | None
    is_over: bool
    slice_uid: str = ""
    node_uid: str = ""


@dataclass(frozen=True, slots=True)
class ServiceSeen:
    """How it is with a service: its health now, how often it was started again in all, and why the last time.

    `health` is "" while it has no place to run.
    """

    health: str
    restarts: int
    failure_code: str
    failure: str
    failed_at: datetime | None
    port: int | None
    health_path: str
    interval_s: int

    @property
    def health_text(self) -> str:
        return str(HEALTH_TEXTS.get(self.health, HEALTH_TEXTS["starting"]))

    @property
    def failure_text(self) -> str:
        """Why its program had to be started again, for people."""
        return str(FAILURE_TEXTS.get(self.failure_code, ""))


FAILURE_TEXTS = {
    "ended": gettext_lazy("Its program ended by itself."),
    "unhealthy": gettext_lazy("It was unhealthy."),
    "late": gettext_lazy("It was not healthy in time after its start."),
    "memory_exceeded": gettext_lazy("It used more memory than it has."),
    "unstartable": gettext_lazy("Its program could not be started."),
}
HEALTH_TEXTS = {
    "": gettext_lazy("not running"),
    "starting": gettext_lazy("starting"),
    "healthy": gettext_lazy("healthy"),
    "unhealthy": gettext_lazy("unhealthy"),
    "waiting": gettext_lazy("being started again"),
}


def serves_web(row: Workload) -> bool:
    """Whether a workload's program serves web pages, or is a service."""
    return bool(row.work.get("web")) or is_service(row)


def is_service(row: Workload) -> bool:
    """Whether its program is kept alive and reached at an address."""
    return bool(row.work.get("service"))


def service_seen(row: Workload) -> ServiceSeen | None:
    """How it is with a service, as its nodes told it; None of other work."""
    if not is_service(row):
        return None
    wanted = row.work["service"]
    told = list(slice_list(workload_uids=[row.uid]).order_by("created_at", "pk"))
    last = told[-1].service if told else {}
    is_running = bool(told) and not told[-1].is_final and row.state == WorkloadState.RUNNING
    failures = [each.service for each in told if each.service.get("failure")]
    failed = failures[-1] if failures else {}
    return ServiceSeen(
        health=last.get("health", "starting") if is_running else "",
        restarts=sum(each.service.get("restarts", 0) for each in told),
        failure_code=failed.get("failure_code", ""),
        failure=failed.get("failure", ""),
        failed_at=parse_datetime(failed.get("failed_at") or ""),
        port=last.get("port") if is_running else wanted.get("port"),
        health_path=wanted.get("health_path", "/"),
        interval_s=wanted.get("interval_s", 10),
    )


def service_keys(row: Workload) -> list[ServiceKey]:
    """The keys of a service that open it, the newest first."""
    rows = ServiceKey.objects.of(row.tenant).filter(workload=row, revoked_at=None)
    return list(rows.select_related("made_by"))


def may_open_web(actor: Actor, row: Workload) -> bool:
    """Whether the actor may open a workload's web pages: they act as who submitted it, so nobody else may."""
    return serves_web(row) and actor.user_id is not None and row.submitted_by_id == actor.user_id


def web_pages_get(workload_uid: UUID) -> WebPages | None:
    """The web pages of anybody's workload, served by its first share; None where it serves none.

    For the gateway, which asks who may open them by itself.
    """
    row = Workload.objects.across().select_related("tenant").filter(uid=workload_uid).first()
    if row is None or not serves_web(row):
        return None
    known = {
        "workload_uid": row.uid,
        "schema": row.tenant.schema_name,
        "no": row.no,
        "owner_id": row.submitted_by_id,
        "is_over": row.state in FINAL_STATES,
    }
    slice_uid, node_uid = share_place(row, 0)
    return WebPages(**known, slice_uid=slice_uid, node_uid=node_uid)
