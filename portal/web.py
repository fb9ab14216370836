"""The web server: one port for pages, API and sockets; leaves without dropping a request (POOL-8.1a, 12.22).

python -m portal.web [--host H --port N | --fd N]

With `--fd` the listening socket is the supervisor's (systemd's, the local stack's): while this process is away,
callers wait in its queue or are served by another web on the same socket.
"""

import argparse
import asyncio
import os
import socket
import time

import uvicorn

from portal.pulse import Pulse

# How long requests may take to end: a slow machine needs it, others do not wait for it.
GRACE_S = 20
# As long as an idle connection is kept anyway, so that none is closed on somebody who is about to ask.
_DRAIN_S = 5.0


class Web(uvicorn.Server):
    """uvicorn's server with a pulse, and an orderly way out."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._pulse = Pulse("web", self._give_way)

    def _give_way(self) -> None:
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._pulse.start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no new connection, tell the open ones to end with their next answer, then end."""
        await asyncio.to_thread(self._pulse.end)
        for server in self.servers:
            server.close()
        state = self.server_state
        state.default_headers = [*state.default_headers, (b"connection", b"close")]
        end_s = time.monotonic() + _DRAIN_S
        while self._has_askers() and time.monotonic() < end_s and not self.force_exit:
            await asyncio.sleep(0.05)
        await super().shutdown(sockets)

    def _has_askers(self) -> bool:
        """Whether anybody may still ask here; an open socket is told to come again and asks nothing."""
        kind = self.config.http_protocol_class
        return any(isinstance(one, kind) for one in self.server_state.connections)


def main() -> None:
    """Serve until told to stop; the certificate is named by WEIR_TLS_CERT and WEIR_TLS_KEY."""
    parser = argparse.ArgumentParser(prog="portal.web", description="Weir's web server.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=int(os.environ.get("WEIR_PORT", "8000")))
    parser.add_argument("--fd", type=int, help="a listening socket that was handed down")
    given = parser.parse_args()
    config = uvicorn.Config(
        "portal.asgi:application",
        host=given.host,
        port=given.port,
        access_log=False,
        timeout_keep_alive=int(_DRAIN_S),
        timeout_graceful_shutdown=GRACE_S,
        ssl_certfile=os.environ.get("WEIR_TLS_CERT") or None,
        ssl_keyfile=os.environ.get("WEIR_TLS_KEY") or None,
    )
    sockets = [socket.socket(fileno=given.fd)] if given.fd is not None else None
    Web(config).run(sockets)


if __name__ == "__main__":
    main()
