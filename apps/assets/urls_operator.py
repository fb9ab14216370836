from django.urls import path

from apps.assets import views

app_name = "assets_admin"
urlpatterns = [path("", views.all_assets, name="assets")]
