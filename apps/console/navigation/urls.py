from django.urls import path

from apps.console.navigation import views

app_name = "menu"
urlpatterns = [path("counts/", views.counts, name="counts")]
