from django.urls import path

from apps.catalog import views

app_name = "catalog"
urlpatterns = [
    path("catalogue/", views.commodities, name="commodities"),
    path("catalogue/compare/", views.compare, name="compare"),
    path("commodities/<uuid:uid>/", views.commodity, name="commodity"),
    path("coupons/", views.coupons, name="coupons"),
    path("coupons/<uuid:uid>/claim/", views.claim, name="claim"),
]
