from django.urls import path

from apps.scheduling import (
    desk_acts,
    desk_views,
    keeping_views,
    rights_views,
    scaling_views,
    user_group_views,
)

app_name = "schedule"
urlpatterns = [
    path("queues/", desk_views.queues, name="queues"),
    path("queues/new/", desk_views.queue_new, name="queue_new"),
    path("queues/<slug:code>/", desk_views.queue, name="queue"),
    path("queues/<slug:code>/remove/", desk_acts.remove_queue, name="queue_remove"),
    path("queues/<slug:code>/scaling/", scaling_views.queue_rules, name="queue_rules"),
    path(
        "queues/<slug:code>/scaling/<uuid:uid>/remove/",
        scaling_views.queue_rule_drop,
        name="queue_rule_remove",
    ),
    path("policy/", desk_views.policy, name="policy"),
    path("priorities/", desk_views.priorities, name="priorities"),
    path("priorities/<str:username>/", desk_acts.set_priority, name="priority"),
    path("reservations/", keeping_views.reservations, name="reservations"),
    path("reservations/<uuid:uid>/cancel/", keeping_views.cancel_reservation, name="reservation_cancel"),
    path("hooks/", keeping_views.hooks, name="hooks"),
    path("hooks/<uuid:uid>/retry/", keeping_views.retry_hook, name="hook_retry"),
    path("user-groups/", user_group_views.user_groups, name="user_groups"),
    path("user-groups/<slug:code>/", user_group_views.user_group, name="user_group"),
    path("user-groups/<slug:code>/remove/", user_group_views.remove_user_group, name="user_group_remove"),
    path("groups/", rights_views.group_queues, name="group_queues"),
    path("validity/", rights_views.validity, name="validity"),
    path("validity/remove/", rights_views.remove_validity, name="validity_remove"),
    path("validity/<int:pk>/", rights_views.validity_rule, name="validity_rule"),
    path("default-spec/", rights_views.default_spec, name="default_spec"),
    path("specials/", rights_views.specials, name="specials"),
    path("specials/<int:pk>/", rights_views.special, name="special"),
    path("specials/<int:pk>/<slug:act>/", rights_views.act_special, name="special_act"),
    path("tickets/", rights_views.tickets, name="tickets"),
    path("tickets/<uuid:uid>/", rights_views.ticket, name="ticket"),
    path("tickets/<uuid:uid>/<slug:act>/", rights_views.act_ticket, name="ticket_act"),
    path("promises/", desk_views.promises, name="promises"),
    path("what-if/", desk_views.what_ifs, name="what_ifs"),
    path("what-if/<uuid:uid>/", desk_views.what_if, name="what_if"),
]
