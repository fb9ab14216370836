from django.urls import path

from apps.fleet.api import agent_views

urlpatterns = [
    path("join", agent_views.join, name="agent_join"),
    path("sync", agent_views.sync, name="agent_sync"),
    path("folders/<str:key>/sent", agent_views.folder_sent, name="agent_folder_sent"),
    path(
        "folders/<str:key>/<uuid:transfer>/<int:number>", agent_views.folder_piece, name="agent_folder_piece"
    ),
    path("containers/<uuid:transfer>/saved", agent_views.container_saved, name="agent_container_saved"),
    path(
        "containers/<uuid:transfer>/<int:number>", agent_views.container_piece, name="agent_container_piece"
    ),
]
