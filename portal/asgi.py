"""One port: http goes to the WSGI app in a thread, websockets to Channels."""

import os

from a2wsgi import WSGIMiddleware
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings.prod")

from apps.notices.consumers import socket_urls
from portal.wsgi import application as pages

application = ProtocolTypeRouter(
    {
        "http": WSGIMiddleware(pages, workers=16),
        "websocket": AllowedHostsOriginValidator(URLRouter(socket_urls)),
    }
)
