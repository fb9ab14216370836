from django.urls import path

from apps.scheduling.views.access import entitlements, picks, user_groups
from apps.scheduling.views.queues import queue_actions, queues, reservations
from apps.scheduling.views.work import all_work, environment_templates, scaling

app_name = "scheduling_admin"
urlpatterns = [
    path("people/", picks.people, name="people"),
    path("devices/", picks.devices, name="devices"),
    path("workloads/", all_work.workloads, name="workloads"),
    path("workloads/stop/", all_work.stop_many, name="workloads_stop"),
    path("queues/", queues.queues, name="queues"),
    path("queues/new/", queues.queue_new, name="queue_new"),
    path("queues/<slug:code>/", queues.queue, name="queue"),
    path("queues/<slug:code>/remove/", queue_actions.remove_queue, name="queue_remove"),
    path("queues/<slug:code>/scaling/", scaling.queue_rules, name="queue_rules"),
    path(
        "queues/<slug:code>/scaling/<uuid:uid>/remove/",
        scaling.queue_rule_drop,
        name="queue_rule_remove",
    ),
    path("environments/", environment_templates.templates, name="environment_templates"),
    path("environments/new/", environment_templates.template_new, name="environment_template_new"),
    path("environments/<uuid:uid>/", environment_templates.template, name="environment_template"),
    path(
        "environments/<uuid:uid>/remove/",
        environment_templates.template_remove,
        name="environment_template_remove",
    ),
    path("policy/", queues.policy, name="policy"),
    path("policy/direct/", queues.policy_direct, name="policy_direct"),
    path("priorities/", queues.priorities, name="priorities"),
    path("priorities/<str:username>/", queue_actions.set_priority, name="priority"),
    path("reservations/", reservations.reservations, name="reservations"),
    path("reservations/<uuid:uid>/cancel/", reservations.cancel_reservation, name="reservation_cancel"),
    path("hooks/", reservations.hooks, name="hooks"),
    path("hooks/<uuid:uid>/retry/", reservations.retry_hook, name="hook_retry"),
    path("user-groups/", user_groups.user_groups, name="user_groups"),
    path("user-groups/<slug:code>/", user_groups.user_group, name="user_group"),
    path("user-groups/<slug:code>/remove/", user_groups.remove_user_group, name="user_group_remove"),
    path("groups/", entitlements.group_queues, name="group_queues"),
    path("validity/", entitlements.validity, name="validity"),
    path("validity/remove/", entitlements.remove_validity, name="validity_remove"),
    path("validity/<int:pk>/", entitlements.validity_rule, name="validity_rule"),
    path("default-spec/", entitlements.default_spec, name="default_spec"),
    path("specials/", entitlements.specials, name="specials"),
    path("specials/<int:pk>/", entitlements.special, name="special"),
    path("specials/<int:pk>/<slug:act>/", entitlements.act_special, name="special_act"),
    path("tickets/", entitlements.tickets, name="tickets"),
    path("tickets/<uuid:uid>/", entitlements.ticket, name="ticket"),
    path("tickets/<uuid:uid>/<slug:act>/", entitlements.act_ticket, name="ticket_act"),
    path("start-estimates/", queues.start_estimates, name="start_estimates"),
    path("what-if/", queues.what_ifs, name="what_ifs"),
    path("what-if/<uuid:uid>/", queues.what_if, name="what_if"),
]
