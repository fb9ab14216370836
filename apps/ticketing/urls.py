from django.urls import path

from apps.ticketing import views

app_name = "ticketing"
urlpatterns = [
    path("ticket-categories/", views.categories, name="categories"),
    path("ticket-categories/<uuid:uid>/", views.category, name="category"),
    path("ticket-categories/<uuid:uid>/new/", views.category_new, name="category_new"),
    path("ticket-categories/<uuid:uid>/delete/", views.delete, name="category_delete"),
    path("ticket-categories/<uuid:uid>/fields/", views.field_put, name="field_put"),
    path("ticket-categories/<uuid:uid>/fields/remove/", views.field_remove, name="field_remove"),
    path("ticket-categories/<uuid:uid>/steps/", views.step_put, name="step_put"),
    path("ticket-categories/<uuid:uid>/steps/remove/", views.step_remove, name="step_remove"),
    path("ticket-categories/<uuid:uid>/steps/earlier/", views.step_earlier, name="step_earlier"),
    path("ticket-categories/<uuid:uid>/rules/", views.rule_new, name="rule_new"),
    path("ticket-rules/<uuid:uid>/delete/", views.rule_delete, name="rule_delete"),
    path("working-hours/", views.hours, name="hours"),
    path("working-hours/days/", views.days_new, name="days_new"),
    path("working-hours/days/remove/", views.day_delete, name="day_delete"),
]
