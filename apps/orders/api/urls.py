from django.urls import path

from apps.orders.api import views

urlpatterns = [
    path("quotes", views.QuotesView.as_view(), name="quotes"),
    path("cart", views.CartView.as_view(), name="cart"),
    path("cart/<uuid:uid>", views.CartLineView.as_view(), name="cart_line"),
    path("application-forms", views.FormsView.as_view(), name="application_forms"),
    path("application-forms/<uuid:uid>", views.FormView.as_view(), name="application_form"),
    path("application-forms/<uuid:uid>/submit", views.FormSubmitView.as_view(), name="form_submit"),
    path("application-forms/<uuid:uid>/withdraw", views.FormWithdrawView.as_view(), name="form_withdraw"),
    path("application-forms/<uuid:uid>/again", views.FormAgainView.as_view(), name="form_again"),
    path("application-forms/<uuid:uid>/attachments", views.AttachmentsView.as_view(), name="attachments"),
    path("attachments/<uuid:uid>", views.AttachmentView.as_view(), name="attachment"),
    path("orders", views.OrdersView.as_view(), name="orders"),
    path("orders/<uuid:uid>", views.OrderView.as_view(), name="order"),
    path("orders/<uuid:uid>/change", views.OrderChangeView.as_view(), name="order_change"),
    path("orders/<uuid:uid>/end", views.OrderEndView.as_view(), name="order_end"),
    path("orders/<uuid:uid>/again", views.OrderAgainView.as_view(), name="order_again"),
    path("orders/<uuid:uid>/remarks", views.OrderRemarksView.as_view(), name="order_remarks"),
    path("orders/<uuid:uid>/terminate", views.OrderTerminateView.as_view(), name="order_terminate"),
    path("tickets/<uuid:uid>/send", views.TicketSendView.as_view(), name="ticket_send"),
    path("tickets/<uuid:uid>/execute", views.TicketExecuteView.as_view(), name="ticket_execute"),
]
