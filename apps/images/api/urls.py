from django.urls import path

from apps.images.api import views

urlpatterns = [
    path("images", views.ImagesView.as_view(), name="images"),
    path("images/<uuid:uid>", views.ImageView.as_view(), name="image"),
    path("workloads/<uuid:uid>/image-versions", views.WorkloadImagesView.as_view(), name="workload_images"),
    path("image-versions/<uuid:uid>", views.ImageVersionView.as_view(), name="image_version"),
    path(
        "image-versions/<uuid:uid>/publications",
        views.ImagePublicationsView.as_view(),
        name="image_version_publications",
    ),
]
