from django.urls import path

from apps.jointcloud.api import annex_jobs, annex_logs, annex_views, data, jobs, views

urlpatterns = [
    path("datasets", data.DatasetsView.as_view(), name="datasets"),
    path("datasets/<str:data_id>", data.DatasetView.as_view(), name="dataset"),
    path("datasets/<str:data_id>/sources", data.DatasetSourcesView.as_view(), name="dataset_sources"),
    path(
        "datasets/<str:data_id>/copies/<str:ai_center_id>",
        data.DatasetCopyView.as_view(),
        name="dataset_copy",
    ),
    path("jobs", jobs.JobsView.as_view(), name="jobs"),
    path("jobs/<str:job_id>", jobs.JobView.as_view(), name="job"),
    path("jobs/<str:job_id>/decisions", jobs.JobDecisionsView.as_view(), name="job_decisions"),
    path("jobs/<str:job_id>/stop", jobs.JobStopView.as_view(), name="job_stop"),
    path(
        "jobs/<str:job_id>/tasks/<int:task>/replicas/<int:replica>/log",
        jobs.JobLogView.as_view(),
        name="job_log",
    ),
    path("placements/try", views.PlacementTryView.as_view(), name="placement_try"),
    path("placement-settings", views.PlacementSettingsView.as_view(), name="placement_settings"),
    path(
        "placement-settings/history",
        views.PlacementSettingsHistoryView.as_view(),
        name="placement_settings_history",
    ),
]

_LOG = "openapi/v1/trainjob/<str:job_id>/task/<str:task_index>/replica/<str:replica_index>"

# Annex A names their addresses from the root of the host.
annex_urlpatterns = [
    path("openapi/v1/trainjob", annex_jobs.WireJobsView.as_view(), name="annex_job_create"),
    path("openapi/v1/trainjob/<str:job_id>", annex_jobs.WireJobView.as_view(), name="annex_job"),
    path(
        "openapi/v1/trainjob/<str:job_id>/stop", annex_jobs.WireJobStopView.as_view(), name="annex_job_stop"
    ),
    path(f"{_LOG}/log", annex_logs.WireLogView.as_view(), name="annex_job_log"),
    path(f"{_LOG}/log/file", annex_logs.WireLogFileView.as_view(), name="annex_job_log_file"),
    path(
        "scheduler/algorithm/<str:algorithm_id>/score/<str:center_id>",
        annex_views.PolicyScoreView.as_view(),
        name="annex_policy_score",
    ),
    path(
        "scheduler/evaluate/score/<str:center_id>",
        annex_views.FinalScoreView.as_view(),
        name="annex_final_score",
    ),
]
