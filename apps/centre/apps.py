from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class CentreConfig(AppConfig):
    name = "apps.centre"
    label = "centre"
    verbose_name = _("Centre")
