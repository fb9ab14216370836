from django.urls import path

from apps.console.tours import views

app_name = "tours"
urlpatterns = [
    path("", views.begin, name="begin"),
    path("end/", views.end, name="end"),
]
