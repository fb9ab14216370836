from django.urls import path

from apps.orders.views import applications, cart, orders, tickets

app_name = "orders"
urlpatterns = [
    path("cart/", cart.cart, name="cart"),
    path("cart/prices/", cart.prices, name="cart_prices"),
    path("cart/make-form/", cart.make_form, name="form_make"),
    path("cart/<uuid:uid>/remove/", cart.remove, name="cart_remove"),
    path("commodities/<uuid:uid>/quote/", cart.quote, name="quote"),
    path("commodities/<uuid:uid>/put-in-cart/", cart.add, name="cart_add"),
    path("forms/", applications.forms, name="forms"),
    path("forms/quote/", applications.form_quote, name="form_quote"),
    path("forms/delete/", applications.delete, name="forms_delete"),
    path("forms/<uuid:uid>/", applications.form, name="form"),
    path("forms/<uuid:uid>/parts/", applications.parts, name="form_parts"),
    path("forms/<uuid:uid>/edit/", applications.edit, name="form_edit"),
    path("forms/<uuid:uid>/save/", applications.save, name="form_save"),
    path("forms/<uuid:uid>/submit/", applications.submit, name="form_submit"),
    path("forms/<uuid:uid>/withdraw/", applications.withdraw, name="form_withdraw"),
    path("forms/<uuid:uid>/again/", applications.again, name="form_again"),
    path("forms/<uuid:uid>/attach/", applications.attach, name="attach"),
    path("attachments/<uuid:uid>/", applications.attachment, name="attachment"),
    path("attachments/<uuid:uid>/remove/", applications.detach, name="detach"),
    path("orders/", orders.orders, name="orders"),
    path("orders/<uuid:uid>/", orders.order, name="order"),
    path("orders/<uuid:uid>/again/", orders.again, name="again"),
    path("orders/<uuid:uid>/change/", orders.change, name="change"),
    path("orders/<uuid:uid>/change/price/", orders.change_price, name="change_price"),
    path("orders/<uuid:uid>/end/", orders.end, name="end"),
    path("orders/<uuid:uid>/remark/", orders.remark, name="remark"),
    path("orders/<uuid:uid>/terminate/", orders.terminate, name="terminate"),
    path("tickets/<uuid:uid>/parts/", tickets.parts, name="ticket_parts"),
    path("tickets/<uuid:uid>/send/", tickets.send, name="ticket_send"),
    path("tickets/<uuid:uid>/execute/", tickets.execute, name="ticket_execute"),
]
