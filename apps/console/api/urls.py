from django.urls import path

from apps.console.api import centre as centre_api
from apps.console.api import commodities, views
from apps.console.api import storage as storage_api
from apps.console.api.capacity import CapacityView, PoolCapacityView
from apps.console.api.reports import ReportView

urlpatterns = [
    path("setup", centre_api.SetupView.as_view(), name="setup"),
    path("centre", centre_api.CentreView.as_view(), name="centre"),
    path("centre/mail", centre_api.CentreMailView.as_view(), name="centre_mail"),
    path("centre/mail/try", centre_api.CentreMailTryView.as_view(), name="centre_mail_try"),
    path("storage-classes", storage_api.StorageClassesView.as_view(), name="storage_classes"),
    path("storage-classes/<slug:code>", storage_api.StorageClassView.as_view(), name="storage_class"),
    path(
        "storage-classes/<slug:code>/check",
        storage_api.StorageClassCheckView.as_view(),
        name="storage_class_check",
    ),
    path("tenants", views.TenantsView.as_view(), name="tenants"),
    path("tenants/<slug:schema>", views.TenantView.as_view(), name="tenant"),
    path("tenants/<slug:schema>/archive", views.TenantArchiveView.as_view(), name="tenant_archive"),
    path("tenants/<slug:schema>/close", views.TenantCloseView.as_view(), name="tenant_close"),
    path("tenants/<slug:schema>/suspend", views.TenantSuspendView.as_view(), name="tenant_suspend"),
    path("tenants/<slug:schema>/resume", views.TenantResumeView.as_view(), name="tenant_resume"),
    path("tenants/<slug:schema>/quota", views.TenantQuotaView.as_view(), name="tenant_quota"),
    path("commodities", commodities.CommoditiesView.as_view(), name="commodities"),
    path("commodities/<uuid:uid>", commodities.CommodityView.as_view(), name="commodity"),
    path(
        "commodities/<uuid:uid>/definition",
        commodities.CommodityDefinitionView.as_view(),
        name="commodity_definition",
    ),
    path(
        "commodities/<uuid:uid>/tenants", commodities.CommodityTenantsView.as_view(), name="commodity_tenants"
    ),
    path("commodities/<uuid:uid>/retire", commodities.CommodityRetireView.as_view(), name="commodity_retire"),
    path(
        "commodities/<uuid:uid>/<slug:action>",
        commodities.CommodityActionView.as_view(),
        name="commodity_action",
    ),
    path("reports/<slug:name>", ReportView.as_view(), name="report"),
    path("capacity", CapacityView.as_view(), name="capacity"),
    path("capacity/<str:code>", PoolCapacityView.as_view(), name="pool_capacity"),
    path("overview", views.OverviewView.as_view(), name="overview"),
]
