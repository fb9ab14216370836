from django.urls import path

from apps.images.api import build_views, views

urlpatterns = [
    path("images", views.ImagesView.as_view(), name="images"),
    path("images/<uuid:uid>", views.ImageView.as_view(), name="image"),
    path("workloads/<uuid:uid>/image-versions", views.WorkloadImagesView.as_view(), name="workload_images"),
    path("image-builds", build_views.ImageBuildsView.as_view(), name="image_builds"),
    path("image-builds/<uuid:uid>", build_views.ImageBuildView.as_view(), name="image_build"),
    path(
        "image-builds/<uuid:uid>/cancel",
        build_views.ImageBuildCancelView.as_view(),
        name="image_build_cancel",
    ),
    path("image-versions/<uuid:uid>", views.ImageVersionView.as_view(), name="image_version"),
    path(
        "image-versions/<uuid:uid>/publications",
        views.ImagePublicationsView.as_view(),
        name="image_version_publications",
    ),
]
