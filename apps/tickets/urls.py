from django.urls import path

from apps.tickets import views

app_name = "tickets"
urlpatterns = [
    path("", views.tickets, name="tickets"),
    path("<uuid:uid>/", views.ticket, name="ticket"),
    path("<uuid:uid>/claim/", views.claim, name="claim"),
    path("<uuid:uid>/give-back/", views.give_back, name="give_back"),
]
