"""Reads: where the web pages of a workload are served, and who may open them."""

from dataclasses import dataclass
from uuid import UUID

from apps.kernel.actor import Actor
from apps.scheduling.models import Workload
from apps.scheduling.selectors.share_place import share_place
from apps.scheduling.states import FINAL_STATES


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


def serves_web(row: Workload) -> bool:
    """Whether a workload's program serves web pages."""
    return bool(row.work.get("web"))


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
