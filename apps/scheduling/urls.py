from django.urls import path

from apps.scheduling import views

app_name = "scheduling"
urlpatterns = [
    path("", views.resources, name="resources"),
    path("<uuid:uid>/", views.resource, name="resource"),
    path("<uuid:uid>/brief/", views.brief, name="brief"),
    path("<uuid:uid>/log/", views.log, name="log"),
]
