"""The one order in which slices are locked, so that those who wait for each other never wait in a circle."""

from django.db.models import Q, QuerySet

from apps.fleet.models import Slice


def slices_lock(wanted: Q, *, ending: Q | None = None) -> QuerySet[Slice]:
    """The slices of `wanted`, locked in the order of their keys.

    Those that match `ending` may end now, and who hears of that may stop their workload's other slices: these are
    locked too, and returned with the rest.
    """
    if ending is not None:
        wanted |= Q(workload_uid__in=Slice.plain.filter(ending).values("workload_uid"), closed_at=None)
    rows = Slice.plain.filter(wanted).select_related("device", "node", "tenant")
    return rows.select_for_update(no_key=True, of=("self",)).order_by("pk")
