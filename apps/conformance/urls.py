from django.urls import path

from apps.conformance import views

app_name = "conformance"
urlpatterns = [
    path("conformance/", views.home, name="home"),
    path("conformance/start/", views.start, name="start"),
    path("conformance/<uuid:uid>/", views.run, name="run"),
    path("conformance/<uuid:uid>/stop/", views.stop, name="stop"),
    path("conformance/<uuid:uid>/tests/<str:number>/", views.test, name="test"),
    path("conformance/<uuid:uid>/report.<str:ending>", views.report, name="report"),
]
