"""A real installation: behind TLS, unless WEIR_HTTPS says false."""

from portal.settings.base import *

STATIC_ROOT = ENV.var_dir / "static"
HTTPS = ENV.https is not False
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = HTTPS
SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = ENV.cookie_names(is_https=HTTPS)
CSRF_TRUSTED_ORIGINS = ENV.origins(is_https=HTTPS)
# Whether a proxy's word for "it came by TLS" counts is said by WEIR_TRUSTED_PROXIES: the web server looks at it.
SECURE_HSTS_SECONDS = 31536000 if HTTPS else 0
# Tenants' portals are subdomains.
SECURE_HSTS_INCLUDE_SUBDOMAINS = True
# Probes are asked from inside, by plain HTTP.
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
