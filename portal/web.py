"""The web server: one port for pages, API and sockets; leaves without dropping a request (POOL-8.1a, 12.22).

python -m portal.web [--host H --port N | --fd N]

With `--fd` the listening socket is the supervisor's (systemd's, the local stack's): while this process is away,
callers wait in its queue or are served by another web on the same socket.
"""

import argparse
import asyncio
import logging
import os
import socket

import uvicorn

from portal.heartbeat import Heartbeat
from portal.private_files import folders_close
from portal.serving.protocol import BoundedHttpProtocol
from portal.settings.env import env

log = logging.getLogger(__name__)
# How long requests may take to end: a slow machine needs it, others do not wait for it.
GRACE_S = 20
# How long a connection is kept without a request, also while the server leaves.
_KEEP_ALIVE_S = 5
# What a browser sends to its work in one message; the portal's own socket takes far less (`apps.notices.consumers`).
_SOCKET_MAX_BYTES = 16 * 2**20


class Web(uvicorn.Server):
    """uvicorn's server with a heartbeat, and an orderly way out."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._heartbeat = Heartbeat("web", self._give_way)

    def _give_way(self) -> None:
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._heartbeat.start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Say good-bye, take no new connection, let the open ones end (`BoundedHttpProtocol.shutdown`), then end."""
        await asyncio.to_thread(self._heartbeat.end)
        await super().shutdown(sockets)


def main() -> None:
    """Serve until told to stop; the certificate is named by WEIR_TLS_CERT and WEIR_TLS_KEY."""
    parser = argparse.ArgumentParser(prog="portal.web", description="Weir's web server.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=int(os.environ.get("WEIR_PORT", "8000")))
    parser.add_argument("--fd", type=int, help="a listening socket that was handed down")
    given = parser.parse_args()
    os.umask(0o077)
    try:
        folders_close(env().var_dir)
    except OSError as error:
        log.warning("the data folder is not closed to other accounts: %s", error)
    config = uvicorn.Config(
        "portal.asgi:application",
        host=given.host,
        port=given.port,
        access_log=False,
        # uvicorn's own lines go the way of all others.
        log_config=None,
        http=BoundedHttpProtocol,
        proxy_headers=bool(env().trusted_proxies),
        forwarded_allow_ips=[str(network) for network in env().trusted_proxies],
        ws_max_size=_SOCKET_MAX_BYTES,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=GRACE_S,
        ssl_certfile=os.environ.get("WEIR_TLS_CERT") or None,
        ssl_keyfile=os.environ.get("WEIR_TLS_KEY") or None,
    )
    sockets = [socket.socket(fileno=given.fd)] if given.fd is not None else None
    Web(config).run(sockets)


if __name__ == "__main__":
    main()
