from django.urls import path

from apps.cases.api import views

urlpatterns = [path("cases", views.CasesView.as_view(), name="cases")]
