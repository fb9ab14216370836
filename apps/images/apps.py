from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ImagesConfig(AppConfig):
    name = "apps.images"
    label = "images"
    verbose_name = _("Container images")
