from django.urls import path

from apps.rollouts import views

app_name = "rollouts"
urlpatterns = [
    path("components/", views.components, name="components"),
    path("components/start/", views.start, name="start"),
    path("releases/", views.releases, name="releases"),
    path("rollouts/", views.rollouts, name="rollouts"),
    path("rollouts/<uuid:uid>/", views.rollout, name="rollout"),
    path("rollouts/<uuid:uid>/<slug:act>/", views.act, name="act"),
]
