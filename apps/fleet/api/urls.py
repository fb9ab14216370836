from django.urls import path

from apps.fleet.api import views

urlpatterns = [
    path("nodes", views.NodesView.as_view(), name="nodes"),
    path("nodes/<str:uid>", views.NodeView.as_view(), name="node"),
    path("nodes/<str:uid>/drain", views.NodeDrainView.as_view(), name="node_drain"),
    path("nodes/<str:uid>/undrain", views.NodeUndrainView.as_view(), name="node_undrain"),
    path("nodes/<str:uid>/remove", views.NodeRemoveView.as_view(), name="node_remove"),
    path("devices", views.DevicesView.as_view(), name="devices"),
    path("devices/<str:uid>/enable", views.DeviceEnableView.as_view(), name="device_enable"),
    path("devices/<str:uid>/disable", views.DeviceDisableView.as_view(), name="device_disable"),
    path(
        "devices/<str:uid>/accept-memory",
        views.DeviceMemoryAcceptView.as_view(),
        name="device_memory_accept",
    ),
]
