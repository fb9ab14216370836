from django.urls import path

from apps.fleet import acts, views

app_name = "fleet"
urlpatterns = [
    path("nodes/", views.nodes, name="nodes"),
    path("nodes/<str:uid>/", views.node, name="node"),
    path("nodes/<str:uid>/<slug:act>/", acts.node_act, name="node_act"),
    path("devices/", views.devices, name="devices"),
    path("devices/<str:uid>/", views.device, name="device"),
    path("devices/<str:uid>/oversubscribe/", acts.oversubscribe, name="oversubscribe"),
    path("devices/<str:uid>/slicing/<slug:mode>/", acts.device_slicing, name="device_slicing"),
    path("devices/<str:uid>/<slug:act>/", acts.device_act, name="device_act"),
    path("slices/", views.slices, name="slices"),
    path("slices/<uuid:uid>/", views.slice_page, name="slice"),
    path("slices/<uuid:uid>/move/", acts.move, name="move"),
    path("slices/<uuid:uid>/stay/", acts.stay, name="stay"),
    path("groups/", views.groups, name="groups"),
    path("groups/add/", acts.group_add, name="group_add"),
    path("groups/<str:code>/", views.group, name="group"),
    path("groups/<str:code>/end/", acts.group_end, name="group_end"),
    path("groups/<str:code>/devices/", acts.group_devices, name="group_devices"),
    path("groups/<str:code>/grants/", acts.grant, name="grant"),
    path("groups/<str:code>/grants/<str:tenant>/revoke/", acts.revoke, name="revoke"),
    path("specs/", views.specs, name="specs"),
    path("specs/add/", acts.spec_add, name="spec_add"),
    path("specs/<str:code>/<slug:act>/", acts.spec_act, name="spec_act"),
]
