from django.urls import path

from apps.conformance.api import views

urlpatterns = [
    path("conformance/tests", views.TestsView.as_view(), name="conformance_tests"),
    path("conformance/verify", views.VerifyView.as_view(), name="conformance_verify"),
    path("conformance/runs", views.RunsView.as_view(), name="conformance_runs"),
    path("conformance/runs/<uuid:uid>", views.RunView.as_view(), name="conformance_run"),
    path("conformance/runs/<uuid:uid>/stop", views.RunStopView.as_view(), name="conformance_run_stop"),
    path("conformance/runs/<uuid:uid>/report", views.ReportView.as_view(), name="conformance_report"),
]
