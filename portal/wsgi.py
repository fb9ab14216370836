"""The pages and the API, as WSGI: each request whole in one thread (docs/decisions/0003-one-port.md)."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings.prod")
application = get_wsgi_application()
