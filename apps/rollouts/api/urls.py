from django.urls import path

from apps.rollouts.api import views

urlpatterns = [
    path("components", views.ComponentsView.as_view(), name="components"),
    path("releases", views.ReleasesView.as_view(), name="releases"),
    path("releases/<str:version>", views.ReleaseView.as_view(), name="release"),
    path("release-keys", views.ReleaseKeysView.as_view(), name="release_keys"),
    path(
        "release-keys/<slug:public_key>/revoke",
        views.ReleaseKeyRevokeView.as_view(),
        name="release_key_revoke",
    ),
    path("rollouts", views.RolloutsView.as_view(), name="rollouts"),
    path("rollouts/<uuid:uid>", views.RolloutView.as_view(), name="rollout"),
    path("rollouts/<uuid:uid>/pause", views.RolloutPauseView.as_view(), name="rollout_pause"),
    path("rollouts/<uuid:uid>/resume", views.RolloutResumeView.as_view(), name="rollout_resume"),
    path("rollouts/<uuid:uid>/cancel", views.RolloutCancelView.as_view(), name="rollout_cancel"),
    path("rollouts/<uuid:uid>/roll_back", views.RolloutRollBackView.as_view(), name="rollout_roll_back"),
]
