"""Tests: the real servers, quicker password hashing, tasks run when a test asks for them."""

import os

from portal.settings.base import *

DEBUG = False
# Tests read English unless they ask for Chinese.
LANGUAGE_CODE = "en"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
DATABASES["default"]["CONN_MAX_AGE"] = 0
DATABASES["default"]["TEST"] = {"NAME": f"test_weir{os.environ.get('WEIR_TEST_SUFFIX', '')}"}
# Hints are taken and go nowhere: tests call what they would have called.
CELERY_BROKER_URL = "memory://"
CELERY_BROKER_TRANSPORT = "memory"
CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
ALLOWED_HOSTS = ["*"]
# A thread of its own would write beside the test's transaction: tests make the handler themselves.
LOGGING["root"]["handlers"] = ["console"]
# Each client of a test is a server of its own: none looks for all static files before one is asked for.
WHITENOISE_AUTOREFRESH = True
