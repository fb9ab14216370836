"""The pool, for operators: nodes, devices, slices, sessions, resource groups, specifications."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weir.calls import Calls

if TYPE_CHECKING:
    from weir.api_types import (
        DeviceOut,
        NodeDetailOut,
        NodeOut,
        ResourceGroupOut,
        SessionOut,
        SliceOut,
        SpecOut,
    )


class Pool(Calls):
    """The part of a client that manages the pool."""

    def nodes(self) -> list[NodeOut]:
        return list(self.all("nodes"))

    def devices(self) -> list[DeviceOut]:
        return list(self.all("devices"))

    def join_token(self, note: str) -> str:
        """A one-time token with which a node may join (operators)."""
        return self.post("agent-tokens", {"note": note})["secret"]

    def node(self, uid: str) -> NodeDetailOut:
        """A node: address, state, components, devices, and the tasks on it."""
        return self.get(f"nodes/{uid}")

    def node_act(self, uid: str, act: str) -> NodeOut:
        """`drain` (no new work), `undrain`, or `remove` (out of the pool once its work has ended)."""
        return self.post(f"nodes/{uid}/{act}")

    def device_act(self, uid: str, act: str) -> DeviceOut:
        """`enable`, `disable`, `slice` (shares of it), `unslice` (whole only), `remove`, `accept-memory`."""
        return self.post(f"devices/{uid}/{act}")

    def device_oversubscribe(self, uid: str, compute_permille: int, memory_permille: int = 1000) -> DeviceOut:
        """How often each percent and MiB may be held, in permille: 1000 is once."""
        body = {"compute_permille": compute_permille, "memory_permille": memory_permille}
        return self.post(f"devices/{uid}/oversubscribe", body)

    def slices(self, *, node: str = "", device: str = "") -> list[SliceOut]:
        """The slices that hold a share now, across tenants."""
        return list(self.all("slices", node=node, device=device))

    def sessions(self) -> list[SessionOut]:
        """The sessions across tenants, with transport and what is measured of it."""
        return list(self.all("sessions"))

    def session_move(self, slice_uid: str, device: str) -> SessionOut:
        """Move a running session to another device; the answer is the slice made there."""
        return self.post(f"sessions/{slice_uid}/move", {"device": device})

    def session_stay(self, slice_uid: str) -> SessionOut:
        """Call its move off."""
        return self.post(f"sessions/{slice_uid}/stay")

    def resource_groups(self) -> list[ResourceGroupOut]:
        return list(self.all("resource-groups"))

    def resource_group(self, code: str) -> ResourceGroupOut:
        return self.get(f"resource-groups/{code}")

    def resource_group_make(self, code: str, name_en: str, name_zh: str = "") -> ResourceGroupOut:
        return self.post("resource-groups", {"code": code, "name_en": name_en, "name_zh": name_zh})

    def resource_group_remove(self, code: str) -> None:
        self.call("DELETE", f"resource-groups/{code}")

    def resource_group_devices(self, code: str, devices: list[str]) -> ResourceGroupOut:
        """Make these the group's devices; those left out are everybody's again."""
        return self.call("PUT", f"resource-groups/{code}/devices", {"devices": devices})

    def resource_group_grant(
        self, code: str, tenant: str, members: list[str] | None = None
    ) -> ResourceGroupOut:
        """Grant it to a tenant: to all its members (None), or to these login accounts."""
        return self.post(f"resource-groups/{code}/grants", {"tenant": tenant, "members": members})

    def resource_group_revoke(self, code: str, tenant: str) -> None:
        self.call("DELETE", f"resource-groups/{code}/grants/{tenant}")

    def specs(self) -> list[SpecOut]:
        return list(self.all("specs"))

    def spec_make(
        self, code: str, name_en: str, compute_percent: int, memory_mib: int, name_zh: str = ""
    ) -> SpecOut:
        share = {"compute_percent": compute_percent, "memory_mib": memory_mib}
        return self.post("specs", {"code": code, "name_en": name_en, "name_zh": name_zh, **share})

    def spec_disable(self, code: str) -> SpecOut:
        return self.post(f"specs/{code}/disable")

    def spec_enable(self, code: str) -> SpecOut:
        return self.post(f"specs/{code}/enable")
