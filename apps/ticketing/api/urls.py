from django.urls import path

from apps.ticketing.api import views

urlpatterns = [
    path("ticket-categories", views.CategoriesView.as_view(), name="ticket_categories"),
    path("ticket-categories/offered", views.OfferedView.as_view(), name="ticket_categories_offered"),
    path("ticket-categories/<uuid:uid>", views.CategoryView.as_view(), name="ticket_category"),
    path("ticket-categories/<uuid:uid>/rules", views.RulesView.as_view(), name="ticket_rules"),
    path("ticket-rules/<uuid:uid>", views.RuleView.as_view(), name="ticket_rule"),
    path("working-hours", views.WorkingHoursView.as_view(), name="working_hours"),
    path("special-days", views.SpecialDaysView.as_view(), name="special_days"),
    path("special-days/<str:day>", views.SpecialDayView.as_view(), name="special_day"),
]
