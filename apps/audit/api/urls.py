from django.urls import path

from apps.audit.api import views

urlpatterns = [path("audit/acts", views.ActsView.as_view(), name="audit_acts")]
