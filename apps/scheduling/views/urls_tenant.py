from django.urls import path

from apps.scheduling.views.access import resource_tickets, secrets, service_keys
from apps.scheduling.views.work import (
    environment_templates,
    metrics,
    resource_actions,
    resources,
    scaling,
    submit,
    terminal,
)

app_name = "workloads"
urlpatterns = [
    path("", resources.resources, name="workloads"),
    path("submit/", submit.submit, name="submit"),
    path("submit/dry-run/", submit.dry_run, name="dry_run"),
    path("<uuid:uid>/", resources.resource, name="workload"),
    path("secrets/", secrets.secrets, name="secrets"),
    path("secrets/<uuid:uid>/remove/", secrets.secret_remove, name="secret_remove"),
    path("arrays/<uuid:uid>/stop/", resource_actions.array_end, name="array_stop"),
    path("<uuid:uid>/key/", resources.session_key, name="session_key"),
    path("<uuid:uid>/keys/", service_keys.keys, name="service_keys"),
    path("<uuid:uid>/keys/<uuid:key>/revoke/", service_keys.key_revoke, name="service_key_revoke"),
    path("<uuid:uid>/web/", resource_actions.web_open, name="web"),
    path("<uuid:uid>/terminal/", terminal.terminal, name="terminal"),
    path("<uuid:uid>/stop/", resource_actions.stop, name="stop"),
    path("<uuid:uid>/scale/", resource_actions.scale, name="scale"),
    path("<uuid:uid>/scaling/", scaling.work_rules, name="rules"),
    path("<uuid:uid>/scaling/<uuid:rule>/remove/", scaling.work_rule_drop, name="rule_remove"),
    path("<uuid:uid>/steer/<slug:act>/", resource_actions.steer, name="steer"),
    path("<uuid:uid>/extend/", resource_actions.extend, name="extend"),
    path("<uuid:uid>/resize/", resource_actions.resize, name="resize"),
    path("<uuid:uid>/migrate/", resource_actions.migrate, name="migrate"),
    path("tickets/", resource_tickets.tickets, name="tickets"),
    path("tickets/<uuid:uid>/", resource_tickets.ticket, name="ticket"),
    path("tickets/<uuid:uid>/parts/", resource_tickets.parts, name="ticket_parts"),
    path("tickets/<uuid:uid>/withdraw/", resource_tickets.withdraw, name="ticket_withdraw"),
    path("environments/", environment_templates.environments, name="environments"),
    path("environments/start/<uuid:uid>/", environment_templates.start, name="environment_start"),
    path("environments/add/", resource_actions.environment_add, name="environment_add"),
    path("environments/<uuid:uid>/remove/", resource_actions.environment_remove, name="environment_remove"),
    path("<uuid:uid>/brief/", resources.brief, name="brief"),
    path("<uuid:uid>/metrics/", metrics.metrics, name="metrics"),
    path("compare/", metrics.compare, name="compare"),
    path("<uuid:uid>/log/", resources.log, name="log"),
    path("<uuid:uid>/log/file/", resources.log_file, name="log_file"),
]
