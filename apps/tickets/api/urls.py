from django.urls import path

from apps.tickets.api import views

urlpatterns = [
    path("tickets", views.TicketsView.as_view(), name="tickets"),
    path("tickets/<uuid:uid>", views.TicketView.as_view(), name="ticket"),
    path("tickets/<uuid:uid>/claim", views.TicketClaimView.as_view(), name="ticket_claim"),
    path("tickets/<uuid:uid>/return", views.TicketReturnView.as_view(), name="ticket_return"),
]
