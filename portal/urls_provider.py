"""The provider's host: the operators' desk, its pages outside the admin, and the API."""

from django.contrib import admin
from django.urls import include, path

from portal.urls_api import urlpatterns as api

urlpatterns = [
    path("i18n/", include("django.conf.urls.i18n")),
    path("admin/", admin.site.urls),
    path("", include("apps.console.desk_urls")),
    path("", include("apps.identity.urls")),
    path("messages/", include("apps.notices.urls")),
    *api,
]
