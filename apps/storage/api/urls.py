from django.urls import path

from apps.storage.api import access_keys, bundles, uploads, views

urlpatterns = [
    path("access-keys", access_keys.AccessKeysView.as_view(), name="access_keys"),
    path("access-keys/<uuid:uid>", access_keys.AccessKeyView.as_view(), name="access_key"),
    path("volumes", views.VolumesView.as_view(), name="volumes"),
    path("volumes/<uuid:uid>", views.VolumeView.as_view(), name="volume"),
    path("volumes/<uuid:uid>/files", views.VolumeFilesView.as_view(), name="volume_files"),
    path("volumes/<uuid:uid>/content", views.VolumeContentView.as_view(), name="volume_content"),
    path("volumes/<uuid:uid>/folders", views.VolumeFoldersView.as_view(), name="volume_folders"),
    path("volumes/<uuid:uid>/moves", views.VolumeMovesView.as_view(), name="volume_moves"),
    path("volumes/<uuid:uid>/uploads", uploads.VolumeUploadsView.as_view(), name="volume_uploads"),
    path("volumes/<uuid:uid>/bundle", bundles.VolumeBundleView.as_view(), name="volume_bundle"),
    path("volumes/<uuid:uid>/bundle/read", bundles.VolumeBundleReadView.as_view(), name="volume_bundle_read"),
    path("uploads/<uuid:uid>", uploads.UploadView.as_view(), name="upload"),
    path("workloads/<uuid:uid>/outputs", views.WorkloadOutputsView.as_view(), name="workload_outputs"),
]
