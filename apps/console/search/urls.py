from django.urls import path

from apps.console.search import views

app_name = "search"
urlpatterns = [path("", views.find, name="find")]
