"""The pool's components, for operators: versions, releases of the agent, roll-outs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from weir.calls import Calls

if TYPE_CHECKING:
    from weir.api_types import (
        ComponentOut,
        ReleaseKeyOut,
        ReleaseOut,
        RolloutIn,
        RolloutOut,
    )


class Components(Calls):
    """The part of a client that keeps the pool's software up to date."""

    def components(self) -> list[ComponentOut]:
        """Every part of the pool: component, host, name, node_uid, version, state, config_generation …"""
        return list(self.all("components"))

    def releases(self) -> list[ReleaseOut]:
        return list(self.all("releases"))

    def release_add(self, file: Path, signature: str = "", notes: str = "") -> ReleaseOut:
        """Add a signed release; the signature is read from `<file>.sig` where none is given."""
        signed = signature or file.with_name(f"{file.name}.sig").read_text()
        return self.upload("releases", file, signature=signed.strip(), notes=notes)

    def release_keys(self) -> list[ReleaseKeyOut]:
        """The keys that releases are or were signed with."""
        return list(self.all("release-keys"))

    def release_key_revoke(self, public_key: str) -> ReleaseKeyOut:
        """Trust a key no more, here and on every node."""
        return self.post(f"release-keys/{public_key}/revoke")

    def rollouts(self) -> list[RolloutOut]:
        return list(self.all("rollouts"))

    def rollout(self, uid: str) -> RolloutOut:
        return self.get(f"rollouts/{uid}")

    def rollout_start(self, **body: Unpack[RolloutIn]) -> RolloutOut:
        """Bring a release or a configuration to nodes (uids), and to the server's processes, batch by batch."""
        return self.post("rollouts", body)

    def rollout_act(self, uid: str, act: str) -> RolloutOut:
        """`pause`, `resume`, `cancel` or `roll_back`."""
        return self.post(f"rollouts/{uid}/{act}")
