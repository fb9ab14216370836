from django.urls import path

from apps.centers.api import views

urlpatterns = [
    path("center-kinds", views.CenterKindsView.as_view(), name="center_kinds"),
    path("centers", views.CentersView.as_view(), name="centers"),
    path("centers/<str:ai_center_id>", views.CenterView.as_view(), name="center"),
    path(
        "centers/<str:ai_center_id>/credential",
        views.CenterCredentialView.as_view(),
        name="center_credential",
    ),
    path("centers/<str:ai_center_id>/serves", views.CenterServesView.as_view(), name="center_serves"),
    path(
        "centers/<str:ai_center_id>/tenants/<str:tenant>",
        views.CenterTenantView.as_view(),
        name="center_tenant",
    ),
    path("centers/<str:ai_center_id>/drain", views.CenterDrainView.as_view(), name="center_drain"),
    path("centers/<str:ai_center_id>/undrain", views.CenterUndrainView.as_view(), name="center_undrain"),
    path("centers/<str:ai_center_id>/sample", views.CenterSampleView.as_view(), name="center_sample"),
    path(
        "centers/<str:ai_center_id>/remote-tasks",
        views.CenterRemoteTasksView.as_view(),
        name="center_remote_tasks",
    ),
    path("resource-specs", views.ResourceSpecsView.as_view(), name="network_specs"),
    path("resource-specs/<str:resource_spec_id>", views.ResourceSpecView.as_view(), name="network_spec"),
    path(
        "resource-specs/<str:resource_spec_id>/offers/<str:ai_center_id>",
        views.ResourceSpecOfferView.as_view(),
        name="network_spec_offer",
    ),
]
