from django.urls import path

from apps.console.help import views

app_name = "help"
urlpatterns = [
    path("", views.index, name="index"),
    path("whats-new/", views.whats_new, name="whats_new"),
    path("whats-new/read/", views.whats_new_read, name="whats_new_read"),
    path("api/", views.api, name="api"),
    path("api/<slug:group>/", views.api_group, name="api_group"),
    path("api/<slug:group>/<slug:operation>/", views.api_operation, name="api_operation"),
    path("<slug:slug>/", views.document, name="document"),
]
