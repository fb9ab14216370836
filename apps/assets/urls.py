from django.urls import path

from apps.assets import views

app_name = "assets"
urlpatterns = [
    path("", views.assets, name="assets"),
    path("picks/", views.picks, name="picks"),
    path("new/", views.asset_new, name="asset_new"),
    path("<uuid:uid>/", views.asset, name="asset"),
    path("<uuid:uid>/change/", views.change, name="change"),
    path("<uuid:uid>/delete/", views.delete, name="delete"),
    path("<uuid:uid>/publish/", views.publish, name="publish"),
    path("<uuid:uid>/versions/<int:number>/delete/", views.version_remove, name="version_delete"),
    path("<uuid:uid>/versions/<int:number>/download/", views.download, name="download"),
]
