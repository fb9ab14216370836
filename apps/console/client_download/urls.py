from django.urls import path

from apps.console.client_download import views as client_views

app_name = "client"
urlpatterns = [
    path("", client_views.install, name="install"),
    path("<str:name>", client_views.wheel, name="wheel"),
]
