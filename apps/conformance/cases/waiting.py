"""What several tests wait for."""

from apps.conformance.running.ground import Ground, Json


def node_ready(pool: Ground, name: str) -> Json:
    """Wait until a node has joined and is ready."""
    return pool.until(f"node {name} to be ready", lambda: _ready(pool, name))


def _ready(pool: Ground, name: str) -> Json | None:
    rows = pool.operator.all("nodes")
    return next((row for row in rows if row["name"] == name and row["state"] == "ready"), None)
