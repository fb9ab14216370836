"""Releases for tests: the agent of this source tree under a new version, signed with a key of the test's own."""

from pathlib import Path
from typing import TYPE_CHECKING

import httpx
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings

from apps.conformance.harness.case_context import CaseContext
from apps.conformance.harness.record import CaseFailed
from apps.rollouts.release_build import public_key_of, release_pack, release_sign

if TYPE_CHECKING:
    from weir.api_types import ComponentOut, RolloutOut

ROLLOUT_S = 900
GATE_S = 300
CLOSED = ("done", "rolled_back", "cancelled")


class Releases:
    """Makes releases that this test's own nodes trust; the key is trusted by the portal while the test lasts."""

    def __init__(self, pool: CaseContext) -> None:
        self._pool, self._key = pool, Ed25519PrivateKey.generate()
        public = public_key_of(self._key)
        pool.note("release key", public)
        pool.operator.post("release-keys", {"public_key": public, "name": pool.label})

    def add(self, version: str, *, is_broken: bool = False) -> str:
        """Sign a release and give it to the portal; a broken one cannot start."""
        content = release_pack(_broken(self._pool) if is_broken else Path(settings.BASE_DIR), version)
        signature = release_sign(self._key, version, content)
        answer = self._pool.upload("releases", f"{version}.zip", content, signature=signature)
        if answer.status_code != httpx.codes.CREATED:
            raise CaseFailed(f"the portal refuses release {version}: {answer.text}")
        return version

    def forged(self, version: str) -> str:
        """Why the portal refuses a release that somebody else signed."""
        content = release_pack(Path(settings.BASE_DIR), version)
        signature = release_sign(Ed25519PrivateKey.generate(), version, content)
        answer = self._pool.upload("releases", f"{version}.zip", content, signature=signature)
        return "" if answer.is_success else str(answer.json()["error"]["message"])


def _broken(pool: CaseContext) -> Path:
    """A source tree whose agent ends at once."""
    root = pool.folder / pool.name("broken")
    pool.note("folder", str(root))
    (root / "node_agent").mkdir(parents=True)
    (root / "node_agent" / "__init__.py").write_text("")
    (root / "node_agent" / "__main__.py").write_text("raise SystemExit('this release cannot start')\n")
    return root


def rolled(pool: CaseContext, *, patience_s: float = ROLLOUT_S, **body: object) -> "RolloutOut":
    """Start a roll-out and follow it to its end."""
    made = pool.operator.post("rollouts", {"batch": 1, "gate_s": GATE_S, **body})
    return followed(pool, made["uid"], patience_s=patience_s)


def followed(pool: CaseContext, uid: str, *, patience_s: float = ROLLOUT_S) -> "RolloutOut":
    """A roll-out once it is over."""

    def look() -> "RolloutOut | None":
        found = pool.operator.rollout(uid)
        return found if found["state"] in CLOSED else None

    found: RolloutOut = pool.until("the roll-out to end", look, patience_s)
    return found


def versions(pool: CaseContext, *nodes: str) -> dict[str, str]:
    """The agent's version on each node, as the portal hears it."""
    return {row["name"]: row["agent_version"] for row in pool.operator.all("nodes") if row["name"] in nodes}


def component(pool: CaseContext, node: str) -> "ComponentOut":
    """The agent of a node in the list of components."""
    rows = [row for row in pool.operator.components() if row["component"] == "agent" and row["name"] == node]
    if not rows:
        raise CaseFailed(f"the agent of {node} is not among the components")
    return rows[0]
