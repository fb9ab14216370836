from django.urls import path

from apps.catalog.api import applying, views

urlpatterns = [
    path("categories", views.CategoriesView.as_view(), name="categories"),
    path("categories/<slug:code>", applying.CategoryView.as_view(), name="category"),
    path(
        "categories/<slug:code>/<slug:action>", applying.CategoryActionView.as_view(), name="category_action"
    ),
    path("commodities/<uuid:uid>/prices", views.PricesView.as_view(), name="commodity_prices"),
    path("form-templates", applying.FormTemplatesView.as_view(), name="form_templates"),
    path("form-templates/<slug:code>", applying.FormTemplateView.as_view(), name="form_template"),
    path("form-templates/<slug:code>/fields", applying.FormFieldsView.as_view(), name="form_fields"),
    path(
        "form-templates/<slug:code>/fields/<slug:name>", applying.FormFieldView.as_view(), name="form_field"
    ),
    path(
        "form-templates/<slug:code>/fields/<slug:name>/<slug:action>",
        applying.FormFieldMoveView.as_view(),
        name="form_field_move",
    ),
    path("process-templates", views.ProcessTemplatesView.as_view(), name="process_templates"),
    path("process-applications", applying.ProcessAppsView.as_view(), name="process_apps"),
    path("process-applications/<uuid:uid>", applying.ProcessAppView.as_view(), name="process_app"),
    path(
        "process-applications/<uuid:uid>/<slug:action>",
        applying.ProcessAppActionView.as_view(),
        name="process_app_action",
    ),
    path("coupon-activities", views.ActivitiesView.as_view(), name="coupon_activities"),
    path("coupon-activities/<uuid:uid>/claim", views.ActivityClaimView.as_view(), name="coupon_claim"),
    path("coupons", views.CouponsView.as_view(), name="coupons"),
]
