from django.urls import path

from apps.tickets.api import views

urlpatterns = [
    path("tickets", views.TicketsView.as_view(), name="tickets"),
    path("tickets/<uuid:uid>", views.TicketView.as_view(), name="ticket"),
    path("tickets/<uuid:uid>/claim", views.TicketClaimView.as_view(), name="ticket_claim"),
    path("tickets/<uuid:uid>/return", views.TicketReturnView.as_view(), name="ticket_return"),
    path("tickets/<uuid:uid>/colleagues", views.TicketColleaguesView.as_view(), name="ticket_colleagues"),
    path("tickets/<uuid:uid>/hand-over", views.TicketHandOverView.as_view(), name="ticket_hand_over"),
    path("tickets/<uuid:uid>/ask", views.TicketAskView.as_view(), name="ticket_ask"),
    path("tickets/<uuid:uid>/reply", views.TicketReplyView.as_view(), name="ticket_reply"),
    path("tickets/<uuid:uid>/comment", views.TicketCommentView.as_view(), name="ticket_comment"),
    path("tickets/<uuid:uid>/fields", views.TicketFieldsView.as_view(), name="ticket_fields"),
    path("tickets/<uuid:uid>/step-back", views.TicketStepBackView.as_view(), name="ticket_step_back"),
    path("tickets/<uuid:uid>/finish", views.TicketFinishView.as_view(), name="ticket_finish"),
    path("tickets/<uuid:uid>/close", views.TicketCloseView.as_view(), name="ticket_close"),
    path("tickets/<uuid:uid>/reopen", views.TicketReopenView.as_view(), name="ticket_reopen"),
    path("tickets/<uuid:uid>/rate", views.TicketRateView.as_view(), name="ticket_rate"),
    path("tickets/<uuid:uid>/files", views.TicketFilesView.as_view(), name="ticket_files"),
    path("ticket-files/<uuid:uid>", views.TicketFileView.as_view(), name="ticket_file"),
]
