from django.urls import path

from apps.scheduling import acts, scaling_views, submit_views, ticket_views, views

app_name = "scheduling"
urlpatterns = [
    path("", views.resources, name="resources"),
    path("submit/", submit_views.submit, name="submit"),
    path("submit/dry-run/", submit_views.dry_run, name="dry_run"),
    path("<uuid:uid>/", views.resource, name="resource"),
    path("<uuid:uid>/stop/", acts.stop, name="stop"),
    path("<uuid:uid>/scale/", acts.scale, name="scale"),
    path("<uuid:uid>/scaling/", scaling_views.work_rules, name="rules"),
    path("<uuid:uid>/scaling/<uuid:rule>/remove/", scaling_views.work_rule_drop, name="rule_remove"),
    path("<uuid:uid>/steer/<slug:act>/", acts.steer, name="steer"),
    path("<uuid:uid>/resize/", acts.resize, name="resize"),
    path("<uuid:uid>/migrate/", acts.migrate, name="migrate"),
    path("tickets/", ticket_views.tickets, name="tickets"),
    path("tickets/<uuid:uid>/", ticket_views.ticket, name="ticket"),
    path("tickets/<uuid:uid>/parts/", ticket_views.parts, name="ticket_parts"),
    path("tickets/<uuid:uid>/withdraw/", ticket_views.withdraw, name="ticket_withdraw"),
    path("environments/", acts.environments, name="environments"),
    path("environments/add/", acts.environment_add, name="environment_add"),
    path("environments/<uuid:uid>/remove/", acts.environment_remove, name="environment_remove"),
    path("<uuid:uid>/brief/", views.brief, name="brief"),
    path("<uuid:uid>/log/", views.log, name="log"),
]
