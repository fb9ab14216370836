"""Volcano's queues read as ours (ELA-1703): what ours cannot keep as it is meant is refused, not bent."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _
from pydantic import ValidationError

from apps.scheduling.queue_config.schema import (
    Entry,
    Fault,
    QueueFile,
    QueueIn,
    checked,
    entry_of,
    file_refusal,
    once_check,
)
from apps.scheduling.queue_config.volcano import CARDS, CORES, MEMORY, SETTINGS, Quantity, Spec, VolcanoQueue
from apps.scheduling.queue_config.yaml_lines import Document

ROOT = "root"
"""The queue at the top of a cluster's tree: ours has none."""
_UNITS = {"": 1, "k": 10**3, "M": 10**6, "Ki": 2**10, "Mi": 2**20}
_QUANTITY = re.compile(r"([0-9]{1,12})(k|M|Ki|Mi)?")


def is_volcano(value: Any) -> bool:
    """Whether a document is a manifest of a queue, or a list of such."""
    return isinstance(value, dict) and value.get("kind") in ("Queue", "QueueList", "List")


def volcano_read(documents: Sequence[Document]) -> QueueFile:
    """The queues of these manifests. Raises InvalidQueueFile; notes what ours have no use for."""
    read = [(checked(VolcanoQueue, each), each) for document in documents for each in _items(document)]
    read = [(row, at) for row, at in read if row.metadata.name != ROOT]
    codes = {row.metadata.name: str(_own(row, at).get("name", row.metadata.name)) for row, at in read}
    entries = [_entry(row, at, codes) for row, at in read]
    once_check(entries)
    notes = [f"{row.metadata.name}: {note}" for row, _at in read for note in _notes(row)]
    return QueueFile(tuple(entries), None, tuple(notes))


def _items(document: Document) -> list[Document]:
    if document.value.get("kind") == "Queue":
        return [document]
    items = document.value.get("items")
    return [document.under("items", at) for at in range(len(items) if isinstance(items, list) else 0)]


def _own(row: VolcanoQueue, at: Document) -> dict[str, Any]:
    """Our own settings that went along."""
    try:
        found = json.loads(row.metadata.annotations.get(SETTINGS, "{}"), parse_float=Decimal)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        cause = _("The annotation %(name)s is no group of settings.") % {"name": SETTINGS}
        raise file_refusal(
            [Fault(at.line_of(("metadata", "annotations", SETTINGS)), cause, _("Take it away."))]
        )
    return found


def _entry(row: VolcanoQueue, at: Document, codes: Mapping[str, str]) -> Entry:
    spec, own = row.spec, _own(row, at)
    bounds = _bounds(spec, at)
    _reclaimable_check(spec, bounds, at)
    found = {**own, **bounds, **_group(spec, at), "name": codes[row.metadata.name], "weight": spec.weight}
    found["parent"] = None if spec.parent in (None, ROOT) else codes.get(spec.parent, spec.parent)
    if "priority" in spec.model_fields_set:
        found["priority"] = spec.priority
    try:
        return replace(entry_of(QueueIn.model_validate(found), at), lines=_lines(at))
    except ValidationError as error:
        first = error.errors()[0]
        cause = _("%(name)s cannot be so: %(why)s.") % {
            "name": ".".join(map(str, first["loc"])),
            "why": first["msg"],
        }
        raise file_refusal([Fault(at.line_of(("spec", first["loc"][0])), cause, _("Correct it."))]) from error


def _lines(at: Document) -> dict[str, int]:
    """Where the manifest says what our settings are made of."""
    return {name: at.lines["spec", place] for name, place in _PLACES.items() if ("spec", place) in at.lines}


_PLACES = {
    "weight": "weight", "maxCapacity": "capability", "borrowCapacity": "capability", "parent": "parent",
    "guaranteedCapacity": "guarantee", "maxMemoryMiB": "capability", "borrowMemoryMiB": "capability",
    "guaranteedMemoryMiB": "guarantee", "resourceGroup": "affinity", "priority": "priority",
}  # fmt: skip


