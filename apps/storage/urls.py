from django.urls import path

from apps.storage import views

app_name = "files"
urlpatterns = [
    path("", views.volumes, name="volumes"),
    path("choices/", views.choices, name="choices"),
    path("picks/", views.picks, name="picks"),
    path("picks/outputs/", views.picks, {"are_kept_in": True}, name="output_picks"),
    path("outputs/<uuid:uid>/", views.outputs, name="outputs"),
    path("access-keys/", views.access_keys, name="access_keys"),
    path("access-keys/<uuid:uid>/revoke/", views.access_key_revoke, name="access_key_revoke"),
    path("new/", views.volume_new, name="volume_new"),
    path("<uuid:uid>/", views.volume, name="volume"),
    path("<uuid:uid>/change/", views.change, name="change"),
    path("<uuid:uid>/delete/", views.delete, name="delete"),
    path("<uuid:uid>/new-folder/", views.folder_new, name="folder_new"),
    path("<uuid:uid>/rename/", views.rename, name="rename"),
    path("<uuid:uid>/remove/", views.remove, name="remove"),
    path("<uuid:uid>/file/", views.file, name="file"),
    path("<uuid:uid>/download/", views.download, name="download"),
    path("<uuid:uid>/image/", views.image, name="image"),
]
