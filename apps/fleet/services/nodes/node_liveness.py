"""Looking after the pool when nobody speaks: nodes that are silent, what they never bring back, what is to leave."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_noop

from apps.fleet.events import NodeDoubled, NodeLost
from apps.fleet.locks import slices_lock
from apps.fleet.models import Device, Node, Slice, Watch
from apps.fleet.services.nodes.devices import devices_leave
from apps.fleet.services.nodes.membership import nodes_leave
from apps.fleet.services.slices.moves import moves_sweep
from apps.fleet.services.slices.slice_termination import END_FIELDS, ended_tell, slice_close, slices_end_now
from apps.fleet.states import MOVING, NODE, NodeState, SliceState
from apps.fleet.types import Leaving, NodesChecked
from apps.kernel.actor import Actor
from apps.kernel.events import emit
from apps.kernel.service import service

_BATCH = 500
# After so long without a word of it a second agent is taken to be gone.
_DOUBLED_FOR = timedelta(minutes=1)
LOST_REASON = gettext_noop("The node was lost and did not come back in time.")
REQUEUED_REASON = gettext_noop("The node was lost: the work is tried again elsewhere.")


@service(recorded=False)
def nodes_check(*, actor: Actor) -> NodesChecked:
    """Miss the nodes that were silent for `WEIR_NODE_LOST_AFTER_S`, those that change to another release for
    `WEIR_NODE_UPGRADE_S`; give up what they never brought back.

    A lost node's slices keep their state, unvouched, for `WEIR_SLICE_LOST_AFTER_S`; then they are lost and their
    hold is given back; those to be tried again elsewhere are given up at once. A slice that has ended, but whose last
    usage does not come, is closed after that time too.
    """
    now = timezone.now()
    listening_since_at = _watch(now)
    _single_again(actor, now)
    long_ago = now - timedelta(seconds=settings.WEIR_SLICE_LOST_AFTER_S)
    return NodesChecked(
        lost_nodes=_nodes_miss(actor, now, listening_since_at),
        lost_slices=_slices_lose(actor, now, long_ago),
        closed_slices=_slices_give_up(actor, now, long_ago),
    )


@service(recorded=False)
def moves_check(*, actor: Actor) -> int:
    """Look after moves whose nodes are silent, or that take too long; how many are open (POOL-12.23)."""
    return moves_sweep(actor=actor, now=timezone.now())


@service(recorded=False)
def leaving_check(*, actor: Actor) -> Leaving:
    """Let devices and nodes go that are to leave and have nothing running on them any more (POOL-12.25)."""
    return Leaving(
        devices=devices_leave(Device.objects.all(), actor=actor, now=timezone.now()),
        nodes=nodes_leave(Node.objects.all(), actor=actor),
    )


def _watch(now: datetime) -> datetime:
    """Since when nodes have been checked without a long break: after one they get time to be heard again."""
    break_s = timedelta(seconds=max(2 * settings.WEIR_NODE_LOST_AFTER_S, 30))
    row, _is_new = Watch.objects.select_for_update(no_key=True).get_or_create(
        is_only=True, defaults={"checked_at": now, "listening_since_at": now}
    )
    if now - row.checked_at > break_s:
        row.listening_since_at = now
    row.checked_at = now
    row.save()
    return row.listening_since_at


def _single_again(actor: Actor, now: datetime) -> None:
    rows = Node.objects.filter(doubled_at__lt=now - _DOUBLED_FOR)
    for node in rows.select_for_update(no_key=True, skip_locked=True).order_by("pk"):
        Node.objects.filter(pk=node.pk).update(doubled_at=None)
        emit(NodeDoubled(node_uid=node.uid, name=node.name, is_over=True), actor=actor)


def _nodes_miss(actor: Actor, now: datetime, listening_since_at: datetime) -> int:
    silent = now - timedelta(seconds=settings.WEIR_NODE_LOST_AFTER_S)
    if listening_since_at > silent:
        return 0
    rows = Node.objects.filter(state__in=[NodeState.READY, NodeState.DRAINED], last_seen_at__lt=silent)
    locked = rows.select_for_update(no_key=True, skip_locked=True).order_by("pk")
    restarting_since = now - timedelta(seconds=settings.WEIR_NODE_UPGRADE_S)
    nodes = [node for node in locked if not (node.is_upgrading and node.last_seen_at > restarting_since)]
    for node in nodes:
        NODE.move(node, NodeState.LOST, actor=actor, lost_at=now)
        emit(NodeLost(node_uid=node.uid, name=node.name), actor=actor)
    _requeue(actor, now, nodes)
    return len(nodes)


def _requeue(actor: Actor, now: datetime, nodes: list[Node]) -> None:
    """Give up at once what its owner wants tried again elsewhere. The node is told to stop it when it returns."""
    due = Q(node__in=nodes, is_requeued=True, final_at=None) & ~Q(move_state__in=MOVING)
    slices = _batch_locked(due)
    slices_end_now(slices, SliceState.LOST, actor=actor, now=now, reason_code="lost", reason=REQUEUED_REASON)


def _slices_lose(actor: Actor, now: datetime, long_ago: datetime) -> int:
    # The node's row is the lock against its return; then the slices, as everywhere.
    # A node may be removed at the moment a slice is wanted on it: nobody would ever hear of that one.
    gone = Node.objects.filter(Q(state=NodeState.LOST, lost_at__lt=long_ago) | Q(state=NodeState.REMOVED))
    nodes = list(
        gone.select_for_update(no_key=True, skip_locked=True).order_by("pk").values_list("pk", flat=True)
    )
    slices = _batch_locked(Q(node__in=nodes, final_at=None))
    slices_end_now(slices, SliceState.LOST, actor=actor, now=now, reason_code="lost", reason=LOST_REASON)
    return len(slices)


def _slices_give_up(actor: Actor, now: datetime, long_ago: datetime) -> int:
    slices = _batch_locked(Q(closed_at=None, final_at__lt=long_ago))
    for row in slices:
        slice_close(row, now=now, is_given_up=True)
    Slice.plain.bulk_update(slices, END_FIELDS)
    ended_tell(slices, actor=actor)
    return len(slices)


def _batch_locked(due: Q) -> list[Slice]:
    """Some of the slices that are due, locked; those that were no more when their lock was had are left out."""
    pks = set(Slice.plain.filter(due).order_by("pk").values_list("pk", flat=True)[:_BATCH])
    if not pks:
        return []
    mine = Q(pk__in=pks) & due
    return [row for row in slices_lock(mine, ending=mine) if row.pk in pks]
