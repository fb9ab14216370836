"""Telling the shares of work that has several which of them they are, and where they meet."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from apps.fleet.models import GangSize, Node, Slice
from apps.kernel.actor import Actor
from apps.kernel.service import service

Places = dict[str, dict[str, Any]]
"""By slice its `share`, the `shares` there are, how many are a replica, where they meet, and the `step` at which it is
told so (see `DesiredSize`)."""

MEETING_PORTS = range(20_000, 32_000)
"""Where gangs meet: below what Linux gives to connections by itself."""
_HERE = "127.0.0.1"


def meeting_places(gangs: Sequence[Sequence[Slice]]) -> list[dict[str, Any]]:
    """Of each gang, its slices in the order of its shares: where its members find its first one. A gang that stands on
    one node meets there and is not seen from outside.

    The port follows from the first slice's key, so that two gangs on a node have the same one only if twelve thousand
    slices were made between them.
    """
    afar = {slices[0].node_id for slices in gangs if len({each.node_id for each in slices}) > 1}
    nodes = {node.pk: node for node in Node.objects.filter(pk__in=afar)} if afar else {}
    return [
        {
            "master_addr": _HERE
            if len({each.node_id for each in slices}) == 1
            else nodes[slices[0].node_id].address or nodes[slices[0].node_id].name,
            "master_port": MEETING_PORTS[slices[0].pk % len(MEETING_PORTS)],
        }
        for slices in gangs
    ]


@service(recorded=False)
def gang_sizes_tell(*, actor: Actor, places: Mapping[UUID, Places]) -> None:
    """Let the nodes tell the slices of each workload their places, from their next sync on (ELA-906). Slices that are
    not named are told nothing more."""
    GangSize.objects.bulk_create(
        [GangSize(workload_uid=uid, places=each) for uid, each in places.items()],
        update_conflicts=True,
        unique_fields=["workload_uid"],
        update_fields=["places"],
    )


@service(recorded=False)
def gang_sizes_forget(*, actor: Actor, pks: Sequence[int]) -> int:
    """Forget the sizes of work that has ended; how many there were."""
    return GangSize.objects.filter(pk__in=pks).delete()[0]
