"""The pool's devices as a computing network counts accelerators: GPU, NPU, MLU, and what is none of these."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from django.utils.translation import gettext as _

from apps.centers.adapters.base import CenterRefused, Quantities
from apps.fleet.models import Device
from apps.fleet.selectors import device_list
from apps.fleet.states import Health

ACCELERATORS = ("gpu", "npu", "mlu", "user_define")
_GPU = dict.fromkeys(("nvidia", "amd", "hygon", "iluvatar", "metax", "mthreads", "biren"), "gpu")
_OF_VENDOR = {**_GPU, "ascend": "npu", "cambricon": "mlu"}


@dataclass(frozen=True, slots=True)
class Card:
    """What accelerator a job gets, as a whole. `is_sliced`: a card that gives shares."""

    vendor: str
    model: str
    memory_mib: int
    is_sliced: bool


def kind_of(vendor: str) -> str:
    """As what a vendor's devices are counted; CPUs that are offered as accelerators, too, are the user's own."""
    return _OF_VENDOR.get(vendor, "user_define")


def devices_offered() -> list[Device]:
    """The devices that a job of the network may get: in service, set apart for nobody, and free to be given whole."""
    rows = device_list().filter(
        is_enabled=True, is_leaving=False, missing_at=None, health=Health.OK, group=None, slice_sizes=[]
    )
    return [row for row in rows if row.node.is_ready]


def is_held(device: Device) -> bool:
    """Whether anything of it is held, so that it cannot be given as a whole now."""
    return device.whole_held or device.held_percent > 0


def accelerator_counts(devices: Iterable[Device]) -> dict[str, int]:
    """How many there are of each, by the names of `Quantities`."""
    return dict(Counter(kind_of(device.vendor) for device in devices))


def card_for(asked: Quantities) -> Card | None:
    """Which card a job of these amounts gets; None where it asks for none. Of the model of which the most are free now.

    Raises CenterRefused for more than one: a share of the pool is on one device, and work with several shares runs its
    command once in each, which a job must not. Raises it for a kind of which the pool has none.
    """
    wanted = {name: getattr(asked, name) for name in ACCELERATORS if getattr(asked, name)}
    if not wanted:
        return None
    if sum(wanted.values()) > 1:
        raise CenterRefused(
            _(
                "A job in this pool has one accelerator at most: with %(count)s its command would run as many times."
            )
            % {"count": sum(wanted.values())}
        )
    [kind] = wanted
    groups: dict[tuple[str, str, bool], list[Device]] = defaultdict(list)
    for device in devices_offered():
        if kind_of(device.vendor) == kind:
            groups[device.vendor, device.model, device.is_sliced].append(device)
    if not groups:
        named = kind.upper() if kind != "user_define" else _("other accelerator")
        raise CenterRefused(_("This pool has no %(kind)s to give as a whole.") % {"kind": named})
    vendor, model, is_sliced = max(
        sorted(groups), key=lambda named: (_free(groups[named]), len(groups[named]))
    )
    memory_mib = min(row.memory_mib for row in groups[vendor, model, is_sliced])
    return Card(vendor, model, memory_mib, is_sliced)


def _free(devices: Iterable[Device]) -> int:
    return sum(not is_held(device) for device in devices)
