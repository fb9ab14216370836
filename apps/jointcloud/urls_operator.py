from django.urls import path

from apps.jointcloud.views import data, jobs, pages

app_name = "jointcloud"
urlpatterns = [
    path("datasets/", data.datasets, name="datasets"),
    path("datasets/new/", data.dataset_new, name="dataset_new"),
    path("datasets/<slug:data_id>/", data.dataset, name="dataset"),
    path("datasets/<slug:data_id>/change/", data.change, name="dataset_change"),
    path("datasets/<slug:data_id>/remove/", data.remove, name="dataset_remove"),
    path("datasets/<slug:data_id>/copy/", data.copy, name="dataset_copy"),
    path(
        "datasets/<slug:data_id>/copies/<slug:ai_center_id>/remove/",
        data.copy_remove,
        name="dataset_copy_remove",
    ),
    path("placements/", pages.where, name="try"),
    path("jobs/", jobs.jobs, name="jobs"),
    path("jobs/<slug:job_id>/", jobs.job, name="job"),
    path("jobs/<slug:job_id>/change/", jobs.change, name="job_change"),
    path("jobs/<slug:job_id>/delete/", jobs.delete, name="job_delete"),
    path("jobs/<slug:job_id>/stop/", jobs.stop, name="job_stop"),
    path("jobs/<slug:job_id>/log/<int:task>/<int:replica>/", jobs.log, name="job_log"),
    path("placements/settings/", pages.settings, name="settings"),
]
