from django.urls import path

from apps.jointcloud.api import jobs

urlpatterns = [
    path("jobs", jobs.JobsView.as_view(), name="jobs"),
    path("jobs/<str:job_id>", jobs.JobView.as_view(), name="job"),
    path("jobs/<str:job_id>/stop", jobs.JobStopView.as_view(), name="job_stop"),
    path(
        "jobs/<str:job_id>/tasks/<int:task>/replicas/<int:replica>/log",
        jobs.JobLogView.as_view(),
        name="job_log",
    ),
]
