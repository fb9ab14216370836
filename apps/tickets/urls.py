from django.urls import path

from apps.tickets import views

app_name = "tickets"
urlpatterns = [
    path("", views.tickets, name="tickets"),
    path("new/", views.new, name="new"),
    path("new/<uuid:uid>/", views.new_in, name="new_in"),
    path("files/<uuid:uid>/", views.file, name="file"),
    path("<uuid:uid>/", views.ticket, name="ticket"),
    path("<uuid:uid>/claim/", views.claim, name="claim"),
    path("<uuid:uid>/give-back/", views.give_back, name="give_back"),
    path("<uuid:uid>/hand-over/", views.hand_over, name="hand_over"),
    path("<uuid:uid>/comment/", views.comment, name="comment"),
    path("<uuid:uid>/ask/", views.ask, name="ask"),
    path("<uuid:uid>/finish/", views.finish, name="finish"),
    path("<uuid:uid>/step-back/", views.step_back, name="step_back"),
    path("<uuid:uid>/fields/", views.write, name="write"),
    path("<uuid:uid>/reply/", views.reply, name="reply"),
    path("<uuid:uid>/reopen/", views.reopen, name="reopen"),
    path("<uuid:uid>/close/", views.close, name="close"),
    path("<uuid:uid>/rate/", views.rate, name="rate"),
    path("<uuid:uid>/files/", views.attach, name="attach"),
]
