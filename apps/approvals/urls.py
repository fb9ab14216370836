from django.urls import path

from apps.approvals import views

app_name = "approvals"
urlpatterns = [
    path("inbox/", views.inbox, name="inbox"),
    path("inbox/decide/", views.decide_together, name="decide_together"),
    path("tasks/<uuid:uid>/", views.task, name="task"),
    path("tasks/<uuid:uid>/decide/", views.decide, name="decide"),
    path("tasks/<uuid:uid>/urge/", views.urge, name="urge"),
]
