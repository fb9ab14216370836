from django.urls import path
from django.views.generic import RedirectView

from apps.console import desk_views as views
from apps.identity.views import logout_page

app_name = "desk"
urlpatterns = [
    path("", views.home, name="home"),
    path("revenue/", views.revenue, name="revenue"),
    path("inbox/", views.inbox, name="inbox"),
    path("cases/", views.cases, name="cases"),
    path("cases/export/", views.export, name="export"),
    path("tickets/", views.tickets, name="tickets"),
    path("pool/", views.pool, name="pool"),
    path("alarms/", views.alarms, name="alarms"),
    path("alarms/<uuid:uid>/acknowledge/", views.acknowledge, name="acknowledge"),
    # The admin's own ways in and out lead to the portal's.
    path("admin/login/", views.admin_login, name="admin_login"),
    path("admin/logout/", logout_page, name="admin_logout"),
    path(
        "admin/password_change/",
        RedirectView.as_view(pattern_name="identity:password"),
        name="admin_password",
    ),
]
