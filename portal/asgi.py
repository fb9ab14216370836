"""One port: http goes to the WSGI app in a thread, websockets to Channels."""

import os

from a2wsgi import WSGIMiddleware
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings.prod")

from portal.wsgi import application as pages  # noqa: E402  Django must be set up before consumers are imported

from apps.notices.consumers import socket_urls  # noqa: E402

application = ProtocolTypeRouter(
    {
        "http": WSGIMiddleware(pages, workers=16),
        "websocket": AllowedHostsOriginValidator(URLRouter(socket_urls)),
    }
)
