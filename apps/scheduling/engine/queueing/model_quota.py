"""What tenants may hold on devices of one model, beside what they may hold in all (ELA-308).

Counted where work lies: what names no model is held of the quota of the model that it lands on, and lands where there
is room for it in that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from apps.scheduling.engine.model.types import Device, Grant, Limit, Quota, Reason, ReasonCode
from apps.scheduling.engine.placement.fit import View
from apps.scheduling.engine.placement.place import Placer
from apps.scheduling.engine.queueing.quota import DIMENSIONS, Triple, granted
from apps.scheduling.engine.resources.shapes import Shape, Shapes

Bounds = tuple[int | None, int | None, int | None]


def _bounds(limit: Limit) -> Bounds:
    return (limit.compute_percent, limit.memory_mib, limit.shares)


class ModelQuotas:
    """The bounds by tenant and model, and what is used of them. Tenants without such a bound cost nothing."""

    def __init__(self, quotas: Mapping[str, Quota], devices: Mapping[str, Device]) -> None:
        self._devices = devices
        self._bounds: dict[str, dict[str, Bounds]] = {
            tenant_id: {model: _bounds(limit) for model, limit in quota.by_model}
            for tenant_id, quota in quotas.items()
            if quota.by_model
        }
        self._used: dict[tuple[str, str], list[int]] = {}
        self._models = frozenset(device.model for device in devices.values()) if self._bounds else frozenset()

    @property
    def tenants(self) -> frozenset[str]:
        """Those with a bound on some model."""
        return frozenset(self._bounds)

    def binds(self, tenant_id: str) -> bool:
        """Whether the tenant has a bound on some model."""
        return tenant_id in self._bounds

    def add(self, tenant_id: str, grants: Iterable[Grant], sign: int) -> None:
        """Count grants in (1) or out (-1)."""
        if tenant_id not in self._bounds:
            return
        for model, own in self._by_model(grants).items():
            used = self._used.setdefault((tenant_id, model), [0, 0, 0])
            for i, amount in enumerate(granted(own)):
                used[i] += sign * amount

    def _by_model(self, grants: Iterable[Grant]) -> dict[str, list[Grant]]:
        found: dict[str, list[Grant]] = {}
        for grant in grants:
            device = self._devices.get(grant.device_id)
            if device is not None:
                found.setdefault(device.model, []).append(grant)
        return found

    def shortage(self, tenant_id: str, grants: Iterable[Grant]) -> Reason | None:
        """What stands against these grants more for the tenant; None when nothing does."""
        if tenant_id not in self._bounds:
            return None
        for model, own in sorted(self._by_model(grants).items()):
            reason = self.short(tenant_id, model, granted(own))
            if reason is not None:
                return reason
        return None

    def short(self, tenant_id: str, model: str, amount: Triple, *, empty: bool = False) -> Reason | None:
        """The tenant's quota on a model that `amount` more would exceed; None where none would be.

        `empty`: reckon as if the tenant held nothing on that model.
        """
        bounds = self._bounds.get(tenant_id, {}).get(model)
        if bounds is None:
            return None
        used = [0, 0, 0] if empty else self._used.get((tenant_id, model), [0, 0, 0])
        for i, bound in enumerate(bounds):
            if bound is not None and amount[i] and used[i] + amount[i] > bound:
                params = (
                    ("holder", tenant_id), ("model", model), ("dimension", DIMENSIONS[i]), ("limit", bound),
                    ("used", used[i]), ("asked", amount[i]),
                )  # fmt: skip
                return Reason(ReasonCode.MODEL_QUOTA, params)
        return None

    def left_of(self, tenant_id: str, shape: Shape) -> frozenset[str] | None:
        """Of the models that will do for the shape those with room for a share, or for all that must lie together;
        None where that is all of them, or none."""
        count = shape.shares if shape.single_node else shape.shares_per_replica
        piece = (count * shape.compute_percent, count * shape.memory_mib, count)
        asked = shape.constraint.models or self._models
        left = frozenset(model for model in asked if self.short(tenant_id, model, piece) is None)
        return left if left and left != asked else None

    def others(self, shape: Shape, model: str) -> frozenset[str]:
        """The models that will do for the shape but for this one."""
        return (shape.constraint.models or self._models) - {model}


def within_models(
    quotas: ModelQuotas,
    placer: Placer,
    shapes: Shapes,
    tenant_id: str,
    plain: Shape,
    shape: Shape,
    view: View,
    seq: int,
) -> tuple[Grant, ...] | Reason | None:
    """Take devices for the shape within the tenant's quotas of models. The reason where it is these that leave too
    few; None where there are too few devices anyhow.

    `plain`: the shape as it was asked for; `shape`: on the models that have room for a part of it.
    """
    short: Reason | None = None
    grants = placer.take(shape, view, seq)
    while grants is not None:
        short = quotas.shortage(tenant_id, grants)
        if short is None:
            return grants
        placer.undo(grants, view)
        others = quotas.others(shape, str(dict(short.params)["model"]))
        if not others:
            return short
        shape = shapes.of_models(shape, others)
        grants = placer.take(shape, view, seq)
    if short is not None or shape is plain:
        return short
    found = placer.take(plain, view, seq)
    if found is None:
        return None
    placer.undo(found, view)
    return quotas.shortage(tenant_id, found)
