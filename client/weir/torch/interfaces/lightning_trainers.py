"""Lightning's Trainer and Fabric choose among a list of accelerators: this device joins it, and `auto` and `gpu` find
it. One share is used unless more are asked for."""

from __future__ import annotations

from typing import Any

import torch

from weir.torch import devices
from weir.torch.interfaces import imports

NAME = "weir"
TRAINERS = tuple(
    f"{package}.trainer.connectors.accelerator_connector"
    for package in ("lightning.pytorch", "pytorch_lightning")
)
FABRICS = ("lightning.fabric.connector", "lightning_fabric.connector")


class _Shares:
    """What both kinds of accelerator of Lightning are asked."""

    def setup_device(self, device: torch.device) -> None:
        devices.set_current(device)

    def teardown(self) -> None:
        """Nothing: a session keeps no cache."""

    def get_device_stats(self, device: Any) -> dict[str, Any]:
        place = devices.get(device)
        return {"allocated_bytes": place.memory_allocated(), "peak_bytes": place.peak_bytes}

    @staticmethod
    def parse_devices(asked: Any) -> list[int]:
        """The indices of the shares that `devices=` means. Raises ValueError where there are not so many."""
        if isinstance(asked, str):
            asked = [int(part) for part in asked.split(",")] if "," in asked else int(asked)
        found = (
            list(range(asked if asked >= 0 else devices.count())) if isinstance(asked, int) else list(asked)
        )
        if not found or max(found) >= devices.count():
            raise ValueError(
                f"devices={asked!r}: this process has {devices.count()} shares of the device weir"
            )
        return found

    @staticmethod
    def get_parallel_devices(indices: list[int]) -> list[torch.device]:
        return [torch.device(NAME, index) for index in indices]

    @staticmethod
    def auto_device_count() -> int:
        return 1

    @staticmethod
    def is_available() -> bool:
        return devices.count() > 0

    @staticmethod
    def name() -> str:
        return NAME


def _is_ours(connector: Any) -> bool:
    return connector._accelerator_flag == NAME or isinstance(connector._accelerator_flag, _Shares)


def _change(module: Any, connector: Any, registry: Any) -> None:
    registry.register(NAME, type("WeirAccelerator", (_Shares, module.Accelerator), {}), description="a share")
    plain = {name: getattr(connector, name) for name in ("_choose_strategy", "_check_and_init_precision")}

    def choosing(name: str) -> Any:
        otherwise = getattr(connector, name)
        return staticmethod(lambda: NAME if devices.count() else otherwise())

    def _choose_strategy(self: Any) -> Any:
        if _is_ours(self) and len(self._parallel_devices) == 1 and self._num_nodes_flag == 1:
            return module.SingleDeviceStrategy(device=self._parallel_devices[0])
        return plain["_choose_strategy"](self)

    def _check_and_init_precision(self: Any) -> Any:
        found = plain["_check_and_init_precision"](self)
        if _is_ours(self) and isinstance(found, module.MixedPrecision):
            found.device = NAME
            if found.scaler is not None:
                found.scaler = torch.amp.GradScaler(NAME)
        return found

    for name in ("_choose_auto_accelerator", "_choose_gpu_accelerator_backend"):
        setattr(connector, name, choosing(name))
    connector._choose_strategy = _choose_strategy
    connector._check_and_init_precision = _check_and_init_precision


def register() -> None:
    for name in TRAINERS:
        imports.when_imported(name, lambda it: _change(it, it._AcceleratorConnector, it.AcceleratorRegistry))
    for name in FABRICS:
        imports.when_imported(name, lambda it: _change(it, it._Connector, it.ACCELERATOR_REGISTRY))
