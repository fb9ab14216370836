from django.urls import path

from apps.jointcloud.views import jobs, pages

app_name = "jointcloud"
urlpatterns = [
    path("placements/", pages.where, name="try"),
    path("jobs/", jobs.jobs, name="jobs"),
    path("jobs/<slug:job_id>/", jobs.job, name="job"),
    path("jobs/<slug:job_id>/change/", jobs.change, name="job_change"),
    path("jobs/<slug:job_id>/delete/", jobs.delete, name="job_delete"),
    path("jobs/<slug:job_id>/stop/", jobs.stop, name="job_stop"),
    path("jobs/<slug:job_id>/log/<int:task>/<int:replica>/", jobs.log, name="job_log"),
    path("placements/settings/", pages.settings, name="settings"),
]
