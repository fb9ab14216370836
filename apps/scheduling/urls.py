from django.urls import path

from apps.scheduling import acts, submit_views, views

app_name = "scheduling"
urlpatterns = [
    path("", views.resources, name="resources"),
    path("submit/", submit_views.submit, name="submit"),
    path("submit/dry-run/", submit_views.dry_run, name="dry_run"),
    path("<uuid:uid>/", views.resource, name="resource"),
    path("<uuid:uid>/stop/", acts.stop, name="stop"),
    path("<uuid:uid>/scale/", acts.scale, name="scale"),
    path("<uuid:uid>/steer/<slug:act>/", acts.steer, name="steer"),
    path("<uuid:uid>/resize/", acts.resize, name="resize"),
    path("<uuid:uid>/migrate/", acts.migrate, name="migrate"),
    path("environments/", acts.environments, name="environments"),
    path("environments/add/", acts.environment_add, name="environment_add"),
    path("environments/<uuid:uid>/remove/", acts.environment_remove, name="environment_remove"),
    path("<uuid:uid>/brief/", views.brief, name="brief"),
    path("<uuid:uid>/log/", views.log, name="log"),
]
