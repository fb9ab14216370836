"""A process beside running work, as a program here has it: bytes both ways, and how it ended."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from weir.api import Client
from weir.errors import Unreachable, WeirClientError
from weir_wire.execution import PAYLOAD_BYTES, Channel

if TYPE_CHECKING:
    from weir.api_types import WorkloadExecOut

NOT_FOUND, CANNOT_RUN, NO_CONNECTION = 127, 126, 255
_MESSAGE_BYTES = 1024 * 1024
_OPEN_S = 30.0
# What is said of an end that is no exit, and what to do.
_ENDS = {
    "work_ended": ("The work has ended.", ""),
    "over": ("The work does not run any more, or moves to another node.", "Look at it with `weir resource`."),
    "not_found": ("There is no such program there.", "Give its path, or `sh -c …` for words of the shell."),
    "cannot_run": ("That program cannot be run.", "Look at its permissions."),
    "too_many": ("As many as may run beside one work run beside it already.", "End some of them."),
    "not_supported": ("This work was started before terminals were built in.", "Start it again."),
    "nobody_listens": (
        "Nothing of the work's listens on that port.",
        "Let it listen on 127.0.0.1.",
    ),
    "closed": ("You may not have this connection any more.", "Sign in again with `weir login`."),
    "refused": ("The ticket does not hold any more.", "Try again."),
    "away": ("The node of the work is not connected.", "Try again in a moment."),
    "unknown": ("Its node does not run this work.", "Try again in a moment."),
    "busy": ("There are too many connections now.", "Try again in a moment."),
}
_CODES = {"not_found": NOT_FOUND, "cannot_run": CANNOT_RUN}


@dataclass(frozen=True, slots=True)
class Ended:
    """How it ended: by itself with a `status`, or because of a `code`."""

    code: str
    status: int | None = None
    detail: str = ""

    @property
    def exit_code(self) -> int:
        """What the command that waits for it ends with: its own status, else one of the shell's or of ssh's."""
        return self.status if self.status is not None else _CODES.get(self.code, NO_CONNECTION)

    def check(self) -> None:
        """Raise WeirClientError where it did not end by itself."""
        if self.code != "exited":
            message, cure = _ENDS.get(self.code, (f"The connection broke off ({self.code}).", "Try again."))
            raise WeirClientError(f"{message} ({self.detail})" if self.detail else message, cure)


class Execution:
    """A process beside running work, or a connection to one of its ports.

    Args:
        client: who asks.
        opened: the API's answer with the ticket or key.
        rows, columns, term: of a terminal.
    """

    def __init__(
        self, client: Client, opened: WorkloadExecOut, *, rows: int = 24, columns: int = 80, term: str = ""
    ) -> None:
        # Loaded when something is run: other commands do not wait for it.
        import httpx
        from websockets.exceptions import WebSocketException
        from websockets.sync.client import connect

        hello: dict[str, Any] = {"ticket": opened["ticket"], "rows": rows, "columns": columns}
        address = client.url.replace("http", "ws", 1) + opened["path"]
        # The same authorities are believed as for every other call.
        trusted = httpx.create_ssl_context() if address.startswith("wss:") else None
        self._open = ExitStack()
        try:
            self._socket = self._open.enter_context(
                connect(
                    address,
                    ssl=trusted,
                    compression=None,
                    max_size=_MESSAGE_BYTES,
                    open_timeout=_OPEN_S,
                    close_timeout=2,
                )
            )
            self._socket.send(json.dumps({**hello, "term": term} if term else hello))
        except (OSError, WebSocketException) as error:
            self._open.close()
            raise Unreachable(f"{address} cannot be reached: {error}.", "Try again in a moment.") from error
        self.ended: Ended | None = None

    def output(self) -> Iterator[tuple[int, bytes]]:
        """What it says, by channel, until it has ended; `ended` tells how."""
        from websockets.exceptions import WebSocketException

        try:
            for message in self._socket:
                channel, payload = message[0], message[1:]
                if channel == Channel.ENDED:
                    self.ended = Ended(**json.loads(payload))
                    return
                if payload and isinstance(payload, bytes):
                    yield int(channel), payload
        except (OSError, WebSocketException):
            pass
        self.ended = Ended("broken")

    def send(self, data: bytes) -> None:
        """Bring it input. Raises OSError where it is over."""
        for start in range(0, len(data), PAYLOAD_BYTES):
            self._tell(Channel.STDIN, data[start : start + PAYLOAD_BYTES])

    def close_input(self) -> None:
        """It reads to the end."""
        self._tell(Channel.CLOSE_STDIN, b"")

    def resize(self, rows: int, columns: int) -> None:
        """The terminal has another size."""
        self._tell(Channel.RESIZE, json.dumps({"rows": rows, "columns": columns}).encode())

    def signal(self, name: str) -> None:
        """Send it a signal, by a name as `INT`."""
        self._tell(Channel.SIGNAL, json.dumps({"name": name}).encode())

    def _tell(self, channel: Channel, payload: bytes) -> None:
        from websockets.exceptions import WebSocketException

        try:
            self._socket.send(bytes((channel,)) + payload)
        except WebSocketException as error:
            raise ConnectionResetError("the connection has ended") from error

    def close(self) -> None:
        """End it, whatever it does."""
        self._open.close()
