from django.urls import path

from apps.telemetry.api import logs, views

urlpatterns = [
    path("alarms", views.AlarmsView.as_view(), name="alarms"),
    path("alarms/<uuid:uid>", views.AlarmView.as_view(), name="alarm"),
    path("alarms/<uuid:uid>/acknowledge", views.AlarmAcknowledgeView.as_view(), name="alarm_acknowledge"),
    path("alarm-rules", views.RulesView.as_view(), name="alarm_rules"),
    path("alarm-rules/<slug:code>", views.RuleView.as_view(), name="alarm_rule"),
    path("alarm-routes", views.RoutesView.as_view(), name="alarm_routes"),
    path("alarm-routes/<uuid:uid>", views.RouteView.as_view(), name="alarm_route"),
    path("alarm-routes/<uuid:uid>/try", views.RouteTryView.as_view(), name="alarm_route_try"),
    path("alarm-deliveries", views.DeliveriesView.as_view(), name="alarm_deliveries"),
    path("logs", logs.LogsView.as_view(), name="logs"),
    path("logs/export", logs.LogsExportView.as_view(), name="logs_export"),
    path("logs/<int:pk>", logs.LogView.as_view(), name="log"),
]
