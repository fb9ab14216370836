from django.urls import path

from apps.scheduling import desk_acts, desk_views

app_name = "schedule"
urlpatterns = [
    path("queues/", desk_views.queues, name="queues"),
    path("queues/new/", desk_views.queue_new, name="queue_new"),
    path("queues/<slug:code>/", desk_views.queue, name="queue"),
    path("queues/<slug:code>/remove/", desk_acts.remove_queue, name="queue_remove"),
    path("policy/", desk_views.policy, name="policy"),
    path("priorities/", desk_views.priorities, name="priorities"),
    path("priorities/<str:username>/", desk_acts.set_priority, name="priority"),
    path("validity/", desk_views.validity, name="validity"),
    path("validity/remove/", desk_acts.remove_validity, name="validity_remove"),
    path("specials/", desk_views.specials, name="specials"),
    path("specials/<int:pk>/<slug:act>/", desk_acts.special, name="special"),
    path("promises/", desk_views.promises, name="promises"),
    path("what-if/", desk_views.what_ifs, name="what_ifs"),
    path("what-if/<uuid:uid>/", desk_views.what_if, name="what_if"),
]
