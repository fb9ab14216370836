from django.urls import path

from apps.fleet.views import actions, joining, pages

app_name = "fleet"
urlpatterns = [
    path("nodes/", pages.nodes, name="nodes"),
    path("nodes/join/", joining.join, name="join"),
    path("nodes/join/<uuid:uid>/", joining.joined, name="joined"),
    path("nodes/drain/", actions.nodes_drain, name="nodes_drain"),
    path("nodes/undrain/", actions.nodes_undrain, name="nodes_undrain"),
    path("nodes/<str:uid>/", pages.node, name="node"),
    path("nodes/<str:uid>/<slug:act>/", actions.node_act, name="node_act"),
    path("devices/", pages.devices, name="devices"),
    path("devices/<str:uid>/", pages.device, name="device"),
    path("devices/<str:uid>/oversubscribe/", actions.oversubscribe, name="oversubscribe"),
    path("devices/<str:uid>/slicing/<slug:mode>/", actions.device_slicing, name="device_slicing"),
    path("devices/<str:uid>/<slug:act>/", actions.device_act, name="device_act"),
    path("slices/", pages.slices, name="slices"),
    path("slices/<uuid:uid>/", pages.slice_page, name="slice"),
    path("slices/<uuid:uid>/move/", actions.move, name="move"),
    path("slices/<uuid:uid>/stay/", actions.stay, name="stay"),
    path("people/", pages.people, name="people"),
    path("groups/", pages.groups, name="groups"),
    path("groups/add/", actions.group_add, name="group_add"),
    path("groups/<str:code>/", pages.group, name="group"),
    path("groups/<str:code>/end/", actions.group_end, name="group_end"),
    path("groups/<str:code>/devices/", actions.group_devices, name="group_devices"),
    path("groups/<str:code>/grants/", actions.grant, name="grant"),
    path("groups/<str:code>/grants/<str:tenant>/revoke/", actions.revoke, name="revoke"),
    path("specs/", pages.specs, name="specs"),
    path("specs/add/", actions.spec_add, name="spec_add"),
    path("specs/<str:code>/<slug:act>/", actions.spec_act, name="spec_act"),
]
