"""Nodes whose clock is wrong: their times are corrected, so that nothing they vouch for is lost.

Internal to the app's services.
"""

from datetime import datetime, timedelta

from apps.fleet.models import Node

# Less than this is left as it is: it costs nobody anything, and correcting it would make seconds overlap.
OFFSET_MAX_S = 60
# A clock that drifts is followed in steps no smaller than this.
_STEP_S = 30


def clock_correct(node: Node, at: datetime) -> datetime:
    """An instant by the node's clock as an instant by ours."""
    return at - timedelta(seconds=node.clock_shift_s)


def clock_follow(node: Node) -> bool:
    """Decide from the offset just measured what the node's times are corrected by, in memory; whether that changed."""
    wanted = round(node.clock_offset_s) if abs(node.clock_offset_s) > OFFSET_MAX_S else 0
    is_near = bool(wanted) == bool(node.clock_shift_s) and abs(wanted - node.clock_shift_s) <= _STEP_S
    if is_near:
        return False
    node.clock_shift_s = wanted
    return True
