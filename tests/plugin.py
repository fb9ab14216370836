"""Loaded before anything else (`-p tests.plugin`): gives settings an environment without starting a server.

The real PostgreSQL starts with the first test that wants a database; unit tests never pay for it.
"""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings.test")
os.environ.setdefault("WEIR_DATABASE_URL", "postgresql://weir@127.0.0.1:1/weir")
os.environ.setdefault("WEIR_REDIS_URL", "redis://127.0.0.1:1/0")
os.environ.setdefault("WEIR_SECRET_KEY", "only-for-tests-" + "x" * 32)
