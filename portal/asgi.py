"""One port: http goes to the WSGI app in a thread, websockets to Channels, the web pages of work to the gateway.

A thread is taken for a request that has wholly arrived, and is free again when its answer is made. Agents and probes
have threads of their own: however busy the pages are, nodes stay connected and the portal can be looked at.
"""

import os
from typing import Any

import django
from a2wsgi import WSGIMiddleware
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings.prod")
# Sockets ask models who listens.
django.setup()

from django.conf import settings  # noqa: E402

from apps.notices.consumers import socket_urls  # noqa: E402
from portal.gateway.app import Gateway  # noqa: E402
from portal.s3.app import Objects  # noqa: E402
from portal.serving.bodies import BufferedBodies  # noqa: E402
from portal.serving.files import HandedOnFiles  # noqa: E402
from portal.serving.responses import BufferedResponses  # noqa: E402
from portal.settings.env import env  # noqa: E402
from portal.wsgi import application as pages  # noqa: E402

_PROBES = ("/healthz", "/readyz", "/metrics")
_for_agents = WSGIMiddleware(pages, workers=12)
_for_probes = WSGIMiddleware(pages, workers=3)
_for_everybody = WSGIMiddleware(pages, workers=16)


async def http(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """A request with its whole body, in the threads of its kind."""
    path = scope["path"]
    chosen = (
        _for_agents if path.startswith("/api/agent/") else _for_probes if path in _PROBES else _for_everybody
    )
    await chosen(scope, receive, send)


portal = ProtocolTypeRouter(
    {
        "http": BufferedBodies(
            HandedOnFiles(BufferedResponses(http)),
            limit_bytes=settings.DATA_UPLOAD_MAX_MEMORY_SIZE,
            timeout_s=env().body_timeout_s,
            total_bytes=env().bodies_total_mib * 2**20,
        ),
        "websocket": AllowedHostsOriginValidator(URLRouter(socket_urls)),
    }
)
# Before all that buffers: what belongs to somebody's work streams both ways.
application = Objects(Gateway(portal))
