from django.urls import path
from django.views.generic import RedirectView

from apps.console import centre_views, setup_views, tenant_views
from apps.console import operator_views as views
from apps.console import operator_watching as watching
from apps.identity.views.own_account import logout_page

app_name = "operator"
urlpatterns = [
    path("", views.home, name="home"),
    path("setup/", setup_views.setup, name="setup"),
    path("centre/", centre_views.centre, name="centre"),
    path("centre/tickets/", centre_views.tickets, name="centre_tickets"),
    path("centre/mail/", centre_views.mail, name="centre_mail"),
    path("centre/mail/try/", centre_views.mail_try, name="centre_mail_try"),
    path("tenants/new/", tenant_views.tenant_new, name="tenant_new"),
    path("checklist/", views.checklist, name="checklist"),
    path("revenue/", views.revenue, name="revenue"),
    path("inbox/", views.inbox, name="inbox"),
    path("cases/", views.cases, name="cases"),
    path("cases/export/", views.export, name="export"),
    path("tickets/", views.tickets, name="tickets"),
    path("pool/", views.pool, name="pool"),
    path("alarms/", views.alarms, name="alarms"),
    path("alarms/<uuid:uid>/", watching.alarm, name="alarm"),
    path("alarms/<uuid:uid>/acknowledge/", views.acknowledge, name="acknowledge"),
    path("alarm-rules/", watching.rules, name="rules"),
    path("alarm-rules/new/", watching.rule_new, name="rule_new"),
    path("alarm-rules/<slug:code>/", watching.rule, name="rule"),
    path("alarm-rules/<slug:code>/switch/", watching.rule_switch, name="rule_switch"),
    path("alarm-routes/", watching.routes, name="routes"),
    path("alarm-routes/<uuid:uid>/switch/", watching.route_switch, name="route_switch"),
    path("logs/", watching.logs, name="logs"),
    path("logs/export/", watching.logs_export, name="logs_export"),
    path("logs/<int:pk>/", watching.log_entry, name="log_entry"),
    path("capacity/", watching.capacity, name="capacity"),
    path("statistics/", watching.statistics, name="statistics"),
    path("statistics/export/", watching.statistics_export, name="statistics_export"),
    # The admin's own ways in and out lead to the portal's.
    path("admin/login/", views.admin_login, name="admin_login"),
    path("admin/logout/", logout_page, name="admin_logout"),
    path(
        "admin/password_change/",
        RedirectView.as_view(pattern_name="identity:password"),
        name="admin_password",
    ),
]
