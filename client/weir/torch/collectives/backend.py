"""The backend "weir" of torch.distributed: its groups reduce between the sessions; tensors of the CPU go by gloo."""

from __future__ import annotations

import _thread
import weakref
from typing import Any

import torch
from torch.distributed import Backend, distributed_c10d

from weir.torch.collectives.group import Group

_c10d: Any = torch._C._distributed_c10d
_groups: dict[str, Group] = {}


def _create(options: Any, _more: Any) -> Any:
    """What torch.distributed calls for a new group. The sessions meet when the group first needs them."""
    _groups[str(options.group_id)] = Group(
        options.store, options.group_rank, options.group_size, options.timeout
    )
    # It carries tensors of the CPU; those of the device never come so far, and it would refuse them.
    store = distributed_c10d.PrefixStore("cpu", options.store)
    return distributed_c10d.ProcessGroupGloo(
        store, options.group_rank, options.group_size, timeout=options.timeout
    )


def group_of(args: tuple[Any, ...]) -> Group | None:
    """The group that an operator of c10d is called with, where its tensors on the device go from session to session."""
    for value in args:
        if isinstance(value, torch.ScriptObject) and str(value._type()).endswith(".ProcessGroup"):
            made = _c10d.ProcessGroup.unbox(value)
            if "weir:weir" not in distributed_c10d._world.pg_backend_config.get(made, "").split(","):
                return None
            group = _groups[str(made.group_name)]
            if not group.is_known:
                group.is_known = True
                _known(made, group)
            return group
    return None


def _known(made: Any, group: Group) -> None:
    """Before the sessions of a group first meet."""
    if ":" in distributed_c10d._world.pg_map[made][0]:
        # torch.distributed looks for a group's main backend among the built in ones alone, and warns that it has none.
        made._set_default_backend(_c10d.ProcessGroup.BackendType.CUSTOM)
    # In a thread of its own: what is collected may be so while this one records an operator.
    end = weakref.finalize(made, _thread.start_new_thread, group.leave, ())
    end.atexit = False


class _Config(distributed_c10d.BackendConfig):
    """Without a word on the backend, tensors of the CPU are taken as well."""

    def __init__(self, backend: Any) -> None:
        super().__init__(backend)
        if self.device_backend_map == {"weir": "weir"} and ":" not in str(backend):
            self.device_backend_map = {"cpu": Backend("gloo"), "weir": Backend("weir")}


def register() -> None:
    """Make it the device's own, chosen where a script names none."""
    Backend.register_backend("weir", _create, extended_api=True, devices=["weir"])
    Backend.backend_capability["weir"] = ["cpu", "weir"]
    distributed_c10d.BackendConfig = _Config  # type: ignore[misc]
