from django.urls import path

from apps.rollouts.api import agent_views

urlpatterns = [
    path("release-keys", agent_views.release_keys, name="agent_release_keys"),
    path("releases/<str:version>", agent_views.release, name="agent_release"),
]
