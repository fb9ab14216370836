from django.urls import path

from apps.fleet.api import pool_views, views

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
    path("devices/<str:uid>/slice", views.DeviceSliceView.as_view(), name="device_slice"),
    path("devices/<str:uid>/unslice", views.DeviceUnsliceView.as_view(), name="device_unslice"),
    path("devices/<str:uid>/remove", views.DeviceRemoveView.as_view(), name="device_remove"),
    path(
        "devices/<str:uid>/oversubscribe",
        views.DeviceOversubscribeView.as_view(),
        name="device_oversubscribe",
    ),
    path("resource-groups", pool_views.GroupsView.as_view(), name="resource_groups"),
    path("resource-groups/<str:code>", pool_views.GroupView.as_view(), name="resource_group"),
    path(
        "resource-groups/<str:code>/devices",
        pool_views.GroupDevicesView.as_view(),
        name="resource_group_devices",
    ),
    path(
        "resource-groups/<str:code>/grants",
        pool_views.GroupGrantsView.as_view(),
        name="resource_group_grants",
    ),
    path(
        "resource-groups/<str:code>/grants/<str:tenant>",
        pool_views.GroupGrantView.as_view(),
        name="resource_group_grant",
    ),
    path("specs", pool_views.SpecsView.as_view(), name="specs"),
    path("specs/<str:code>/disable", pool_views.SpecDisableView.as_view(), name="spec_disable"),
    path("specs/<str:code>/enable", pool_views.SpecEnableView.as_view(), name="spec_enable"),
    path("slices", pool_views.SlicesView.as_view(), name="slices"),
    path("sessions", pool_views.SessionsView.as_view(), name="sessions"),
    path("sessions/<str:uid>/move", pool_views.SessionMoveView.as_view(), name="session_move"),
    path("sessions/<str:uid>/stay", pool_views.SessionStayView.as_view(), name="session_stay"),
]
