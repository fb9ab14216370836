from django.urls import path

from apps.catalog.api import views

urlpatterns = [
    path("categories", views.CategoriesView.as_view(), name="categories"),
    path("commodities", views.CommoditiesView.as_view(), name="commodities"),
    path("commodities/<uuid:uid>", views.CommodityView.as_view(), name="commodity"),
    path("commodities/<uuid:uid>/prices", views.PricesView.as_view(), name="commodity_prices"),
    path(
        "commodities/<uuid:uid>/<slug:action>", views.CommodityActionView.as_view(), name="commodity_action"
    ),
    path("process-templates", views.ProcessTemplatesView.as_view(), name="process_templates"),
    path("coupon-activities", views.ActivitiesView.as_view(), name="coupon_activities"),
    path("coupon-activities/<uuid:uid>/claim", views.ActivityClaimView.as_view(), name="coupon_claim"),
    path("coupons", views.CouponsView.as_view(), name="coupons"),
]
