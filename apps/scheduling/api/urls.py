from django.urls import path

from apps.scheduling.api import views

urlpatterns = [
    path("resources", views.ResourcesView.as_view(), name="resources"),
    path("resources/<uuid:uid>", views.ResourceView.as_view(), name="resource"),
    path("resources/<uuid:uid>/logs", views.ResourceLogsView.as_view(), name="resource_logs"),
    path("resources/<uuid:uid>/usage", views.ResourceUsageView.as_view(), name="resource_usage"),
    path("quota", views.QuotaView.as_view(), name="quota"),
    path("queues", views.QueuesView.as_view(), name="queues"),
    path("workloads", views.WorkloadsView.as_view(), name="workloads"),
]
