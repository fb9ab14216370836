"""The one order in which slices are locked, so that those who wait for each other never wait in a circle."""

from collections.abc import Iterable
from uuid import UUID

from django.db.models import Model, Q, QuerySet

from apps.fleet.models import Device, Node, Slice
from apps.fleet.states import MOVING
from apps.kernel.prepared_queries import ArrayParam, Param, PreparedQuery
from apps.tenancy.models import Tenant

_NEAR: dict[str, type[Model]] = {"device": Device, "node": Node, "tenant": Tenant}


def slices_lock(wanted: Q, *, ending: Q | None = None) -> QuerySet[Slice]:
    """The slices of `wanted`, locked in the order of their keys.

    Those that match `ending` may end now, and who hears of that may stop their workload's other slices: these are
    locked too, and returned with the rest.
    """
    return _locked(wanted, ending).select_related(*_NEAR)


def node_slices_lock(node: Node, *, named: Iterable[UUID], ended: Iterable[UUID]) -> list[Slice]:
    """What `slices_lock` gives for a node that speaks: its open slices, those it names, the other ends of moves.

    Args:
        node: whose slices they are.
        named: those it says something of, open or not.
        ended: those it says have ended.
    """
    return _OF_NODE.all(node=node.pk, named=list(named), ended=list(ended))


def _locked(wanted: Q, ending: Q | None) -> QuerySet[Slice]:
    if ending is not None:
        wanted |= Q(workload_uid__in=Slice.plain.filter(ending).values("workload_uid"), closed_at=None)
    return Slice.plain.filter(wanted).select_for_update(no_key=True, of=("self",)).order_by("pk")


def _of_node() -> QuerySet[Slice]:
    node = Param("node")
    moving = Slice.plain.filter(move_state__in=MOVING)
    open_here = Slice.plain.filter(node=node, closed_at=None).values("uid")
    return _locked(
        Q(closed_at=None, node=node)
        | Q(uid=ArrayParam("named"), node=node)
        | Q(pk__in=moving.filter(moves_from__in=open_here).values("pk"))
        | Q(uid__in=moving.filter(node=node).values("moves_from")),
        Q(uid=ArrayParam("ended"), node=node, closed_at=None),
    )


# Asked each second for each node: the SQL is built once.
_OF_NODE = PreparedQuery(
    _of_node,
    fields=(
        *(field.name for field in Slice._meta.concrete_fields),
        *(f"{path}__{field.name}" for path, model in _NEAR.items() for field in model._meta.concrete_fields),
    ),
)