def _bounds(spec: Spec, at: Document) -> dict[str, Any]:
    """Capability is the hard bound, deserved what of it is the queue's own, guarantee its guarantee (ELA-1705)."""
    most, most_mib = _cards(spec.capability, at, "capability"), _mib(spec.capability, at, "capability")
    own, own_mib = _cards(spec.deserved, at, "deserved"), _mib(spec.deserved, at, "deserved")
    kept, kept_mib = (
        _cards(spec.guarantee.resource, at, "guarantee"),
        _mib(spec.guarantee.resource, at, "guarantee"),
    )
    own = most if own is None or most is None else min(own, most)
    own_mib = most_mib if own_mib is None or most_mib is None else min(own_mib, most_mib)
    return {
        "maxCapacity": own,
        "onlyBorrows": own == 0,
        "borrowCapacity": Decimal(0) if own is None or most is None else most - own,
        "guaranteedCapacity": kept or Decimal(0),
        "maxMemoryMiB": own_mib,
        "borrowMemoryMiB": 0 if own_mib is None or most_mib is None else most_mib - own_mib,
        "guaranteedMemoryMiB": kept_mib or 0,
    }


def _cards(amounts: Mapping[str, Quantity], at: Document, place: str) -> Decimal | None:
    named = [name for name in (*CARDS, CORES) if name in amounts]
    if len(named) > 1:
        cause = _("%(names)s are bounded apart; our queues count cards, whatever their kind.")
        cure = _("Make a queue for each kind, each with its own node group.")
        raise _fault(at, place, cause % {"names": ", ".join(named)}, cure)
    if not named:
        return None
    number = _number(amounts[named[0]], at, place)
    return Decimal(number) / 100 if named[0] == CORES else Decimal(number)


def _mib(amounts: Mapping[str, Quantity], at: Document, place: str) -> int | None:
    return _number(amounts[MEMORY], at, place) if MEMORY in amounts else None


def _number(quantity: Quantity, at: Document, place: str) -> int:
    match = _QUANTITY.fullmatch(str(quantity))
    if match is None:
        cause = _("%(given)s is no whole number of cards or MiB.") % {"given": quantity}
        raise _fault(at, place, cause, _("Write a whole number."))
    return int(match[1]) * _UNITS[match[2] or ""]


def _fault(at: Document, place: str, cause: str, cure: str) -> Exception:
    return file_refusal([Fault(at.line_of(("spec", place)), cause, cure)])


def _group(spec: Spec, at: Document) -> dict[str, str]:
    """The node group that serves it. Those it is kept away from never serve it: a group serves its queues alone."""
    towards, away = spec.affinity.towards.hard, spec.affinity.away.hard
    if len(towards) > 1 or set(towards) & set(away):
        cause = _("A queue is served by one node group, and not by one that it is kept away from.")
        raise _fault(at, "affinity", cause, _("Name one under nodeGroupAffinity."))
    return {"resourceGroup": towards[0] if towards else ""} if towards or away else {}


def _reclaimable_check(spec: Spec, bounds: Mapping[str, Any], at: Document) -> None:
    """Guarantees can always be had here (ELA-604): what a queue borrowed of others' is never its own."""
    most, kept = bounds["maxCapacity"], bounds["guaranteedCapacity"]
    if spec.reclaimable or (most is not None and most + bounds["borrowCapacity"] <= kept):
        return
    cause = _("What it uses beyond its guarantee is taken back when the guarantees of others are asked for.")
    raise _fault(
        at, "reclaimable", cause, _("Make it reclaimable, or its capability no more than its guarantee.")
    )


def _notes(row: VolcanoQueue) -> list[str]:
    """What a manifest says and our queues have no use for."""
    spec, found = row.spec, []
    amounts = {*spec.capability, *spec.deserved, *spec.guarantee.resource}
    beside = sorted(amounts - {*CARDS, CORES, MEMORY})
    if beside:
        found.append(_("not bounded here: %(names)s") % {"names": ", ".join(beside)})
    if spec.affinity.towards.soft or spec.affinity.away.soft:
        found.append(_("preferred node groups are not kept"))
    if spec.clusters:
        found.append(_("extendClusters is not kept"))
    if "state" in spec.model_fields_set:
        found.append(_("spec.state is not read: state is observed, and opening and closing are commands"))
    if row.status.state in ("Closed", "Closing"):
        found.append(_("it is %(state)s there: close it here too, if so meant") % {"state": row.status.state})
    return found
