from django.urls import path

from apps.jointcloud.views import pages

app_name = "jointcloud"
urlpatterns = [path("placements/", pages.where, name="try")]
