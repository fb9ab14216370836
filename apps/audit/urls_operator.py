from django.urls import path

from apps.audit import views

app_name = "operation_log"
urlpatterns = [
    path("", views.records, name="records"),
    path("<uuid:uid>/", views.record, name="record"),
]
