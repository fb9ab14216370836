"""Telling the shares of elastic work, and of work of replicas, how many they are."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from apps.fleet.models import GangSize
from apps.kernel.actor import Actor
from apps.kernel.service import service

Places = dict[str, dict[str, int]]
"""By slice its `share`, the `shares` there are, how many are a replica, and the `step` at which it is told so (see
`DesiredSize`)."""


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
