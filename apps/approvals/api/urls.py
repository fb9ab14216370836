from django.urls import path

from apps.approvals.api import views

urlpatterns = [
    path("tasks", views.TasksView.as_view(), name="tasks"),
    path("tasks/<uuid:uid>", views.TaskView.as_view(), name="task"),
    path("tasks/<uuid:uid>/decide", views.TaskDecideView.as_view(), name="task_decide"),
    path("tasks/<uuid:uid>/urge", views.TaskUrgeView.as_view(), name="task_urge"),
]
