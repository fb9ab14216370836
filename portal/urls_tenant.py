"""A tenant's portal: on its own host, and for operators under `/t/<schema>/` on the provider's."""

from django.urls import include, path

from portal.urls_api import urlpatterns as api

urlpatterns = [
    path("i18n/", include("django.conf.urls.i18n")),
    path("", include("apps.console.urls")),
    path("", include("apps.identity.urls")),
    path("", include("apps.catalog.urls")),
    path("", include("apps.orders.urls")),
    path("", include("apps.approvals.urls")),
    path("tickets/", include("apps.tickets.urls")),
    path("", include("apps.jointcloud.urls")),
    path("resources/", include("apps.scheduling.views.urls_tenant")),
    path("files/", include("apps.storage.urls")),
    path("images/", include("apps.images.urls")),
    path("assets/", include("apps.assets.urls")),
    path("billing/", include("apps.billing.urls")),
    path("messages/", include("apps.notices.urls")),
    path("client/", include("apps.console.client_download.urls")),
    path("search/", include("apps.console.search.urls")),
    path("menu/", include("apps.console.navigation.urls")),
    path("tour/", include("apps.console.tours.urls")),
    path("help/", include("apps.console.help.urls")),
    path("organizations/", include("apps.orgs.urls")),
    path("", include("apps.orgs.urls_people")),
    *api,
]

handler404 = "portal.error_responses.not_found"
handler500 = "portal.error_responses.server_error"
