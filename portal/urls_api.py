"""The API: the same on every host (the token says which tenant)."""

from django.urls import include, path

from apps.jointcloud.api.urls import annex_urlpatterns
from portal import probes
from portal.api_description import DescriptionView

urlpatterns = [
    path("api/schema/", DescriptionView.as_view(), name="api_schema"),
    path("api/v1/", include("apps.identity.api.urls")),
    path("api/v1/", include("apps.catalog.api.urls")),
    path("api/v1/", include("apps.billing.api.urls")),
    path("api/v1/", include("apps.fleet.api.urls")),
    path("api/v1/", include("apps.centers.api.urls")),
    path("api/v1/", include("apps.scheduling.api.urls")),
    path("api/v1/", include("apps.jointcloud.api.urls")),
    path("api/v1/", include("apps.images.api.urls")),
    path("api/v1/", include("apps.rollouts.api.urls")),
    path("api/v1/", include("apps.telemetry.api.urls")),
    path("api/v1/", include("apps.notices.api.urls")),
    path("api/v1/", include("apps.cases.api.urls")),
    path("api/v1/", include("apps.audit.api.urls")),
    path("api/v1/", include("apps.orgs.api.urls")),
    path("api/v1/", include("apps.storage.api.urls")),
    path("api/v1/", include("apps.assets.api.urls")),
    path("api/v1/", include("apps.approvals.api.urls")),
    path("api/v1/", include("apps.ticketing.api.urls")),
    path("api/v1/", include("apps.tickets.api.urls")),
    path("api/v1/", include("apps.orders.api.urls")),
    path("api/v1/", include("apps.console.api.urls")),
    path("api/v1/", include("apps.conformance.api.urls")),
    path("api/agent/v1/", include("apps.fleet.api.agent_urls")),
    path("api/agent/v1/", include("apps.rollouts.api.agent_urls")),
    path("api/agent/v1/", include("apps.images.api.agent_urls")),
    *annex_urlpatterns,
    path("healthz", probes.healthz, name="healthz"),
    path("readyz", probes.readyz, name="readyz"),
]
