"""The AI computing centres of the network, and its specifications."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weir.calls import Calls

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Unpack

    from weir.api_types import (
        CenterIn,
        CenterKindOut,
        CenterOut,
        OfferIn,
        PatchedCenterChangeIn,
        PatchedPlacementSettingsIn,
        PatchedResourceSpecChangeIn,
        PlacementSettingsOut,
        PlacementTryIn,
        ResourceSpecIn,
        ResourceSpecOut,
        SpecOfferOut,
        TrialOut,
    )


class Network(Calls):
    """The part of a client about the centres of the network: kept by operators, tried by everybody."""

    def center_kinds(self) -> list[CenterKindOut]:
        """The kinds of centres that can be joined, with what is to be filled in for each."""
        return self.get("center-kinds")

    def centers(self) -> list[CenterOut]:
        return list(self.all("centers"))

    def center(self, code: str) -> CenterOut:
        return self.get(f"centers/{code}")

    def center_join(self, **given: Unpack[CenterIn]) -> CenterOut:
        """Join a centre: it is asked first what it holds."""
        return self.post("centers", given)

    def center_change(self, code: str, **given: Unpack[PatchedCenterChangeIn]) -> CenterOut:
        """Change what is given; with other settings the centre is tried first."""
        return self.call("PATCH", f"centers/{code}", given)

    def center_credential(self, code: str, credential: Mapping[str, str]) -> CenterOut:
        """Give it another credential, once it takes it."""
        return self.call("PUT", f"centers/{code}/credential", {"credential": dict(credential)})

    def center_serves(self, code: str, serves: str, *, may_share: bool = False) -> CenterOut:
        """Send it the work of "all" tenants, or of those that are "named" alone. `may_share`: that they may
        share it."""
        return self.call("PUT", f"centers/{code}/serves", {"serves": serves, "may_share": may_share})

    def center_tenant_set(
        self, code: str, tenant: str, account: Mapping[str, str] | None = None
    ) -> CenterOut:
        """Have it serve a tenant, whose work runs there under `account`, or else under the centre's own."""
        return self.call("PUT", f"centers/{code}/tenants/{tenant}", {"account": dict(account or {})})

    def center_tenant_remove(self, code: str, tenant: str) -> None:
        """Take a tenant off it: nothing new of its is sent there."""
        self.call("DELETE", f"centers/{code}/tenants/{tenant}")

    def center_act(self, code: str, act: str) -> CenterOut:
        """`drain`, `undrain`, or `sample`: ask it now what it holds."""
        return self.post(f"centers/{code}/{act}")

    def center_remove(self, code: str) -> None:
        self.call("DELETE", f"centers/{code}")

    def placement_try(self, **given: Unpack[PlacementTryIn]) -> TrialOut:
        """Where a job would go now: every centre with its scores, or with why it is refused. Nothing is kept."""
        return self.post("placements/try", given)

    def placement_settings(self) -> PlacementSettingsOut:
        """How centres are chosen now, for operators."""
        return self.get("placement-settings")

    def placement_settings_history(self) -> list[PlacementSettingsOut]:
        """All versions, the one in force first."""
        return list(self.all("placement-settings/history"))

    def placement_settings_change(self, **given: Unpack[PatchedPlacementSettingsIn]) -> PlacementSettingsOut:
        """Change what is given; of `weights` those that are not named become 0."""
        return self.call("PATCH", "placement-settings", given)

    def network_specs(self) -> list[ResourceSpecOut]:
        return list(self.all("resource-specs"))

    def network_spec(self, code: str) -> ResourceSpecOut:
        return self.get(f"resource-specs/{code}")

    def network_spec_make(self, **given: Unpack[ResourceSpecIn]) -> ResourceSpecOut:
        """A specification that no centre offers yet."""
        return self.post("resource-specs", given)

    def network_spec_change(self, code: str, **given: Unpack[PatchedResourceSpecChangeIn]) -> ResourceSpecOut:
        """Change what is given; its amounts only while no centre offers it."""
        return self.call("PATCH", f"resource-specs/{code}", given)

    def network_spec_remove(self, code: str) -> None:
        self.call("DELETE", f"resource-specs/{code}")

    def network_spec_offer(self, code: str, center: str, **given: Unpack[OfferIn]) -> SpecOfferOut:
        """Let a centre offer it, or change how it does: what is not given is not known."""
        return self.call("PUT", f"resource-specs/{code}/offers/{center}", given)

    def network_spec_take(self, code: str, center: str) -> None:
        """The centre offers it no more."""
        self.call("DELETE", f"resource-specs/{code}/offers/{center}")
