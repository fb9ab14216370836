from django.urls import path

from apps.images.views import images as views

app_name = "images_admin"
urlpatterns = [
    path("", views.all_images, name="images"),
    path("<uuid:uid>/", views.any_image, name="image"),
    path("<uuid:uid>/delete/", views.any_delete, name="delete"),
    path("versions/<uuid:uid>/remove/", views.any_remove, name="remove"),
    path("versions/<uuid:uid>/publish/", views.publish, name="publish"),
]
