"""What several tests wait for."""

from typing import Any

from weir import ApiError, Client

from apps.conformance.harness.case_context import CaseContext, Json


def node_ready(pool: CaseContext, name: str) -> Json:
    """Wait until a node of the test's own has joined and is ready."""
    found = pool.until(f"node {name} to be ready", lambda: _ready(pool, name))
    pool.record.uses(pool.operator.all("devices", node=found["uid"]))
    return found


def _ready(pool: CaseContext, name: str) -> Json | None:
    rows = pool.operator.all("nodes")
    return next((row for row in rows if row["name"] == name and row["state"] == "ready"), None)


def oversubscribe(pool: CaseContext, device: Json, permille: int) -> None:
    """Let each percent and MiB of a card be held so often, in permille."""
    body = {"compute_permille": permille, "memory_permille": permille}
    pool.operator.post(f"devices/{device['uid']}/oversubscribe", body)


def why_not(pool: CaseContext, *, by: Client | None = None, **body: Any) -> str:
    """Why work is refused, or waits for good; "" when it gets a place, which it must not."""
    try:
        work = pool.submit(by=by, **body)
    except ApiError as refusal:
        return f"refused: {refusal.message}"
    found = pool.considered(work, by=by)
    pool.halt(work, by=by)
    has_place = found["state"] != "pending" or found["grants"]
    return "" if has_place else f"it waits: {found['reason']}"
