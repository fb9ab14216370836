"""`make run`: everything on this machine."""

from portal.settings.base import *

DEBUG = ENV.debug
# As a real installation serves them: named by their content, compressed, kept by browsers for ever. What is served is
# collected when the assets are built (portal.devstack.assets).
STATIC_ROOT = BASE_DIR / "static" / "served"
WHITENOISE_USE_FINDERS = False
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
