"""The provider's host: the operator pages, in the admin and outside of it, and the API."""

from django.contrib import admin
from django.urls import include, path

from portal import probes
from portal.urls_api import urlpatterns as api

admin.autodiscover()

urlpatterns = [
    path("i18n/", include("django.conf.urls.i18n")),
    # Before the admin: its own ways in and out lead to the portal's.
    path("", include("apps.console.urls_operator")),
    path("admin/", admin.site.urls),
    path("", include("apps.identity.urls")),
    path("", include("apps.identity.urls_operator")),
    path("", include("apps.ticketing.urls")),
    path("", include("apps.rollouts.urls")),
    path("", include("apps.conformance.urls")),
    path("operation-log/", include("apps.audit.urls_operator")),
    path("messages/", include("apps.notices.urls")),
    path("client/", include("apps.console.client_download.urls")),
    path("search/", include("apps.console.search.urls")),
    path("menu/", include("apps.console.navigation.urls")),
    path("tour/", include("apps.console.tours.urls")),
    path("help/", include("apps.console.help.urls")),
    path("catalogue/", include("apps.console.selling.urls")),
    path("pool/", include("apps.fleet.urls")),
    path("", include("apps.centers.urls")),
    path("", include("apps.jointcloud.urls_operator")),
    path("images/", include("apps.images.urls_operator")),
    path("assets/", include("apps.assets.urls_operator")),
    path("scheduling/", include("apps.scheduling.views.urls_operator")),
    # The pool's figures name nodes and devices: they are not told on tenants' hosts.
    path("metrics", probes.metrics, name="metrics"),
    *api,
]

handler404 = "portal.error_responses.not_found"
handler500 = "portal.error_responses.server_error"
