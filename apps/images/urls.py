from django.urls import path

from apps.images.views import builds
from apps.images.views import images as views

app_name = "images"
urlpatterns = [
    path("", views.images, name="images"),
    path("new/", views.new, name="new"),
    path("picks/", views.picks, name="picks"),
    path("builds/", builds.builds, name="builds"),
    path("builds/new/", builds.new, name="build_new"),
    path("builds/<uuid:uid>/", builds.build, name="build"),
    path("builds/<uuid:uid>/cancel/", builds.cancel, name="build_cancel"),
    path("save/<uuid:uid>/", views.save, name="save"),
    path("saved/<uuid:uid>/", views.saved, name="saved"),
    path("<uuid:uid>/", views.image, name="image"),
    path("<uuid:uid>/change/", views.change, name="change"),
    path("<uuid:uid>/delete/", views.delete, name="delete"),
    path("versions/<uuid:uid>/remove/", views.remove, name="remove"),
]
