"""What a terminal and the portal tell each other about a process beside running work, over a WebSocket at `PATH`.

The first message is text: a `Hello` as JSON. All others are binary: a byte that names the channel, then what it
carries. On `STDIN`, `STDOUT` and `STDERR` these are bytes as they are (none: nothing, said to see whether the other is
there); on `RESIZE` {"rows": …, "columns": …}, on `SIGNAL` {"name": "INT"}, on `ENDED`, the portal's last, {"code": …,
"status": …, "detail": …}.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TypedDict

PATH = "/ws/exec"
# Of one message at most.
PAYLOAD_BYTES = 32 * 1024


class Channel(IntEnum):
    """What a message carries; Kubernetes' numbers where it has the same."""

    STDIN, STDOUT, STDERR, ENDED, RESIZE, SIGNAL, CLOSE_STDIN = 0, 1, 2, 3, 4, 5, 255


class Hello(TypedDict, total=False):
    """The ticket or key that allows it, and of a terminal its size and kind."""

    ticket: str
    rows: int
    columns: int
    term: str
