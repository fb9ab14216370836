from django.urls import path

from apps.assets import operator_views as views

app_name = "assets_admin"
urlpatterns = [path("", views.assets, name="assets")]
