from django.urls import path

from apps.telemetry.api import views

urlpatterns = [
    path("alarms", views.AlarmsView.as_view(), name="alarms"),
    path("alarms/<uuid:uid>/acknowledge", views.AlarmAcknowledgeView.as_view(), name="alarm_acknowledge"),
]
