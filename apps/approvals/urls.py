from django.urls import path

from apps.approvals import views

app_name = "approvals"
urlpatterns = [
    path("", views.inbox, name="inbox"),
    path("<uuid:uid>/", views.task, name="task"),
    path("<uuid:uid>/decide/", views.decide, name="decide"),
    path("<uuid:uid>/urge/", views.urge, name="urge"),
]
