from django.urls import path

from apps.assets.api import views

urlpatterns = [
    path("assets", views.AssetsView.as_view(), name="assets"),
    path("assets/<uuid:uid>", views.AssetView.as_view(), name="asset"),
    path("assets/<uuid:uid>/versions", views.AssetVersionsView.as_view(), name="asset_versions"),
    path("assets/<uuid:uid>/versions/<int:number>", views.AssetVersionView.as_view(), name="asset_version"),
    path("assets/<uuid:uid>/versions/<int:number>/files", views.AssetFilesView.as_view(), name="asset_files"),
    path(
        "assets/<uuid:uid>/versions/<int:number>/content",
        views.AssetContentView.as_view(),
        name="asset_content",
    ),
]
