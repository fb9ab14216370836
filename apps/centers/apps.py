from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class CentersConfig(AppConfig):
    name = "apps.centers"
    label = "centers"
    verbose_name = _("AI computing centres")
