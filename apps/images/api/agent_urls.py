from django.urls import path

from apps.images.api import agent_views

urlpatterns = [
    path("images/<uuid:uid>/manifest", agent_views.manifest, name="agent_image_manifest"),
    path("images/<uuid:uid>/<str:digest>/<int:number>", agent_views.piece, name="agent_image_piece"),
]
