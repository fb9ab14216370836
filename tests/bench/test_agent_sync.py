"""What a node's message costs the portal when the node has nothing new: every node sends one each second."""

import time
from collections.abc import Callable

from tests.factories.node import SpokenNode

ROUNDS, EACH = 8, 25
# Signed in by a token, asked who one is: the cheapest thing that the API answers from the database.
MOST = 2.0


def _best_s(ask: Callable[[], object]) -> float:
    """Seconds of this thread's processor time for one call, the best of some rounds."""
    times = []
    for _round in range(ROUNDS):
        began_s = time.thread_time()
        for _one in range(EACH):
            ask()
        times.append((time.thread_time() - began_s) / EACH)
    return min(times)


def test_a_message_of_an_idle_node_costs_little_more_than_the_cheapest_request(db, operator):
    node, api = SpokenNode(devices=8), operator("system_administrator").api()
    idle_s, cheapest_s = _best_s(node.sync), _best_s(lambda: api.get("/api/v1/auth/me"))
    print(
        f"idle message {idle_s * 1000:.1f} ms, auth/me {cheapest_s * 1000:.1f} ms: {idle_s / cheapest_s:.2f} x"
    )
    assert idle_s < MOST * cheapest_s
