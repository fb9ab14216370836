"""Queues of Volcano (scheduling.volcano.sh/v1beta1): their shape, and how they are made of ours (ELA-1703 to 1705).

What Volcano has no word for goes along in one annotation, so that our own manifest reads back to the same. State is
observed: it stands in the status, never in the spec; a queue is opened and closed by command.
"""

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field

from apps.scheduling.engine.model.types import QueueState
from apps.scheduling.queue_config.schema import Strict

API_VERSION = "scheduling.volcano.sh/v1beta1"
NVIDIA = "nvidia.com/gpu"
CARDS = (
    NVIDIA,
    "amd.com/gpu",
    "huawei.com/Ascend910",
    "huawei.com/Ascend310",
    "habana.ai/gaudi",
    "google.com/tpu",
)
CORES, MEMORY = "volcano.sh/vgpu-cores", "volcano.sh/vgpu-memory"
SETTINGS = "scheduling.weir/settings"
HARD = "requiredDuringSchedulingIgnoredDuringExecution"
Quantity = (
    Annotated[str, Field(pattern=r"^[+-]?[0-9.]+([eE][+-]?[0-9]+|[munkMGTPE]|[KMGTPE]i)?$", max_length=32)]
    | int
)
Amounts = dict[Annotated[str, Field(pattern=r"^([-a-z0-9.]{1,253}/)?[-A-Za-z0-9_.]{1,63}$")], Quantity]
Name = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$")]
Groups = list[Annotated[str, Field(min_length=1, max_length=63)]]


class Loose(BaseModel):
    """What a cluster adds of its own is left aside."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


class Meta(Loose):
    name: Name
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class Terms(Strict):
    hard: Annotated[Groups, Field(alias=HARD)] = []
    soft: Annotated[Groups, Field(alias="preferredDuringSchedulingIgnoredDuringExecution")] = []


class Affinity(Strict):
    towards: Annotated[Terms, Field(alias="nodeGroupAffinity")] = Terms()
    away: Annotated[Terms, Field(alias="nodeGroupAntiAffinity")] = Terms()


class Guarantee(Strict):
    resource: Amounts = {}


class Spec(Strict):
    """`state` is read for old manifests' sake, and never written."""

    weight: Annotated[int, Field(ge=1, le=65_535)] = 1
    capability: Amounts = {}
    deserved: Amounts = {}
    guarantee: Guarantee = Guarantee()
    reclaimable: bool = True
    affinity: Affinity = Affinity()
    parent: Name | None = None
    priority: Annotated[int, Field(ge=0)] = 0
    type: str = ""
    dequeue: Annotated[Literal["fifo", "traverse"], Field(alias="dequeueStrategy")] = "traverse"
    clusters: Annotated[list[dict[str, Any]], Field(alias="extendClusters")] = []
    state: Literal["Open", "Closed", "Closing", "Unknown", ""] = ""


class Status(Loose):
    state: Literal["Open", "Closed", "Closing", "Unknown", ""] = ""


class VolcanoQueue(Strict):
    """A manifest, or what a cluster answers."""

    api_version: Annotated[Literal["scheduling.volcano.sh/v1beta1"], Field(alias="apiVersion")]
    kind: Literal["Queue"]
    metadata: Meta
    spec: Spec = Spec()
    status: Status = Status()


# --- ours as theirs ----------------------------------------------------------------------------------------------


def state_of(state: str, open_work: int) -> str:
    """Volcano's word for the state of a queue with so much open work. DOWN takes work and starts none: it has no word
    for that."""
    if state == QueueState.UP.value:
        return "Open"
    if state == QueueState.DOWN.value:
        return "Unknown"
    return "Closing" if open_work else "Closed"


def manifest(
    queue: Mapping[str, Any], groups: Sequence[str] = (), *, resource: str = NVIDIA
) -> dict[str, Any]:
    """The manifest of a queue in the words of the file: its hard bound to capability, of which its own to deserved,
    guarantee to guarantee, weight to weight. `groups`: all resource groups; a queue of no group uses none of them."""
    own = 0 if queue["onlyBorrows"] else queue["maxCapacity"]
    own_mib = queue["maxMemoryMiB"]
    spec: dict[str, Any] = {
        "weight": queue["weight"],
        "capability": _amounts(_sum(own, queue["borrowCapacity"]), _sum(own_mib, queue["borrowMemoryMiB"]), resource),
        "guarantee": {"resource": _amounts(queue["guaranteedCapacity"] or None, queue["guaranteedMemoryMiB"] or None,
                                           resource)},
        "reclaimable": True,
        "affinity": _affinity(queue["resourceGroup"], groups),
    }  # fmt: skip
    if queue["borrowCapacity"] or queue["borrowMemoryMiB"]:
        spec["deserved"] = _amounts(own, own_mib, resource)
    if queue["parent"]:
        spec["parent"] = name_of(queue["parent"])
    if queue["priority"] > 0:
        spec["priority"] = queue["priority"]
    if not spec["guarantee"]["resource"]:
        del spec["guarantee"]
    settings = {name: value for name, value in queue.items() if name not in _MAPPED}
    if queue["priority"] < 0:
        settings["priority"] = queue["priority"]
    meta = {
        "name": name_of(queue["name"]),
        "annotations": {SETTINGS: json.dumps(settings, ensure_ascii=False)},
    }
    written = {name: value for name, value in spec.items() if value != {}}
    return {"apiVersion": API_VERSION, "kind": "Queue", "metadata": meta, "spec": written}


def manifests_text(
    queues: Sequence[tuple[Mapping[str, Any], str]], groups: Sequence[str], resource: str
) -> str:
    """A document for each queue with the state that is observed of it."""
    made = [
        manifest(queue, groups, resource=resource) | {"status": {"state": state}} for queue, state in queues
    ]
    return yaml.safe_dump_all(made, sort_keys=False, allow_unicode=True, width=110)


def name_of(code: str) -> str:
    """What a cluster may call the queue: lower case, no underscores."""
    return code.lower().replace("_", "-").strip("-")


# What the spec says: it need not be said twice.
_MAPPED = frozenset({
    "weight", "maxCapacity", "borrowCapacity", "onlyBorrows", "guaranteedCapacity", "parent", "resourceGroup",
    "maxMemoryMiB", "borrowMemoryMiB", "guaranteedMemoryMiB", "priority",
})  # fmt: skip


def _sum(own: float | None, borrowed: float) -> Decimal | None:
    return None if own is None else Decimal(str(own)) + Decimal(str(borrowed))


def _amounts(cards: Decimal | float | None, mib: Decimal | int | None, resource: str) -> dict[str, int]:
    """Whole cards by the cards' own name; parts of cards by Volcano's, 100 being one."""
    found: dict[str, int] = {}
    if cards is not None:
        percent = int(Decimal(str(cards)) * 100)
        found |= {CORES: percent} if percent % 100 else {resource: percent // 100}
    return found | ({} if mib is None else {MEMORY: int(mib)})


def _affinity(group: str, groups: Sequence[str]) -> dict[str, Any]:
    """Devices of a group serve its queues alone: a queue is told towards its own, and away from the others."""
    others = sorted(set(groups) - {group})
    found = {"nodeGroupAffinity": {HARD: [group]}} if group else {}
    return found | ({"nodeGroupAntiAffinity": {HARD: others}} if others else {})
