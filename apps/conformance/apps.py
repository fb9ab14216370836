from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ConformanceConfig(AppConfig):
    name = "apps.conformance"
    label = "conformance"
    verbose_name = _("Conformance")
