from django.urls import path

from apps.centers.views import actions, pages, tenants

app_name = "centers"
urlpatterns = [
    path("centers/", pages.centers, name="centers"),
    path("centers/join/", actions.join, name="join"),
    path("centers/<slug:ai_center_id>/", pages.center, name="center"),
    path("centers/<slug:ai_center_id>/change/", actions.change, name="change"),
    path("centers/<slug:ai_center_id>/credential/", actions.credential, name="credential"),
    path("centers/<slug:ai_center_id>/tenants/", tenants.tenants, name="tenants"),
    path("centers/<slug:ai_center_id>/tenants/serves/", tenants.serves, name="tenants_serves"),
    path("centers/<slug:ai_center_id>/tenants/name/", tenants.name, name="tenants_name"),
    path("centers/<slug:ai_center_id>/tenants/<slug:tenant>/remove/", tenants.remove, name="tenants_remove"),
    path("centers/<slug:ai_center_id>/<slug:what>/", actions.act, name="act"),
    path("network-specs/", pages.specs, name="specs"),
    path("network-specs/new/", actions.spec_new, name="spec_new"),
    path("network-specs/mapping/", pages.mapping, name="mapping"),
    path("network-specs/<slug:resource_spec_id>/", pages.spec, name="spec"),
    path("network-specs/<slug:resource_spec_id>/change/", actions.spec_change, name="spec_change"),
    path("network-specs/<slug:resource_spec_id>/remove/", actions.spec_remove, name="spec_remove"),
    path("network-specs/<slug:resource_spec_id>/offer/", actions.offer, name="offer"),
    path(
        "network-specs/<slug:resource_spec_id>/offers/<slug:ai_center_id>/remove/",
        actions.offer_end,
        name="offer_remove",
    ),
]
