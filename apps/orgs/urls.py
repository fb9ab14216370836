from django.urls import path

from apps.orgs.views import business_systems as systems
from apps.orgs.views import organizations as views

app_name = "orgs"
urlpatterns = [
    path("", views.organizations, name="organizations"),
    path("add/", views.organization_add, name="organization_add"),
    path("delete/", views.organization_remove, name="organization_remove"),
    path("<uuid:uid>/", views.organization, name="organization"),
    path("<uuid:uid>/enable/", views.organization_switch, {"state": "enable"}, name="organization_enable"),
    path("<uuid:uid>/disable/", views.organization_switch, {"state": "disable"}, name="organization_disable"),
    path("<uuid:uid>/quota/", views.organization_quota, name="organization_quota"),
    path("<uuid:uid>/take-out/", views.member_take_out, name="member_take_out"),
    path("business-systems/add/", systems.business_system_add, name="business_system_add"),
    path("business-systems/delete/", systems.business_system_remove, name="business_system_remove"),
    path("business-systems/<uuid:uid>/", systems.business_system, name="business_system"),
    path(
        "business-systems/<uuid:uid>/enable/",
        systems.business_system_switch,
        {"state": "enable"},
        name="business_system_enable",
    ),
    path(
        "business-systems/<uuid:uid>/disable/",
        systems.business_system_switch,
        {"state": "disable"},
        name="business_system_disable",
    ),
    path("business-systems/<uuid:uid>/report/", systems.report, name="report"),
    path("progress/<uuid:uid>/withdraw/", systems.report_withdraw, name="report_withdraw"),
    path("business-systems/<uuid:uid>/take-part/", systems.take_part, name="take_part"),
    path("business-systems/<uuid:uid>/leave/", systems.leave, name="leave"),
]
