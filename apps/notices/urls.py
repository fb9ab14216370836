from django.urls import path

from apps.notices import views

app_name = "notices"
urlpatterns = [
    path("", views.message_index, name="messages"),
    path("bell/", views.bell, name="bell"),
    path("read/", views.messages_read, name="read"),
    path("delete/", views.messages_delete, name="delete"),
    path("read-all/", views.messages_read_all, name="read_all"),
    path("<uuid:uid>/open/", views.message_open, name="open"),
]
