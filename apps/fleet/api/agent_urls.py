from django.urls import path

from apps.fleet.api import agent_views

urlpatterns = [
    path("join", agent_views.join, name="agent_join"),
    path("sync", agent_views.sync, name="agent_sync"),
]
