from django.urls import path

from apps.console import views

app_name = "console"
urlpatterns = [
    path("", views.home, name="home"),
    path("home/trend/", views.trend, name="trend"),
]
