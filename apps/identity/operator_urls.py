from django.urls import path

from apps.identity import operator_views as views

app_name = "operators"
urlpatterns = [
    path("operators/", views.operators, name="operators"),
    path("operators/new/", views.new, name="new"),
    path("operators/<uuid:uid>/", views.operator, name="operator"),
    path("operators/<uuid:uid>/roles/", views.roles_set, name="roles"),
    path("operators/<uuid:uid>/disable/", views.disable, name="disable"),
    path("operators/<uuid:uid>/enable/", views.enable, name="enable"),
    path("operators/<uuid:uid>/reset-password/", views.password_reset, name="password"),
    path("operators/<uuid:uid>/remove/", views.remove, name="remove"),
]
