"""Loaded before anything else (`-p tests.plugin`): gives settings an environment without starting a server.

The real PostgreSQL starts with the first test that wants a database; unit tests never pay for it.
"""

import gc
import os

from hypothesis import settings

ENVIRONMENT = {
    "DJANGO_SETTINGS_MODULE": "portal.settings.test",
    "WEIR_DATABASE_URL": "postgresql://weir@127.0.0.1:1/weir",
    "WEIR_REDIS_URL": "redis://127.0.0.1:1/0",
    "WEIR_SECRET_KEY": "only-for-tests-" + "x" * 32,
}
for name, value in ENVIRONMENT.items():
    os.environ.setdefault(name, value)
# `make unit` looks at fewer examples of each property than `make test` does.
settings.register_profile("quick", settings.get_profile("ci"), max_examples=25)
# Loading makes hundreds of thousands of objects that all stay: the collector looks for none that go meanwhile.
gc.disable()


def pytest_collection_finish() -> None:
    """What is loaded by now is never looked through again."""
    gc.collect()
    gc.freeze()
    gc.enable()
