from django.urls import path

from apps.notices.api import views

urlpatterns = [
    path("messages", views.MessagesView.as_view(), name="messages"),
    path("messages/read-all", views.MessagesReadAllView.as_view(), name="messages_read_all"),
    path("messages/<uuid:uid>", views.MessageView.as_view(), name="message"),
    path("messages/<uuid:uid>/read", views.MessageReadView.as_view(), name="message_read"),
]
